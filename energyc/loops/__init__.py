"""Loop nests: which statements of a phase run together, on a tile of samples that stays in the cache.

A step of a phase becomes matrix products and groups of statements that share their loops. What is here knows no
language that they are printed in.

Imports: ``functions``, ``ir``, ``resolve``, ``sparse``.
"""

from energyc.loops.fuse import Rows
from energyc.loops.lower import NotLowered
from energyc.loops.nest import Kernel
from energyc.loops.phases import Equations, free_phase, nudged_phase, tracking_phases
from energyc.loops.text import kernel_text

__all__ = ["Equations", "Kernel", "NotLowered", "Rows", "free_phase", "kernel_text", "nudged_phase", "tracking_phases"]
