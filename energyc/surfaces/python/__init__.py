"""The interface for Python programs: ``energyc.load``, ``train``, ``resume``, ``Run`` and ``Estimator``.

Imports: ``data``, ``diagnostics``, ``extras``, ``html``, ``loggers``, ``network``, ``pipeline``, ``ranks``, ``runs``,
``syntax``, ``training``; libraries: ``numpy``, ``rich``, ``sklearn``, ``torch``.
"""
