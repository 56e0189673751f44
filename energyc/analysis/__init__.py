"""What the compiler can say of a network's forces before it runs them: whether they are gradients, and what follows.

It works on graphs, with exact fractions, intervals and NumPy; it neither generates nor runs a module.

Imports: ``calculus``, ``diagnostics``, ``functions``, ``ir``, ``notation``, ``resolve``, ``rules``; libraries:
``mpmath``, ``numpy``.
"""
