"""The C++ source of a module's kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from energyc.code.loops import Kernel
from energyc.code.loops.nest import Group, products_of
from energyc.code.targets.cpp.given import given_structs
from energyc.code.targets.cpp.groups import function
from energyc.code.targets.cpp.kernels import KernelWriter
from energyc.code.targets.cpp.products import Matrices, Tables, in_dots
from energyc.code.targets.functions import Functions, constants
from energyc.code.tree import cpp, facts, python
from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s

_TYPE = s.Verbatim("using T = Real;")


def whole_source(kernels: Sequence[Kernel]) -> str:
    """The source that is compiled: the kernels of a network, below the headers of the runtime that they need.

    These are kernels.h; dots.h where a product has few columns, coupling.h where a group makes two products by one
    matrix, bfloat16.h where one rounds, settle.h where the samples of a kernel stop by themselves, solve.h where one
    solves, and trajectory.h where one goes back through steps.
    """
    walks = {kernel.walk for kernel in kernels}
    blocks = [block for kernel in kernels for block in (*kernel.before, *kernel.body)]
    couples = any(isinstance(block, Group) and block.coupling for block in blocks)
    dots = couples or any(in_dots(product) for product in products_of(blocks))
    beside = {
        "dots.h": dots,
        "coupling.h": couples,
        "bfloat16.h": any(kernel.rounds for kernel in kernels),
        "settle.h": "settle" in walks,
        "solve.h": "solve" in walks,
        "trajectory.h": "go_back" in walks,
    }
    headers = ["kernels.h", *(header for header, is_needed in beside.items() if is_needed)]
    return "\n".join([*(f'#include "{header}"' for header in headers), "", own_source(kernels)])


def own_source(kernels: Sequence[Kernel]) -> str:
    """The network's own part: sizes, tables of places, the functions of groups, and its kernels."""
    tables, functions = Tables(), Functions(function, "{}_loops")
    matrices = Matrices(tables, any(kernel.rounds for kernel in kernels))
    given = list(given_structs(kernels))
    writers = [KernelWriter(k, passed, tables, matrices, functions) for passed, own in given for k in own]
    structs = [writer.write() for writer in writers if not writer.kernel.like]
    read = facts.reads(*structs)
    passed = [struct.struct(read, matrices.table) for struct, _ in given]
    places, table = list(tables.statements()), list(matrices.statements())
    used = constants(kernels, *places, *table, *functions.made.values(), *passed, *structs)
    sizes = [declared for name, value in used.items() for declared in _constant(name, value)]
    parts = [*functions.made.values(), *passed, *structs]
    inside = _apart([[_TYPE], sizes, places, table, *([part] for part in parts)])
    entries = [entry for writer in writers for entry in writer.entry_points()]
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
