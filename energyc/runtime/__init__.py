"""What every generated network runs on: phases, adjoints, contrasts, solvers, learning rules, the class users call.

In: the equations of a generated module. Out: equilibria and gradients. A module carries the source of what it uses of
this wing (:mod:`energyc.code.emit.library`), or imports it.

| room | content |
|---|---|
| ``rules`` | the learning rules, a file each |

It imports no other wing.

Imports: nothing; libraries: ``torch``, ``triton``.
"""
