"""The interface for Python programs: ``energyc.load``, ``energyc.train``, ``energyc.resume``, ``energyc.Run``.

Imports: ``data``, ``diagnostics``, ``html``, ``loggers``, ``pipeline``, ``ranks``, ``runs``, ``training``; libraries:
``rich``, ``torch``.
"""
