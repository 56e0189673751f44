"""A network as a PyTorch module whose phases run in Triton kernels and the products of torch."""

from __future__ import annotations

from collections.abc import Sequence

from energyc.code.emit.context import Options
from energyc.code.emit.kernels import Relaxing, kernel_module
from energyc.code.targets.triton.phases import definitions, phases
from energyc.code.tree import python
from energyc.language.network import Network


def triton_module(network: Network, options: Options) -> str:
    """The text of the module; where a network has no kernels it is that of the torch target, and says why."""
    return kernel_module(network, options, "registers", _printed)


def _printed(relaxing: Sequence[Relaxing]) -> tuple[str, str]:
    kernels = [kernel for r in relaxing for kernel in r.kernels]
    return "\n".join(python.lines(definitions(kernels))), python.expression(phases(kernels))
