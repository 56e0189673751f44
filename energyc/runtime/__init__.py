"""The runtime of every generated network: phases, adjoints, contrasts, solvers, and the class that users call.

Knows torch, and nothing else: no module here imports another package of energyc. A generated module holds the source of
what it uses of this package (:mod:`energyc.emit.library`), or imports it.
"""
