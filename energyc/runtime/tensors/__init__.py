"""Arithmetic on tensors that knows no network: states, linear systems, reductions, sets, draws.

Most of it is what equations call (see ``HELPERS`` in :mod:`energyc.code.module.library`).

Imports: nothing; libraries: ``torch``.
"""
