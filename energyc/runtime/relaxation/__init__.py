"""The free phase, made of parts: a solver, a step-size controller, a termination, observers.

``free_phase`` combines them; each knows nothing of the others. Importing this package registers all of them.

Imports: ``equations``, ``tensors``; libraries: ``torch``.
"""

from __future__ import annotations

from energyc.runtime.relaxation import (
    anderson,
    blocks,
    curvature,
    explosion,
    graphs,
    measures,
    newton,
    rounded_start,
    solver,
    termination,
)

__all__ = [
    "anderson",
    "blocks",
    "curvature",
    "explosion",
    "graphs",
    "measures",
    "newton",
    "rounded_start",
    "solver",
    "termination",
]
