"""A network as a PyTorch module whose phases run in C++ kernels."""

from __future__ import annotations

from collections.abc import Sequence

from energyc.code.emit.context import Options
from energyc.code.emit.kernels import Relaxing, kernel_module
from energyc.code.loops import Kernel
from energyc.code.targets.cpp import source
from energyc.language.network import Network


def cpp_module(network: Network, options: Options) -> str:
    """The text of the module; where a network has no kernels it is that of the torch target, and says why."""
    return kernel_module(network, options, "array", _printed)


def _printed(relaxing: Sequence[Relaxing]) -> tuple[str, str]:
    names = [f'"{kernel.name}"' for r in relaxing for kernel in r.kernels]
    text = f"\n{source.whole_source(_kernels(relaxing))}"
    return f'#: The kernels in C++17.\nSOURCE = r"""{text}"""', f"Kernels(SOURCE, ({', '.join(names)},))"


def own_source(relaxing: Sequence[Relaxing]) -> str:
    """The network's own part of the C++ source: tables of places, functions, and its kernels."""
    return source.own_source(_kernels(relaxing))


def _kernels(relaxing: Sequence[Relaxing]) -> list[Kernel]:
    return [kernel for r in relaxing for kernel in r.kernels]
