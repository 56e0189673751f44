"""A network as a PyTorch module whose phases run in C++ kernels."""

from __future__ import annotations

from collections.abc import Sequence

from energyc.code.emit.context import Options
from energyc.code.emit.cpp_kernels import KernelWriter
from energyc.code.emit.cpp_text import Names, folded
from energyc.code.emit.kernels import Relaxing, Written, kernel_module
from energyc.code.emit.printed import Printed
from energyc.code.tree.expressions import Name, String, Tuple, call
from energyc.code.tree.statements import Comment, Verbatim
from energyc.language.network import Network
from energyc.resources import resource


def cpp_module(network: Network, options: Options) -> Printed:
    """The module; where a network has no kernels it is that of the torch target, and says why."""
    return kernel_module(network, options, "array", _written)


def _written(relaxing: Sequence[Relaxing]) -> Written:
    names = Tuple(tuple(String(kernel.name) for r in relaxing for kernel in r.kernels))
    source = "\n".join(["", (resource("codegen") / "cpp" / "kernels.h").read_text(), own_source(relaxing)])
    remark = Comment("The kernels in C++17.", documents=True)
    definition = Verbatim(f'SOURCE = r"""{source}"""', defines=frozenset({"SOURCE"}))
    return Written((remark, definition), call("Kernels", Name("SOURCE"), names), source)


def own_source(relaxing: Sequence[Relaxing]) -> str:
    """The network's own part of the C++ source: tables of places, and its kernels."""
    tables: dict[str, str] = {}
    structs, body = Names(), list[str]()
    for r in relaxing:
        for kernel in r.kernels:
            struct = structs.new(kernel.name.capitalize())
            body += KernelWriter(kernel, struct, r.context.network.extents, tables).write()
    places = [f"static const Places {name} = places({labels});" for labels, name in tables.items()]
    return "\n".join(piece for line in [*places, "", *body] for piece in folded(line))
