"""A network on analog hardware: its netlist, its Ising problem, its answers with params of few bits.

| module | content |
|---|---|
| ``form`` | an energy at given weights and clamps as numbers |
| ``circuit`` | that as a circuit |
| ``spice`` | its netlist, and the operating point by ngspice |
| ``ising`` | the corners of boxes as spins |
| ``problem`` | a spec or a run with one sample, which the exporters take |
| ``study`` | a run's metrics at several precisions |

Imports: ``calculus``, ``derive``, ``diagnostics``, ``folder``, ``ir``, ``network``, ``pipeline``, ``runs``,
``training``, ``version``; libraries: ``numpy``, ``scipy``, ``torch``.
"""
