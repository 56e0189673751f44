"""A network on analog hardware: its netlist, its Ising problem, its answers with params of few bits.

| module | content |
|---|---|
| ``degree`` | which energies are quadratic, but for functions of affine arguments |
| ``form`` | an energy at given weights and clamps as numbers |
| ``circuit``, ``expressions``, ``spice`` | that as a circuit, and its netlist |
| ``ngspice`` | the operating point of a netlist |
| ``ising`` | the corners of boxes as spins |
| ``problem`` | a spec or a run with one sample, which the exporters take |
| ``precision`` | params rounded to few bits, and with mismatch |
| ``study`` | a run's metrics at several precisions |

Imports: ``calculus``, ``derive``, ``diagnostics``, ``folder``, ``ir``, ``network``, ``pipeline``, ``runs``,
``training``, ``version``; libraries: ``numpy``, ``scipy``, ``torch``.
"""
