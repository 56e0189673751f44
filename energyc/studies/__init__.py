"""Measurements of a network: fidelity, speed, what goes on inside, what becomes of it in hardware.

In: a module or a run. Out: numbers and arrays; ``surfaces`` shows them.

| room | content |
|---|---|
| ``verify`` | gradients of each rule against implicit differentiation; spectra, limits, precision |
| ``bench`` | the time of a step beside alternatives |
| ``inspection`` | energies, memories, attention, positions as arrays |
| ``hardware`` | circuits, Ising problems, few bits, devices that differ |
| ``symbolic`` | the formulas of a network as SymPy expressions |

It imports every wing but ``proofs`` and ``surfaces``.
"""
