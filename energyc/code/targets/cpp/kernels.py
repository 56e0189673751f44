"""A phase in C++: a struct of what a tile of samples has, and its step.

``relax`` in kernels.h walks with it, ``settle`` in settle.h, ``solve`` in solve.h, or ``record`` and ``go_back`` in
trajectory.h.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from energyc.code.loops.memory import layout
from energyc.code.loops.nest import Block, Group, Kernel, MatrixProduct, products_of, written
from energyc.code.targets.cpp.expressions import Expressions
from energyc.code.targets.cpp.groups import type_of
from energyc.code.targets.cpp.products import Products, Tables, largest_panel
from energyc.code.targets.cpp.scatters import scattered
from energyc.code.targets.functions import Functions, constants_of, outside
from energyc.code.targets.names import Names
from energyc.code.targets.sums import ZERO, size, times, total
from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s

#: What a tile may take of the second cache, in entries.
TILE_ENTRIES = 96 * 1024
#: The most samples of a tile, and how many rows of a product are made at once.
LARGEST_TILE, ROWS = 32, 8

_TEMPLATE = (e.Name("template <class T>"),)
#: Products that round are made of operands of a type of their own.
_ROUNDING_TEMPLATE = (e.Name("template <class T, class Operand = T>"),)
#: The bytes of an entry, by the type of a pointer to it.
_WIDTHS = {"T*": e.Name("sizeof(T)"), "Int*": e.Name("sizeof(Int)")}
_SCALARS, _GIVEN, _START, _ROW = e.Name("scalars"), e.Name("given"), e.Name("start"), e.Name("row")


class KernelWriter:
    """Writes one kernel; ``tables`` and ``functions`` are those of the module.

    Where it ``settles``, the samples of another kernel that is like it stop by themselves.
    """

    def __init__(self, kernel: Kernel, tables: Tables, functions: Functions, settles: bool = False) -> None:
        self.kernel, self.functions, self.settles = kernel, functions, settles
        self.given = {buffer: k for k, (_, buffer) in enumerate(kernel.given)}
        self.layout = layout(kernel.body, kernel.before)
        names = Names(constants_of(kernel))
        totals = [total for total, _ in kernel.totals.values()]
        buffers = [*self.given, *kernel.states, *kernel.moves, *totals, *self.layout.offsets]
        self.names = {buffer: names.new(buffer.name) for buffer in buffers}
        self.scalars = {name: names.new(name) for name in kernel.scalars}
        self.expressions = Expressions(kernel, self.names, self.scalars)
        entries = self.layout.entries + 2 * sum(state.size for state in kernel.states)
        self.tile = max(1, min(LARGEST_TILE, TILE_ENTRIES // max(1, entries)))
        if kernel.walk in ("record", "go_back") and self.tile > ROWS:
            self.tile = (self.tile + ROWS // 2) // ROWS * ROWS
        blocks = (*kernel.before, *kernel.body)
        gathered = {x.coupling.gathered for x in blocks if isinstance(x, Group) and x.coupling}
        products = [product for product in products_of(blocks) if product not in gathered]
        self.panels = [block for block in products if not block.packed_once]
        packed = tuple(block for block in products if block.packed_once)
        self.products = Products(packed, self.names, self.tile, tables)

    @cached_property
    def struct(self) -> str:
        """The name of the struct; one kernel that is like another one has its struct."""
        return f"{self.kernel.like or self.kernel.name}_kernel"

    def write(self) -> s.Statement:
        """The struct."""
        methods = self._packing, self._at, self._recalling, self._counting, self._once, self._step
        parts = map(tuple, (self._facts(), self._members(), *(method() for method in methods)))
        body = [statement for part in parts if part for statement in (*part, s.Blank())]
        before = _ROUNDING_TEMPLATE if self.kernel.rounds else _TEMPLATE
        return s.Class(self.struct, tuple(body[:-1]), doc=(self.kernel.doc,), before=before)

    def entry_points(self) -> Iterator[s.Statement]:
        """The functions that the library exports, for the type that it is built for."""
        yield self._entry_point(f"{self.struct}<Real>", f"{self.kernel.name}_phase")
        if self.kernel.rounds:
            yield self._entry_point(f"{self.struct}<Real, Low>", f"{self.kernel.name}_bfloat16_phase")

    def _entry_point(self, phase: str, name: str) -> s.Statement:
        kinds = {
            "samples": "Int",
            "steps": "Int",
            "states": "Real* const*",
            "given": "const void* const*",
            "scalars": "const Real*",
            "change": "Real*",
            "threads": "Int",
        }
        walks = e.call(f"{self.kernel.walk}<{phase}, Real>", *map(e.Name, kinds))
        parameters = tuple(s.Parameter(name, e.Name(kind)) for name, kind in kinds.items())
        return s.Function(name, parameters, (s.Do(walks),), before=(e.Name('extern "C"'),))

    # ------------------------------------------------------------ the tile

    def _facts(self) -> Iterator[s.Statement]:
        """Sizes: of a tile, of each state, and of the memory in between, for a sample and for all."""
        states = tuple(size(state.size) for state in self.kernel.states)
        yield s.Declare("static constexpr Int", "tile", e.Number(self.tile))
        yield s.Declare("static constexpr Int", "sizes[]", e.SetOf(states))
        yield s.Declare("static constexpr Int", "scratch", e.Number(self.layout.entries))
        yield s.Declare("static constexpr Int", "panel_entries", largest_panel(self.panels, self.tile))
        if self.kernel.walk == "go_back":
            sizes = [size(buffer.size) for buffer, _ in self.kernel.totals.values()]
            yield s.Declare("static constexpr Int", "total_entries", total(sizes) if sizes else ZERO)
        if self.settles:
            widths = (
                times(buffer.size, _WIDTHS[type_of(buffer, False)]) if buffer.batched else ZERO for buffer in self.given
            )
            yield s.Declare("static constexpr Int", "given_count", e.Number(len(self.given)))
            yield s.Declare("static constexpr Int", "given_bytes[]", e.SetOf(tuple(widths) or (ZERO,)))
        yield from self.products.starts()

    def _members(self) -> Iterator[s.Statement]:
        """The members of the struct: the caller's buffers and scalars, for the tile at hand, and its memory."""
        for buffer in self.given:
            yield s.Declare(type_of(buffer, True), self.names[buffer])
        for name in self.scalars.values():
            yield s.Declare("T", name)
        yield s.Declare("T*", "memory")
        yield s.Declare("T*", "panel_memory")
        yield s.Declare("const T*", "packed")
        if self.kernel.totals:
            yield s.Declare("T*", "totals")

    def _packing(self) -> Iterator[s.Statement]:
        parameters = (s.Parameter("given", e.Name("const void* const*")), s.Parameter("to", e.Name("T*")))
        yield s.Function("pack_given", parameters, tuple(self.products.packing(self.given)), before=(e.Name("static"),))

    def _at(self) -> Iterator[s.Statement]:
        """The tile that begins with a sample."""
        phase = e.Name("phase")
        body: list[s.Statement] = [s.Declare(self.struct, "phase")]
        for buffer, k in self.given.items():
            source = e.Cast(type_of(buffer, True) if buffer.kind != "number" else "const Int*", _GIVEN[e.Number(k)])
            moved = total([source, *([times(buffer.size, _START)] if buffer.batched else [])])
            value = e.Unary("*", source) if buffer.kind == "number" else moved
            body.append(s.Assign(phase.attribute(self.names[buffer]), value))
        for k, name in enumerate(self.scalars.values()):
            body.append(s.Assign(phase.attribute(name), _SCALARS[e.Number(k)]))
        kinds = {"given": "const void* const*", "scalars": "const T*", "start": "Int"}
        parameters = tuple(s.Parameter(name, e.Name(kind)) for name, kind in kinds.items())
        body.append(s.Return(phase))
        yield s.Function("at", parameters, tuple(body), e.Name(self.struct), before=(e.Name("static"),))

    def _recalling(self) -> Iterator[s.Statement]:
        """The method that turns to another step: what is there for each lies in rows, of a sample in a step each."""
        if self.kernel.walk != "go_back":
            return
        body = [
            s.Assign(
                e.Name(self.names[buffer]),
                total([e.Cast(type_of(buffer, True), _GIVEN[e.Number(self.given[buffer])]), times(buffer.size, _ROW)]),
            )
            for buffer in self.kernel.recalled
        ]
        kinds = {"given": "const void* const*", "row": "Int"}
        parameters = tuple(s.Parameter(name, e.Name(kind)) for name, kind in kinds.items())
        yield s.Function("recall", parameters, tuple(body))

    def _counting(self) -> Iterator[s.Statement]:
        """The method that goes on to the number of the next step; empty where the kernel does not read it."""
        number = self.kernel.number
        name = None if number is None else self.names[self.kernel.given[number][1]]
        turn = "--" if self.kernel.walk == "go_back" else "++"
        body = () if name is None else (s.Do(e.Unary(turn, e.Name(name))),)
        yield s.Function("count", (), body)

    # ------------------------------------------------------------ a step

    def _step(self) -> Iterator[s.Statement]:
        """One step of n samples, from the states ``now`` to ``next``."""
        body: list[s.Statement] = []
        read = {buffer for block in self.kernel.body for buffer in block.reads}
        for k, (state, moved) in enumerate(zip(self.kernel.states, self.kernel.moves, strict=True)):
            if state in read:
                body.append(s.Declare("const T* const", self.names[state], e.Name("now")[e.Number(k)]))
            body.append(s.Declare("T* const", self.names[moved], e.Name("next")[e.Number(k)]))
        place: list[e.Expr] = [e.Name("totals")]
        for buffer, _ in self.kernel.totals.values():
            body.append(s.Declare("T* const", self.names[buffer], total(place)))
            place = [*place, size(buffer.size)]
        body += self._blocks(self.kernel.body)
        kinds = {"n": "Int", "now": "T* const*", "next": "T* const*"}
        parameters = tuple(s.Parameter(name, e.Name(kind)) for name, kind in kinds.items())
        yield s.Function("step", parameters, tuple(body), after="const")

    def _once(self) -> Iterator[s.Statement]:
        """What n samples need before their first step, of a kernel that solves."""
        if self.kernel.walk == "solve":
            body = tuple(self._blocks(self.kernel.before))
            yield s.Function("prepare", (s.Parameter("n", e.Name("Int")),), body, after="const")

    def _blocks(self, blocks: Sequence[Block]) -> Iterator[s.Statement]:
        """The memory that blocks write or read, and the blocks."""
        used = {buffer for block in blocks for buffer in (*written(block), *block.reads)}
        for buffer, offset in self.layout.offsets.items():
            if buffer in used:
                at = [times(offset, e.Name("tile"))] if offset else []
                yield s.Declare("T* const", self.names[buffer], total([e.Name("memory"), *at]))
        for block in blocks:
            yield from self._block(block)

    def _block(self, block: Block) -> Iterator[s.Statement]:
        match block:
            case Group():
                yield self._call(block)
            case MatrixProduct():
                yield from self.products.product(block)
            case _:
                yield from scattered(block, self.expressions)

    def _call(self, group: Group) -> s.Statement:
        """The call of a group's function."""
        buffers, scalars = outside(self.kernel, group)
        given = [e.Name(self.names[buffer]) for buffer in buffers] + [e.Name(self.scalars[x]) for x in scalars]
        samples = [e.Name("n")] if group.batched else []
        panels = [self.products.packed_at(group.coupling.spread)] if group.coupling else []
        return s.Do(e.call(self.functions.of(self.kernel, group).name, *samples, *given, *panels))
