"""Reports on networks and runs: text, documents, JSON and pictures.

It presents the results of other packages, and measures nothing.

Imports: ``analysis``, ``calculus``, ``data``, ``derive``, ``diagnostics``, ``emit``, ``hardware``, ``html``,
``inspection``, ``ir``, ``notation``, ``pipeline``, ``plan``, ``resolve``, ``runs``, ``settings``, ``sparse``,
``syntax``, ``train``, ``verify``; libraries: ``cycler``, ``markupsafe``, ``matplotlib``, ``numpy``, ``rich``,
``torch``.
"""
