"""Claims beside the classes of the terms: floors, equilibria, curvature, contraction, positivity, holomorphy.

Imports: ``calculus``, ``conservativeness``, ``derive``, ``diagnostics``, ``enclosures``, ``fields``, ``functions``,
``ir``, ``network``, ``notation``; libraries: ``numpy``.
"""
