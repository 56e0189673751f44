"""Plans as text: PyTorch modules that a person can read.

It prints code for torch and imports no torch: others run what it prints.

Imports: ``derive``, ``ir``, ``notation``, ``plan``, ``resolve``, ``resources``, ``rules``, ``settings``; libraries:
``jinja2``, ``numpy``.
"""

from energyc.emit.context import Options, Runtime, module_plan
from energyc.emit.instantiate import instantiate
from energyc.emit.names import class_name
from energyc.emit.torch_module import torch_module

__all__ = ["Options", "Runtime", "class_name", "instantiate", "module_plan", "torch_module"]
