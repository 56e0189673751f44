"""The factors of a product that are not taken apart: each has a number, the same for every way of writing it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from energyc.analysis.canonical import Factor, Symmetry
from energyc.ir import IndexExpr, Node

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Atom:
    """A tensor: a node divided by ``scale``, its axes taken in ``order`` (axis k is the node's axis ``order[k]``).

    Of a softmax ``reduced`` are the axes along which it sums to one and ``guard`` the condition on its axes; of an
    indicator ``guard`` is the condition itself. ``argument`` is the key of what a scalar function is applied to, and
    ``base`` the same as a factor, its labels axes of the atom, where it is a single atom.
    """

    number: int
    kind: str
    node: Node
    order: tuple[int, ...]
    scale: Fraction
    symmetries: tuple[Symmetry, ...]
    reduced: tuple[int, ...] = ()
    guard: IndexExpr | None = None
    argument: Key | None = None
    base: Factor | None = None

    @property
    def dims(self) -> tuple[str, ...]:
        """The dims of the atom's axes."""
        return tuple(self.node.dims[k] for k in self.order)


@dataclass(frozen=True)
class Reading:
    """How a node is made of an atom: ``scale`` times it, atom axis k being the node's axis ``order[k]``."""

    atom: Atom
    order: tuple[int, ...]
    scale: Fraction = Fraction(1)


@dataclass(frozen=True)
class Body:
    """A sum in canonical form: ``lead`` times what ``key`` says of the axes in ``order``.

    ``terms`` counts its monomials.
    """

    key: Key
    order: tuple[int, ...]
    symmetries: tuple[Symmetry, ...]
    lead: Fraction
    terms: int

    @property
    def even(self) -> tuple[Symmetry, ...]:
        """The symmetries that keep the sign: those that a function of it has too."""
        return tuple(s for s in self.symmetries if s[1] == 1)


@dataclass
class AtomTable:
    """Numbers atoms by their keys."""

    atoms: list[Atom] = field(default_factory=list)
    numbers: dict[Key, int] = field(default_factory=dict)
    symmetries: dict[int, tuple[Symmetry, ...]] = field(default_factory=dict)
    orbits: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def intern(
        self,
        key: Key,
        kind: str,
        node: Node,
        order: Sequence[int],
        symmetries: Sequence[Symmetry] = (),
        *,
        scale: Fraction = Fraction(1),
        more: Mapping[str, Any] = MappingProxyType({}),
    ) -> Atom:
        """The atom of a key, made when it is new."""
        if key not in self.numbers:
            number = len(self.atoms)
            identity = (tuple(range(len(order))), 1)
            every = tuple(dict.fromkeys([identity, *symmetries]))
            self.numbers[key] = number
            self.atoms.append(Atom(number, kind, node, tuple(order), scale, every, **more))
            self.symmetries[number] = every
            self.orbits[number] = _orbits(len(order), every)
        return self.atoms[self.numbers[key]]


def _orbits(rank: int, symmetries: Sequence[Symmetry]) -> tuple[int, ...]:
    """For each axis the least axis that a symmetry takes it to."""
    found = list(range(rank))
    for axes, _ in symmetries:
        for k, a in enumerate(axes):
            joined = {found[k], found[a]}
            found = [min(joined) if f in joined else f for f in found]
    return tuple(found)
