"""A phase in C++: a struct of what a tile of samples has, and its step.

``relax`` in kernels.h walks with it, ``settle`` in settle.h, ``solve`` in solve.h, or ``record`` and ``go_back`` in
trajectory.h.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from energyc.code.loops.memory import layout
from energyc.code.loops.nest import Block, Buffer, Group, Kernel, MatrixProduct, products_of, written
from energyc.code.targets.cpp.expressions import Expressions
from energyc.code.targets.cpp.given import Given, member, taking
from energyc.code.targets.cpp.groups import type_of
from energyc.code.targets.cpp.products import Matrices, Products, Tables, largest_panel
from energyc.code.targets.cpp.scatters import scattered
from energyc.code.targets.functions import Functions, constants_of, outside
from energyc.code.targets.names import Names
from energyc.code.targets.sums import ZERO, product, size, times, total
from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s

#: What a tile may take of the second cache, in entries.
TILE_ENTRIES = 96 * 1024
#: The most samples of a tile, and how many rows of a product are made at once.
LARGEST_TILE, ROWS = 32, 8

#: Products that round are made of operands of a type of their own.
_ROUNDING_TEMPLATE = (e.Name("template <class Operand>"),)
_SCALARS, _GIVEN, _ROW = e.Name("scalars"), e.Name("given"), e.Name("row")


class KernelWriter:
    """Writes one kernel; ``given`` is what its network's kernels are passed alike, the rest is of the module."""

    def __init__(self, kernel: Kernel, given: Given, tables: Tables, matrices: Matrices, functions: Functions) -> None:
        self.kernel, self.given, self.matrices, self.functions = kernel, given, matrices, functions
        self.layout = layout(kernel.body, kernel.before)
        places = kernel.places
        #: Its further arguments, with the places.
        self.own = {buffer: place for buffer, place in places.items() if place >= kernel.shared}
        names = Names({*constants_of(kernel), *given.members.values()})
        totals = [total for total, _ in kernel.totals.values()]
        buffers = [*self.own, *kernel.states, *kernel.moves, *totals, *self.layout.offsets]
        self.names = {b: given.members[place] for b, place in places.items() if place < kernel.shared}
        self.names |= {buffer: names.new(buffer.name) for buffer in buffers}
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
        once = [block for block in products if block.packed_once]
        packed = {block: matrices.of(block, places[block.right], self.names[block.right]) for block in once}
        self.products = Products(packed, self.names, self.tile, tables)

    @cached_property
    def struct(self) -> str:
        """The name of the struct; one kernel that is like another one has its struct."""
        return f"{self.kernel.like or self.kernel.name}_kernel"

    def write(self) -> s.Statement:
        """The struct."""
        methods = self._taking, self._recalling, self._counting, self._once, self._step
        parts = map(tuple, (self._facts(), self._members(), *(method() for method in methods)))
        body = [statement for part in parts if part for statement in (*part, s.Blank())]
        before = _ROUNDING_TEMPLATE if self.kernel.rounds else ()
        bases = (e.Name(self.given.name),)
        return s.Class(self.struct, tuple(body[:-1]), bases, (self.kernel.doc,), before)

    def entry_points(self) -> Iterator[s.Statement]:
        """The functions that the library exports, for the type that it is built for."""
        name = self.kernel.name
        if self.kernel.rounds:
            yield self._entry_point(f"{self.struct}<T>", f"{name}_phase")
            yield self._entry_point(f"{self.struct}<Low>", f"{name}_bfloat16_phase")
        else:
            yield self._entry_point(self.struct, f"{name}_phase")

    def _entry_point(self, phase: str, name: str) -> s.Statement:
        return s.Do(e.call("PHASE", e.Name(name), e.Name(self.kernel.walk), e.Name(phase)))

    # ------------------------------------------------------------ the tile

    def _facts(self) -> Iterator[s.Statement]:
        """Sizes: of a tile, of each state, and of the memory in between, for a sample and for all."""
        states = tuple(size(state.size) for state in self.kernel.states)
        yield s.Declare("static constexpr Int", "tile", e.Number(self.tile))
        yield s.Declare("static constexpr Int", "sizes[]", e.SetOf(states))
        if self.layout.last is not None:
            rooms = [_room(buffer) for buffer in self.layout.behind(self.layout.last)]
            yield s.Declare("static constexpr Int", "scratch", total(rooms))
        if self.panels:
            yield s.Declare("static constexpr Int", "panel_entries", largest_panel(self.panels, self.tile))
        if self.kernel.walk == "go_back":
            sizes = [size(buffer.size) for buffer, _ in self.kernel.totals.values()]
            yield s.Declare("static constexpr Int", "total_entries", total(sizes) if sizes else ZERO)
        if packs := self.products.matrices:
            if self.matrices.rounds:
                table = f"matrices<{'Operand' if self.kernel.rounds else 'T'}>"
                yield s.Declare("static constexpr const Matrix*", "table", e.Name(table))
            yield s.Declare("static constexpr Int", "packs[]", e.SetOf(tuple(map(e.Number, packs))))

    def _members(self) -> Iterator[s.Statement]:
        """The arguments that not all kernels of the network have: further buffers of the caller, and scalars."""
        for buffer in self.own:
            yield member(buffer, self.names[buffer])
        for name in self.scalars.values():
            yield s.Declare("T", name)
        if self.kernel.totals:
            yield s.Declare("T*", "totals")

    def _taking(self) -> Iterator[s.Statement]:
        """The method that turns to the tile that begins with a sample."""
        body: list[s.Statement] = [s.Do(e.call(f"{self.given.name}::take", _GIVEN, e.Name("start")))]
        body += (taking(buffer, self.names[buffer], place) for buffer, place in self.own.items())
        body += (s.Assign(e.Name(name), _SCALARS[e.Number(k)]) for k, name in enumerate(self.scalars.values()))
        kinds = {"given": "const void* const*", "scalars": "const T*", "start": "Int"}
        parameters = tuple(s.Parameter(name, e.Name(kind)) for name, kind in kinds.items())
        yield s.Function("take", parameters, tuple(body))

    def _recalling(self) -> Iterator[s.Statement]:
        """The method that turns to another step: what is there for each lies in rows, of a sample in a step each."""
        if self.kernel.walk != "go_back":
            return
        places = self.kernel.places
        body = [
            s.Assign(
                e.Name(self.names[buffer]),
                total([e.Cast(type_of(buffer, True), _GIVEN[e.Number(places[buffer])]), times(buffer.size, _ROW)]),
            )
            for buffer in self.kernel.recalled
        ]
        kinds = {"given": "const void* const*", "row": "Int"}
        parameters = tuple(s.Parameter(name, e.Name(kind)) for name, kind in kinds.items())
        yield s.Function("recall", parameters, tuple(body))

    def _counting(self) -> Iterator[s.Statement]:
        """The method that goes on to the number of the next step, where the kernel reads it."""
        number = self.kernel.number
        if number is not None:
            turn = "--" if self.kernel.walk == "go_back" else "++"
            name = self.names[self.kernel.given[number][1]]
            yield s.Function("count", (), (s.Do(e.Unary(turn, e.Name(name))),))

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
        touched = {buffer for block in blocks for buffer in (*written(block), *block.reads)}
        used = {x for buffer in touched if buffer in self.layout.offsets for x in self.layout.behind(buffer)}
        for buffer in self.layout.offsets:
            if buffer in used:
                yield s.Declare("T* const", self.names[buffer], self._place(buffer))
        for block in blocks:
            yield from self._block(block)

    def _place(self, buffer: Buffer) -> e.Expr:
        """Where a buffer starts: with the memory of the tile, or behind another buffer."""
        before = self.layout.follows.get(buffer)
        if before is None:
            return e.Name("memory")
        return total([e.Name(self.names[before]), product([_room(before), e.Name("tile")])])

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


def _room(buffer: Buffer) -> e.Expr:
    """The entries that a buffer takes of a sample's memory, whole lines of the cache."""
    return e.call("lines", size(buffer.size))
