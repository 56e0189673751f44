"""A network as a PyTorch module whose phases run in Triton kernels and the products of torch."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from energyc.code.loops import Kernel
from energyc.code.module.context import Options
from energyc.code.module.printed import Printed
from energyc.code.plan import ModulePlan
from energyc.code.targets.kernels import Written, kernel_module
from energyc.code.targets.triton.phases import definitions, phases
from energyc.code.tree.statements import Body


def triton_module(planned: ModulePlan, options: Options) -> Printed:
    """The module; where a network has no kernels it is that of the torch target, and says why."""
    return kernel_module(planned, options, "triton", "registers", _written)


def _written(kernels: Sequence[Kernel], own: Body, classes: Collection[str]) -> Written:
    return Written(definitions(kernels), phases(kernels), None, own)
