"""A module under construction, as all targets share it.

In: the plan of a module and the options that it is made with. Out: the :class:`Context` that printers of equations read
(names that are free, sizes by name, what is fixed and what is constant), and the runtime that a module carries. It
imports no torch.

Imports: ``files``, ``ir``, ``network``, ``notation``, ``operators``, ``plan``, ``runtime``, ``sparse``, ``tree``.
"""

from energyc.code.module.context import Options, Runtime
from energyc.code.module.formulas import segment_text
from energyc.code.module.instantiate import instantiate
from energyc.code.module.names import class_name
from energyc.code.module.printed import Printed

__all__ = [
    "Options",
    "Printed",
    "Runtime",
    "class_name",
    "instantiate",
    "segment_text",
]
