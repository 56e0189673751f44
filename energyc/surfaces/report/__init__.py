"""Reports on networks and runs: text, documents, JSON and pictures.

It presents the results of other packages, and measures nothing.

Imports: ``charts``, ``claims``, ``collection``, ``conservativeness``, ``data``, ``derive``, ``diagnostics``,
``extras``, ``files``, ``folder``, ``hardware``, ``html``, ``inspection``, ``ir``, ``kept``, ``module``, ``network``,
``notation``, ``pipeline``, ``plan``, ``resolve``, ``resources``, ``runs``, ``runtime``, ``settings``, ``sparse``,
``syntax``, ``tables``, ``targets``, ``training``, ``verify``; libraries: ``PIL``, ``markupsafe``, ``matplotlib``,
``numpy``, ``rich``, ``torch``.
"""
