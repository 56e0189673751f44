"""The runtime of every generated network: phases, adjoints, contrasts, solvers, learning rules, the class users call.

In: the equations of a generated module. Out: equilibria and gradients. A module carries the source of what it uses of
this wing (:mod:`energyc.code.module.library`), or imports it.

| room | content |
|---|---|
| ``tensors`` | arithmetic that knows no network: states, linear systems, reductions, sets, draws |
| ``equations`` | the base class of a network's equations, its inputs and records, parts that settings choose |
| ``relaxation`` | the free phase: solver, step-size controller, termination, observers |
| ``convergence`` | whether samples settled, and why not |
| ``adjoints`` | the adjoint of an equilibrium and of steps, for autograd |
| ``nudging`` | nudged and clamped phases, their contrast, the strength of a nudge |
| ``networks`` | the classes that users call |
| ``kernels`` | phases by kernels in C++ and Triton |
| ``rules`` | the learning rules, a file each |

It imports no other wing.

Imports: nothing.
"""
