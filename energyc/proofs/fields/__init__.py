"""The input of a proof, independent of the language: a force field on stacked states, and its points.

Imports: ``calculus``, ``ir``, ``network``; libraries: ``numpy``.
"""
