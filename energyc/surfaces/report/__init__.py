"""Reports on networks and runs: text, documents, JSON and pictures.

It presents the results of other packages, and measures nothing.

Imports: ``charts``, ``claims``, ``collection``, ``conservativeness``, ``data``, ``derive``, ``diagnostics``, ``files``,
``folder``, ``hardware``, ``html``, ``inspection``, ``ir``, ``kept``, ``module``, ``network``, ``notation``,
``pipeline``, ``plan``, ``resolve``, ``resources``, ``runs``, ``runtime``, ``settings``, ``sparse``, ``syntax``,
``tables``, ``targets``, ``training``, ``verify``; libraries: ``markupsafe``, ``matplotlib``, ``numpy``, ``rich``,
``torch``.
"""

#: The kinds of pictures of a run: of its rows; of the relaxation of its network; of what goes on inside that.
KINDS = ("curves", "energy", "images", "energies", "states", "forces", "memories", "attention", "positions")
