"""One name for each way of writing a product under a sum: its labels numbered in a canonical order.

Colour refinement tells most labels apart by what they index; the rest is told by trying, each choice in turn, and
keeping the least result. Two labels whose exchange changes nothing are tried once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from energyc.analysis.budget import Budget

Key = tuple[Any, ...]
#: A permutation of an atom's axes that changes nothing but perhaps the sign.
Symmetry = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class Factor:
    """An atom with a label for each of its axes, to a power."""

    atom: int
    labels: tuple[int, ...]
    exponent: Fraction


@dataclass(frozen=True)
class Form:
    """A canonical key, the labels in its order, and the sign that the atoms' symmetries gave."""

    key: Key
    order: tuple[int, ...]
    sign: int


@dataclass(frozen=True)
class Labelling:
    """A product whose labels want numbers.

    Dims and free positions tell labels apart at first; ``symmetries`` say which axes of an atom may change places.
    """

    factors: Sequence[Factor]
    dims: Mapping[int, str]
    free: Mapping[int, Any]
    symmetries: Mapping[int, Sequence[Symmetry]]
    orbits: Mapping[int, Sequence[int]]
    budget: Budget

    def form(self) -> Form:
        """The canonical form. Raises OverBudget."""
        labels = sorted({a for f in self.factors for a in f.labels} | set(self.free))
        start = {a: (self.dims[a], repr(self.free[a]) if a in self.free else "") for a in labels}
        return self._least(_ranked(start))

    def _least(self, colours: dict[int, int]) -> Form:
        self.budget.spend()
        colours = self._refined(colours)
        cell = _first_shared(colours)
        if not cell:
            return self._leaf(colours)
        best: Form | None = None
        tried: list[int] = []
        for label in cell:
            if any(self._twins(label, other) for other in tried):
                continue
            tried.append(label)
            found = self._least({a: 2 * c + (c == colours[label] and a != label) for a, c in colours.items()})
            if best is None or found.key < best.key:
                best = found
        assert best is not None
        return best

    def _refined(self, colours: dict[int, int]) -> dict[int, int]:
        count = len(set(colours.values()))
        while count < len(colours):
            seen: dict[int, list[Key]] = {a: [] for a in colours}
            for f in self.factors:
                self._sign_factor(f, colours, seen)
            colours = _ranked({a: (colours[a], tuple(sorted(seen[a]))) for a in colours})
            if len(set(colours.values())) == count:
                break
            count = len(set(colours.values()))
        return colours

    def _sign_factor(self, f: Factor, colours: Mapping[int, int], seen: Mapping[int, list[Key]]) -> None:
        orbit = self.orbits[f.atom]
        whole = sorted((orbit[k], colours[a]) for k, a in enumerate(f.labels))
        for k, a in enumerate(f.labels):
            again = tuple(orbit[j] for j, b in enumerate(f.labels) if b == a and j != k)
            seen[a].append((f.atom, f.exponent, orbit[k], tuple(sorted(again)), tuple(whole)))

    def _twins(self, a: int, b: int) -> bool:
        if self.dims[a] != self.dims[b] or a in self.free or b in self.free:
            return False
        swap = {a: b, b: a}
        here = sorted(self._arranged(f, {})[0] for f in self.factors)
        there = sorted(self._arranged(f, swap)[0] for f in self.factors)
        return here == there

    def _arranged(self, f: Factor, names: Mapping[int, int]) -> tuple[Key, int]:
        """A factor under other names, its axes in the least of the orders that its symmetries allow."""
        labels = [names.get(a, a) for a in f.labels]
        arranged, sign = arranged_labels(labels, f.exponent, self.symmetries[f.atom])
        return (f.atom, f.exponent, arranged), sign

    def _leaf(self, colours: Mapping[int, int]) -> Form:
        order = tuple(sorted(colours, key=lambda a: colours[a]))
        rank = {a: k for k, a in enumerate(order)}
        arranged = [self._arranged(f, rank) for f in self.factors]
        sign = 1
        for _, s in arranged:
            sign *= s
        free = tuple(sorted((repr(name), rank[a]) for a, name in self.free.items()))
        return Form((tuple(sorted(k for k, _ in arranged)), tuple(self.dims[a] for a in order), free), order, sign)


def arranged_labels(
    labels: Sequence[int], exponent: Fraction, symmetries: Sequence[Symmetry]
) -> tuple[tuple[int, ...], int]:
    """The least order of a factor's labels that its symmetries allow, and the sign that this gives the factor.

    Under a fractional power a change of sign is no symmetry, under an even one it is none that shows.
    """
    whole = exponent.denominator == 1
    choices = [(tuple(labels[k] for k in axes), sign) for axes, sign in symmetries if whole or sign == 1]
    arranged, sign = min(choices, key=lambda c: (c[0], -c[1]))
    return arranged, sign if exponent.numerator % 2 else 1


def _ranked(colours: Mapping[int, Any]) -> dict[int, int]:
    ranks = {c: k for k, c in enumerate(sorted(set(colours.values())))}
    return {a: ranks[c] for a, c in colours.items()}


def _first_shared(colours: Mapping[int, int]) -> list[int]:
    cells: dict[int, list[int]] = {}
    for a, c in sorted(colours.items()):
        cells.setdefault(c, []).append(a)
    return next((cells[c] for c in sorted(cells) if len(cells[c]) > 1), [])
