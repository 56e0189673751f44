"""The sum of the terms that are not proved alone: what it is, which of them are gradients together, which decide."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from energyc.analysis.decide import decide_on_set
from energyc.analysis.problem import ForceField, field_of, linearise
from energyc.analysis.sampling import Array, Point, both_ways, directions, draw
from energyc.analysis.sizes import WORK, small_sizes, work
from energyc.analysis.surfaces import Surfaces
from energyc.analysis.verdict import Verdict
from energyc.ir import Input, Node

SEED = 20
#: With more terms no subsets are looked at; of those whose asymmetries cancel in numbers, so many are judged.
MOST_TERMS, MOST_JUDGED = 10, 12
POINTS = 3
CLOSE = 1e-9


@dataclass(frozen=True)
class Part:
    """Some of the terms, and the verdict on their sum."""

    terms: tuple[str, ...]
    verdict: Verdict


@dataclass(frozen=True)
class Together:
    """The sum of ``terms``, each of them not proved alone.

    ``parts`` are sets of them, no two with a term in common, whose sums are proved to be gradients. ``deciding`` are
    those on which the verdict rests: without them all that is left would be proved.
    """

    terms: tuple[str, ...]
    verdict: Verdict
    parts: tuple[Part, ...] = ()
    deciding: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sums:
    """What sums are made of: each term's force, and the verdict on it alone; ``share`` is the time for one more."""

    base: ForceField
    surfaces: Surfaces
    forces: Mapping[str, Mapping[Input, Node]]
    alone: Mapping[str, Verdict]
    share: Callable[[], float]

    def judge(self, names: Sequence[str]) -> Verdict:
        """The verdict on the sum of some terms."""
        if len(names) == 1:
            return self.alone[names[0]]
        parts = [(state, node) for name in names for state, node in self.forces[name].items()]
        return decide_on_set(field_of(self.base, parts), self.surfaces, np.random.default_rng(SEED), self.share())


def judge_together(sums: Sums, names: tuple[str, ...]) -> Together | None:
    """The verdict on the sum of all terms that are not proved; None where there are none."""
    if not names:
        return None
    verdict = sums.judge(names)
    if verdict.kind == "conservative":
        return Together(names, verdict)
    parts = proved_parts(sums, names)
    left = tuple(n for n in names if all(n not in part.terms for part in parts))
    if not left and verdict.kind == "undecided":
        return Together(names, _of_parts(sums.base, parts, verdict), parts)
    return Together(names, verdict, parts, _deciding(sums, verdict, left or names))


def _of_parts(base: ForceField, parts: Sequence[Part], verdict: Verdict) -> Verdict:
    """What is a sum of gradients, though it was too large to be proved at once, is a gradient."""
    potentials = [part.verdict.potential for part in parts]
    found = [node for node in potentials if node is not None]
    potential = base.graph.plus(*found) if len(found) == len(parts) else None
    return Verdict("conservative", "proof", potential=potential, tried=(*verdict.tried, "then it was proved in parts"))


def _deciding(sums: Sums, verdict: Verdict, left: tuple[str, ...]) -> tuple[str, ...]:
    """Of what no proof covers: the refuted terms where their sum is refuted, else all."""
    refuted = tuple(n for n in left if sums.alone[n].kind == "not-conservative")
    if verdict.kind == "undecided" or not refuted or refuted == left:
        return left
    return refuted if sums.judge(refuted).kind == "not-conservative" else left


def proved_parts(sums: Sums, names: Sequence[str]) -> tuple[Part, ...]:
    """Sets of at least two terms, without a term in common and not all, that are gradients together; small ones first.

    Only sets whose asymmetries cancel in numbers are judged.
    """
    asymmetries = _asymmetries(sums, names) if 2 < len(names) <= MOST_TERMS else None
    if asymmetries is None:
        return ()
    found: list[Part] = []
    taken: set[str] = set()
    judged = 0
    for subset in (s for size in range(2, len(names)) for s in combinations(names, size)):
        if judged < MOST_JUDGED and not taken & set(subset) and _cancel([asymmetries[name] for name in subset]):
            judged += 1
            verdict = sums.judge(subset)
            if verdict.kind == "conservative":
                found.append(Part(subset, verdict))
                taken.update(subset)
    return tuple(found)


def _cancel(asymmetries: Sequence[Array]) -> bool:
    """Whether ``a . J b - b . J a`` is zero, for the sum of the terms, at every point."""
    total = np.sum(asymmetries, axis=0)
    return bool(np.all(np.abs(total[:, 0]) <= CLOSE * total[:, 1]))


def _asymmetries(sums: Sums, names: Sequence[str]) -> dict[str, Array] | None:
    """For each term, at common points, ``a . J b - b . J a`` and the size of both; None where that is not to be had."""
    generator = np.random.default_rng(SEED)
    fields = {name: sums.base.with_force(sums.forces[name]) for name in names}
    linear = {name: linearise(field) for name, field in fields.items()}
    moved = [node for one in linear.values() for node in one.moved]
    sizes = small_sizes(moved, sums.base.sizes)
    if work(moved, sizes) > WORK:
        return None
    rows: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for _ in range(POINTS):
        point: Point = {node: x for field in fields.values() for node, x in draw(field, sizes, generator).items()}
        ways = directions(sums.base, sizes, generator)
        for name in names:
            forward, backward = both_ways(linear[name], point, ways, sizes)
            rows[name].append((forward - backward, abs(forward) + abs(backward) + 1e-12))
    found = {name: np.array(values) for name, values in rows.items()}
    return found if all(np.all(np.isfinite(values)) for values in found.values()) else None
