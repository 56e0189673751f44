"""The struct of buffers and scalars that the caller passes to every kernel of a network in C++."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from types import MappingProxyType

from energyc.code.loops.nest import Buffer, Kernel
from energyc.code.targets.cpp.groups import type_of
from energyc.code.targets.functions import constants_of
from energyc.code.targets.names import Names
from energyc.code.targets.sums import ZERO, times, total
from energyc.code.tree import expressions as e
from energyc.code.tree import statements as s

#: The bytes of an entry, by the type of a pointer to it.
_WIDTHS = MappingProxyType({"T*": e.Name("sizeof(T)"), "Int*": e.Name("sizeof(Int)")})
_GIVEN, _START = e.Name("given"), e.Name("start")


class Given:
    """The struct of what a network's kernels are passed alike; ``name`` is what it is called.

    Where samples of a kernel stop by themselves, it tells how many bytes of each a sample has.
    """

    def __init__(self, kernels: Sequence[Kernel], name: str) -> None:
        self.name = name
        self.buffers: dict[int, Buffer] = {}
        for kernel in kernels:
            for buffer, place in kernel.places.items():
                if place < kernel.shared:
                    self.buffers.setdefault(place, buffer)
        self.settles = any(kernel.walk == "settle" for kernel in kernels)
        #: Identifiers of sizes and of the members.
        self.taken = Names(name for kernel in kernels for name in constants_of(kernel))
        self.members = {place: self.taken.new(self.buffers[place].name) for place in sorted(self.buffers)}

    def struct(self, read: Collection[str], table: str = "") -> s.Class:
        """The struct: the members that are read, and how they are taken of what is passed; a table of matrices."""
        body: list[s.Statement] = []
        if table:
            body.append(s.Declare("static constexpr const Matrix*", "table", e.Name(table)))
        if self.settles:
            widths = [_width(self.buffers[place]) for place in self.members] or [ZERO]
            body.append(s.Declare("static constexpr Int", "bytes[]", e.SetOf(tuple(widths))))
        members = {place: name for place, name in self.members.items() if name in read}
        body += (member(self.buffers[place], name) for place, name in members.items())
        kinds = {"given": "const void* const*", "start": "Int"}
        parameters = tuple(s.Parameter(name, e.Name(kind)) for name, kind in kinds.items())
        takes = tuple(taking(self.buffers[place], name, place) for place, name in members.items())
        body += [s.Blank(), s.Function("take", parameters, takes)]
        return s.Class(
            self.name, tuple(body), (e.Name("Tile"),), ("The buffers of the caller, from the sample `start` on.",)
        )


def member(buffer: Buffer, name: str) -> s.Statement:
    """The member of a struct that holds where a buffer begins."""
    return s.Declare(type_of(buffer, True), name)


def taking(buffer: Buffer, name: str, place: int) -> s.Statement:
    """The statement that sets it, from the first sample of the tile on."""
    passed = _GIVEN[e.Number(place)]
    if buffer.kind == "number":
        return s.Assign(e.Name(name), e.Unary("*", e.Cast("const Int*", passed)))
    moved = [times(buffer.size, _START)] if buffer.batched else []
    return s.Assign(e.Name(name), total([e.Cast(type_of(buffer, True), passed), *moved]))


def _width(buffer: Buffer) -> e.Expr:
    return times(buffer.size, _WIDTHS[type_of(buffer, False)]) if buffer.batched else ZERO


def given_structs(kernels: Sequence[Kernel]) -> Iterator[tuple[Given, list[Kernel]]]:
    """The struct of each network among those of some kernels, and its kernels."""
    networks: dict[object, list[Kernel]] = {}
    for kernel in kernels:
        networks.setdefault(kernel.passed[: kernel.shared], []).append(kernel)
    for number, own in enumerate(networks.values()):
        yield Given(own, f"Given_{number + 1}" if number else "Given"), own
