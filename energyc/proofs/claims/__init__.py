"""Claims beside the classes of the terms: floors, equilibria, contraction, positivity, holomorphy.

Imports: ``calculus``, ``conservativeness``, ``derive``, ``enclosures``, ``fields``, ``functions``, ``ir``,
``network``, ``normal_form``, ``notation``; libraries: ``numpy``.
"""
