"""A network as a PyTorch module whose phases run in Triton kernels and the products of torch."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from energyc.code.loops import Kernel
from energyc.code.module.context import Options
from energyc.code.module.printed import Printed
from energyc.code.plan import ModulePlan
from energyc.code.targets.kernels import Written, kernel_module
from energyc.code.targets.triton.phases import definitions, phases
from energyc.code.tree import facts
from energyc.code.tree.statements import Body, Import

#: The module of the runtime with functions of blocks; a kernel calls them by plain names, as Triton asks.
HELPERS = "energyc.runtime.kernels.triton_functions"


def triton_module(planned: ModulePlan, options: Options) -> Printed:
    """The module; where a network has no kernels it is that of the torch target, and says why."""
    return kernel_module(planned, options, "triton", "registers", _written)


def _written(kernels: Sequence[Kernel]) -> Written:
    made = definitions(kernels)
    return Written(made, phases(kernels), None, _imports(facts.free_names(*made)))


def _imports(read: Collection[str]) -> Body:
    """The imports of Triton, and of the functions of blocks that kernels call."""
    names = sorted(name for name in read if name in ("jit", "tl") or name.startswith("block_"))
    return (Import(HELPERS, tuple(names)),) if names else ()
