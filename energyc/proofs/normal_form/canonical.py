"""A canonical form for products under a sum: a numbering of the labels that does not depend on their names.

Colour refinement distinguishes most labels by what they index. The rest are individualised one at a time, and the
least result is the canonical form; of labels whose exchange changes nothing, only one is tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from energyc.proofs.normal_form.budget import Budget

Key = tuple[Any, ...]
#: A permutation of an atom's axes that leaves it unchanged up to a sign, and that sign.
Symmetry = tuple[tuple[int, ...], int]


@dataclass(frozen=True)
class Factor:
    """An atom with a label for each of its axes, raised to a power."""

    atom: int
    labels: tuple[int, ...]
    exponent: Fraction


@dataclass(frozen=True)
class Form:
    """A canonical key, the labels in canonical order, and the sign from the atoms' symmetries."""

    key: Key
    order: tuple[int, ...]
    sign: int


@dataclass(frozen=True)
class Labelling:
    """A product whose labels are to be numbered canonically.

    The initial colours are dims and free positions; ``symmetries`` and ``orbits`` describe each atom's axes.
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
        return self._search(_ranked(start))

    def _search(self, colours: dict[int, int]) -> Form:
        self.budget.spend()
        colours = self._refined(colours)
        cell = _first_ambiguous_cell(colours)
        if not cell:
            return self._leaf(colours)
        best: Form | None = None
        tried: list[int] = []
        for label in cell:
            if any(self._twins(label, other) for other in tried):
                continue
            tried.append(label)
            candidate = self._search({a: 2 * c + (c == colours[label] and a != label) for a, c in colours.items()})
            if best is None or candidate.key < best.key:
                best = candidate
        assert best is not None
        return best

    def _refined(self, colours: dict[int, int]) -> dict[int, int]:
        count = len(set(colours.values()))
        while count < len(colours):
            seen: dict[int, list[Key]] = {a: [] for a in colours}
            for f in self.factors:
                self._add_signatures(f, colours, seen)
            colours = _ranked({a: (colours[a], tuple(sorted(seen[a]))) for a in colours})
            if len(set(colours.values())) == count:
                break
            count = len(set(colours.values()))
        return colours

    def _add_signatures(self, f: Factor, colours: Mapping[int, int], seen: Mapping[int, list[Key]]) -> None:
        orbit = self.orbits[f.atom]
        signature = sorted((orbit[k], colours[a]) for k, a in enumerate(f.labels))
        for k, a in enumerate(f.labels):
            repeats = tuple(orbit[j] for j, b in enumerate(f.labels) if b == a and j != k)
            seen[a].append((f.atom, f.exponent, orbit[k], tuple(sorted(repeats)), tuple(signature)))

    def _twins(self, a: int, b: int) -> bool:
        if self.dims[a] != self.dims[b] or a in self.free or b in self.free:
            return False
        swap = {a: b, b: a}
        here = sorted(self._arranged(f, {})[0] for f in self.factors)
        there = sorted(self._arranged(f, swap)[0] for f in self.factors)
        return here == there

    def _arranged(self, f: Factor, names: Mapping[int, int]) -> tuple[Key, int]:
        """A factor with its labels renamed, its axes in the least order that its symmetries allow."""
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
    """The least order of a factor's labels that its symmetries allow, and the resulting sign of the factor.

    A change of sign is not a symmetry under a fractional power, and has no effect under an even one.
    """
    integral = exponent.denominator == 1
    choices = [(tuple(labels[k] for k in axes), sign) for axes, sign in symmetries if integral or sign == 1]
    arranged, sign = min(choices, key=lambda c: (c[0], -c[1]))
    return arranged, sign if exponent.numerator % 2 else 1


def _ranked(colours: Mapping[int, Any]) -> dict[int, int]:
    ranks = {c: k for k, c in enumerate(sorted(set(colours.values())))}
    return {a: ranks[c] for a, c in colours.items()}


def _first_ambiguous_cell(colours: Mapping[int, int]) -> list[int]:
    cells: dict[int, list[int]] = {}
    for a, c in sorted(colours.items()):
        cells.setdefault(c, []).append(a)
    return next((cells[c] for c in sorted(cells) if len(cells[c]) > 1), [])
