"""Reports on networks and runs: text, documents, JSON and pictures.

It presents the results of other packages, and measures nothing.

Imports: ``charts``, ``claims``, ``conservativeness``, ``data``, ``derive``, ``diagnostics``, ``extras``, ``files``,
``hardware``, ``html``, ``inspection``, ``ir``, ``module``, ``network``, ``notation``, ``pipeline``, ``plan``,
``resolve``, ``resources``, ``rules``, ``runs``, ``settings``, ``sparse``, ``syntax``, ``tables``, ``targets``,
``training``, ``verify``; libraries: ``PIL``, ``markupsafe``, ``matplotlib``, ``numpy``, ``rich``, ``torch``.
"""
