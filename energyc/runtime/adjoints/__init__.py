"""The adjoint of an equilibrium, by its equation or by phases, and of the steps that led there, for autograd.

Imports: ``convergence``, ``equations``, ``relaxation``, ``tensors``; libraries: ``torch``.
"""

from __future__ import annotations

from energyc.runtime.adjoints import implicit, phases, unrolled

__all__ = ["implicit", "phases", "unrolled"]
