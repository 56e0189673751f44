"""Loop nests: which statements of a phase run together, on a tile of samples that stays in the cache.

A step of a phase becomes matrix products and groups of statements that share their loops. What is here knows no
language that they are printed in.

Imports: ``derive``, ``expressions``, ``functions``, ``ir``, ``network``, ``sparse``.
"""

from energyc.code.loops.adjoints import adjoint_phase, adjoint_solve
from energyc.code.loops.fuse import Rows
from energyc.code.loops.lower import NotLowered
from energyc.code.loops.matrices import rounding
from energyc.code.loops.nest import Kernel
from energyc.code.loops.phases import (
    Adjoint,
    Back,
    Block,
    Equations,
    free_phase,
    nudged_phase,
    nudged_sweeps,
    settling_phase,
    sweeps,
    tracking_phases,
)
from energyc.code.loops.text import kernel_text
from energyc.code.loops.trajectories import recorded_phase, steps_back

__all__ = [
    "Adjoint",
    "Back",
    "Block",
    "Equations",
    "Kernel",
    "NotLowered",
    "Rows",
    "adjoint_phase",
    "adjoint_solve",
    "free_phase",
    "kernel_text",
    "nudged_phase",
    "nudged_sweeps",
    "recorded_phase",
    "rounding",
    "settling_phase",
    "steps_back",
    "sweeps",
    "tracking_phases",
]
