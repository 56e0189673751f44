"""The C++ source of a module's kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from energyc.code.loops import Kernel
from energyc.code.loops.nest import Group, products_of
from energyc.code.targets.cpp.groups import function
from energyc.code.targets.cpp.kernels import KernelWriter
from energyc.code.targets.cpp.products import Tables, in_dots
from energyc.code.targets.functions import Functions, constants
from energyc.code.tree import cpp, python
from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s
from energyc.resources import resource


def whole_source(kernels: Sequence[Kernel], products: bool = False) -> str:
    """The source that is compiled: kernels.h, what some need beside it, and the kernels of a network.

    That is dots.h where a product has few columns, coupling.h where a group makes two products by one matrix,
    bfloat16.h where one rounds, settle.h where the samples of a kernel stop by themselves, solve.h where one solves,
    trajectory.h where one goes back through steps, and product.h for ``products`` outside of phases.
    """
    walks = {kernel.walk for kernel in kernels}
    blocks = [block for kernel in kernels for block in (*kernel.before, *kernel.body)]
    couples = any(isinstance(block, Group) and block.coupling for block in blocks)
    dots = couples or any(in_dots(product) for product in products_of(blocks))
    rounds = any(kernel.rounds for kernel in kernels)
    beside = {
        "dots.h": dots,
        "coupling.h": couples,
        "bfloat16.h": rounds,
        "settle.h": "settle" in walks,
        "solve.h": "solve" in walks,
        "trajectory.h": "go_back" in walks,
        "product.h": products,
        "rounded_product.h": products and rounds,
    }
    headers = ["kernels.h", *(header for header, is_needed in beside.items() if is_needed)]
    texts = [(resource("codegen") / "cpp" / header).read_text() for header in headers]
    return "\n".join([*texts, own_source(kernels)])


def own_source(kernels: Sequence[Kernel]) -> str:
    """The network's own part: sizes, tables of places, the functions of groups, and its kernels."""
    tables, functions = Tables(), Functions(function, "{}_loops")
    settling = {kernel.like for kernel in kernels if kernel.walk == "settle"}
    writers = [KernelWriter(kernel, tables, functions, kernel.name in settling) for kernel in kernels]
    structs = [writer.write() for writer in writers if not writer.kernel.like]
    places = list(tables.statements())
    used = constants(kernels, *places, *functions.made.values(), *structs)
    sizes = [declared for name, value in used.items() for declared in _constant(name, value)]
    inside = _apart([sizes, places, *([made] for made in functions.made.values()), *([struct] for struct in structs)])
    entries = _apart([[entry] for writer in writers for entry in writer.entry_points()])
    return cpp.program(s.Module((s.Block(tuple(inside), "namespace"), s.Blank(), *entries)))


def _constant(name: str, value: float) -> Iterator[s.Statement]:
    """A size, or a root of sizes, whose remark says of which."""
    if isinstance(value, e.Exact):
        yield s.Comment(python.expression(value.plus))
        yield s.Declare("constexpr double", name, e.Number(float(value)))
    else:
        yield s.Declare("constexpr Int", name, e.Number(value))


def _apart(parts: Sequence[Sequence[s.Statement]]) -> Iterator[s.Statement]:
    """Parts with an empty line between them."""
    for k, part in enumerate(part for part in parts if part):
        yield from [s.Blank()] if k else []
        yield from part
