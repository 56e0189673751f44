"""Tensors as sums of monomials in canonical form, so that equal formulas become one, within a budget.

Imports: ``calculus``, ``enclosures``, ``fields``, ``ir``, ``network``, ``sparse``; libraries: ``numpy``.
"""
