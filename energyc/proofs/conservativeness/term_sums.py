"""Classifies the sum of the terms that are not proved individually: its proved parts, and the terms that decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from energyc.mathematics.ir import Input, Node
from energyc.proofs.conservativeness.certified import Symmetries
from energyc.proofs.conservativeness.decide import decide, decide_on_set
from energyc.proofs.conservativeness.verdict import Verdict
from energyc.proofs.fields.problem import ForceField, field_of, linearise
from energyc.proofs.fields.sampling import Array, Point, both_ways, directions, draw
from energyc.proofs.fields.sizes import WORK, small_sizes, work
from energyc.proofs.fields.surfaces import Surfaces

SEED = 20
#: The most terms whose subsets are examined, and the most subsets judged after their asymmetries cancel numerically.
MOST_TERMS, MOST_JUDGED = 10, 12
POINTS = 3
CLOSE = 1e-9


@dataclass(frozen=True)
class Part:
    """A subset of the terms, and the verdict on their sum."""

    terms: tuple[str, ...]
    verdict: Verdict


@dataclass(frozen=True)
class TermSum:
    """The sum of ``terms``, none of which is proved individually.

    ``parts`` are disjoint subsets whose sums are proved to be gradients. ``deciding`` are the terms that determine the
    verdict: without them the rest would be proved.
    """

    terms: tuple[str, ...]
    verdict: Verdict
    parts: tuple[Part, ...] = ()
    deciding: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sums:
    """The force of each term and the verdict on it ``alone``; the ``kernel`` proves what is shown of sums."""

    base: ForceField
    surfaces: Surfaces
    forces: Mapping[str, Mapping[Input, Node]]
    alone: Mapping[str, Verdict]
    kernel: Symmetries

    def judge(self, names: Sequence[str]) -> Verdict:
        """The verdict on the sum of the named terms."""
        if len(names) == 1:
            return self.alone[names[0]]
        parts = [(state, node) for name in names for state, node in self.forces[name].items()]
        whole, generator = field_of(self.base, parts), np.random.default_rng(SEED)
        energies = [self.alone[name].potential for name in names]
        known = [energy for energy in energies if energy is not None]
        if len(known) == len(names):  # energies that jump
            return decide(whole, generator, energy=self.base.graph.plus(*known))
        return decide_on_set(whole, self.surfaces, generator, self.kernel.symmetric(names))


def classify_sum(sums: Sums, names: tuple[str, ...]) -> TermSum | None:
    """The verdict on the sum of the named unproved terms, None if there are none."""
    if not names:
        return None
    verdict = sums.judge(names)
    if verdict.kind == "conservative":
        return TermSum(names, verdict)
    parts = proved_parts(sums, names)
    remaining = tuple(n for n in names if all(n not in part.terms for part in parts))
    return TermSum(names, verdict, parts, _deciding(sums, verdict, remaining or names))


def _deciding(sums: Sums, verdict: Verdict, candidates: tuple[str, ...]) -> tuple[str, ...]:
    """The deciding terms among those no part covers: the refuted ones if their sum is refuted, otherwise all."""
    refuted = tuple(n for n in candidates if sums.alone[n].kind == "not-conservative")
    if verdict.kind == "undecided" or not refuted or refuted == candidates:
        return candidates
    return refuted if sums.judge(refuted).kind == "not-conservative" else candidates


def proved_parts(sums: Sums, names: Sequence[str]) -> tuple[Part, ...]:
    """Disjoint proper subsets of at least two terms whose sums are gradients, smallest first.

    Only subsets whose asymmetries cancel numerically are judged.
    """
    asymmetries = _asymmetries(sums, names) if 2 < len(names) <= MOST_TERMS else None
    if asymmetries is None:
        return ()
    parts: list[Part] = []
    taken: set[str] = set()
    judged_count = 0
    for subset in (s for size in range(2, len(names)) for s in combinations(names, size)):
        if (
            judged_count < MOST_JUDGED
            and not taken & set(subset)
            and _asymmetries_cancel([asymmetries[name] for name in subset])
        ):
            judged_count += 1
            verdict = sums.judge(subset)
            if verdict.kind == "conservative":
                parts.append(Part(subset, verdict))
                taken.update(subset)
    return tuple(parts)


def _asymmetries_cancel(asymmetries: Sequence[Array]) -> bool:
    """Whether ``a . J b - b . J a`` vanishes for the sum of the terms at every point."""
    total = np.sum(asymmetries, axis=0)
    return bool(np.all(np.abs(total[:, 0]) <= CLOSE * total[:, 1]))


def _asymmetries(sums: Sums, names: Sequence[str]) -> dict[str, Array] | None:
    """For each term, ``a . J b - b . J a`` and its scale at common points; None if too costly or not finite."""
    generator = np.random.default_rng(SEED)
    fields = {name: sums.base.with_force(sums.forces[name]) for name in names}
    linear = {name: linearise(field) for name, field in fields.items()}
    moved = [node for linearised in linear.values() for node in linearised.moved]
    sizes = small_sizes(moved, sums.base.sizes, structures=sums.base.structure)
    if work(moved, sizes) > WORK:
        return None
    rows: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for _ in range(POINTS):
        point: Point = {node: x for field in fields.values() for node, x in draw(field, sizes, generator).items()}
        ways = directions(sums.base, sizes, generator)
        for name in names:
            forward, backward = both_ways(linear[name], point, ways, sizes)
            rows[name].append((forward - backward, abs(forward) + abs(backward) + 1e-12))
    asymmetries = {name: np.array(values) for name, values in rows.items()}
    return asymmetries if all(np.all(np.isfinite(values)) for values in asymmetries.values()) else None
