"""Atoms: the indivisible factors of a product, numbered so that every way of writing one gives the same number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from energyc.mathematics.ir import IndexExpr, Node
from energyc.proofs.normal_form.canonical import Factor, Symmetry

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Atom:
    """A tensor: a node divided by ``scale``, its axes taken in ``order`` (axis k is the node's axis ``order[k]``).

    For a softmax, ``reduced`` are the axes along which it sums to one and ``guard`` is the condition on its axes; for
    an indicator, ``guard`` is the condition itself. ``argument`` is the key of a scalar function's argument, and
    ``base`` that argument as a factor, labelled by the atom's axes, if it is a single atom.
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
    """A node as a multiple of an atom: ``scale`` times it, where atom axis k is the node's axis ``order[k]``."""

    atom: Atom
    order: tuple[int, ...]
    scale: Fraction = Fraction(1)


@dataclass(frozen=True)
class Body:
    """A sum in canonical form: ``lead`` times the sum with key ``key``, its axes in ``order``.

    ``terms`` is the number of its monomials.
    """

    key: Key
    order: tuple[int, ...]
    symmetries: tuple[Symmetry, ...]
    lead: Fraction
    terms: int

    @property
    def even(self) -> tuple[Symmetry, ...]:
        """The symmetries that keep the sign, which any function of the sum shares."""
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
        """The atom with a key, created on first use."""
        if key not in self.numbers:
            number = len(self.atoms)
            identity = (tuple(range(len(order))), 1)
            all_symmetries = tuple(dict.fromkeys([identity, *symmetries]))
            self.numbers[key] = number
            self.atoms.append(Atom(number, kind, node, tuple(order), scale, all_symmetries, **more))
            self.symmetries[number] = all_symmetries
            self.orbits[number] = _orbits(len(order), all_symmetries)
        return self.atoms[self.numbers[key]]


def _orbits(rank: int, symmetries: Sequence[Symmetry]) -> tuple[int, ...]:
    """For each axis, the least axis in its orbit."""
    representatives = list(range(rank))
    for axes, _ in symmetries:
        for k, a in enumerate(axes):
            pair = {representatives[k], representatives[a]}
            representatives = [min(pair) if f in pair else f for f in representatives]
    return tuple(representatives)
