"""Plans as text: PyTorch modules that a person can read.

It prints code for torch and imports no torch: others run what it prints.

Imports: ``calculus``, ``convergence``, ``derive``, ``equations``, ``ir``, ``loops``, ``network``, ``notation``,
``plan``, ``resources``, ``rules``, ``runtime``, ``settings``, ``sparse``; libraries: ``jinja2``, ``numpy``.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from energyc.code.emit.context import Options, Planned, Runtime, module_plan
from energyc.code.emit.cpp_module import cpp_module, own_source
from energyc.code.emit.formulas import segment_text
from energyc.code.emit.glue import Glue
from energyc.code.emit.instantiate import instantiate
from energyc.code.emit.kernels import kernels_of
from energyc.code.emit.names import class_name
from energyc.code.emit.torch_module import torch_module
from energyc.code.emit.triton_module import triton_module
from energyc.language.network import Network

#: The printer of each target.
PRINTERS: Mapping[str, Callable[[Network, Options], str]] = MappingProxyType(
    {"torch": torch_module, "cpp": cpp_module, "triton": triton_module}
)

__all__ = [
    "PRINTERS",
    "Glue",
    "Options",
    "Planned",
    "Runtime",
    "class_name",
    "cpp_module",
    "instantiate",
    "kernels_of",
    "module_plan",
    "own_source",
    "segment_text",
    "torch_module",
]
