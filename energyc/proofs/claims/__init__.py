"""Claims beside the classes of the terms: floors, equilibria, contraction, positivity, holomorphy.

Imports: ``calculus``, ``conservativeness``, ``enclosures``, ``fields``, ``functions``, ``ir``, ``network``,
``normal_form``, ``notation``; libraries: ``numpy``.
"""
