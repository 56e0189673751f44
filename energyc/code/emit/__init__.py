"""Plans as text: PyTorch modules that a person can read.

It prints code for torch and imports no torch: others run what it prints.

Imports: ``calculus``, ``convergence``, ``equations``, ``ir``, ``network``, ``notation``, ``plan``, ``runtime``,
``settings``, ``sparse``, ``tree``; libraries: ``numpy``.
"""

from energyc.code.emit.context import Options, Runtime
from energyc.code.emit.formulas import segment_text
from energyc.code.emit.instantiate import instantiate
from energyc.code.emit.names import class_name
from energyc.code.emit.printed import Printed

__all__ = [
    "Options",
    "Printed",
    "Runtime",
    "class_name",
    "instantiate",
    "segment_text",
]
