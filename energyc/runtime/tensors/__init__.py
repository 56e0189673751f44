"""Arithmetic on tensors that knows no network: states, linear systems, reductions, sets, draws.

Generated equations call most of it.

Imports: nothing; libraries: ``torch``.
"""
