"""The runtime of every generated network: phases, adjoints, contrasts, solvers, and the class that users call.

It knows no network and no other package of energyc. A generated module carries the source of what it uses of this
package (:mod:`energyc.emit.library`), or imports it.

Imports: nothing; libraries: ``torch``, ``triton``.
"""
