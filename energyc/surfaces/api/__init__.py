"""The functions of ``energyc.api``, and the results that they return; a command prints what its function returns.

Imports: ``bench``, ``collection``, ``data``, ``diagnostics``, ``extras``, ``files``, ``folder``, ``hardware``,
``html``, ``loggers``, ``module``, ``network``, ``pipeline``, ``ranks``, ``report``, ``resources``, ``runs``,
``symbolic``, ``syntax``, ``tables``, ``training``, ``verify``; libraries: ``numpy``, ``pandas``, ``rich``, ``sklearn``,
``torch``.
"""
