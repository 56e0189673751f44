"""The adjoint of an equilibrium and of the steps that led there, for autograd and for learning rules.

Imports: ``convergence``, ``equations``, ``relaxation``, ``tensors``; libraries: ``torch``.
"""

from __future__ import annotations

from energyc.runtime.adjoints import implicit, unrolled

__all__ = ["implicit", "unrolled"]
