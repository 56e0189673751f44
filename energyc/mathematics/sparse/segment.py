"""Reductions over segments: what a guard ``dst[e] == n`` makes of a reduction over e."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from energyc.mathematics.ir import Facts, Guard, IndexExpr, Node, Reduction


@dataclass(frozen=True, eq=False, repr=False)
class Segment(Node):
    """A reduction of the entries of the argument that ``place`` sends to one position of the dim ``over``.

    The last ``count`` axes of the argument are reduced; ``place`` and ``guard`` are over the argument's axes. A
    ``kind`` that keeps axes has the dims of the argument, another one those that are left, then ``over``. An empty
    segment gives 0, as every empty reduction.
    """

    facts = Facts()

    kind: type[Reduction]
    argument: Node
    count: int
    place: IndexExpr
    over: str
    guard: Guard | None

    @cached_property
    def children(self) -> tuple[Node, ...]:
        return (self.argument, *self.place.inputs, *((self.guard.indicator,) if self.guard else ()))
