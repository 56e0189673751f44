"""Analyses the forces of a network before it runs: whether they are gradients, and which learning rules that admits.

It works on graphs, with exact fractions, intervals and NumPy; it neither generates nor runs a module.

Imports: ``calculus``, ``derive``, ``diagnostics``, ``functions``, ``ir``, ``notation``, ``resolve``, ``rules``;
libraries: ``mpmath``, ``numpy``.
"""
