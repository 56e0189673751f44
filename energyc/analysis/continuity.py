"""Whether an energy jumps where a function in it has a kink, a jump or a pole: looked at across the zeros, closely."""

from __future__ import annotations

import numpy as np

from energyc.analysis.domain import jumps
from energyc.analysis.problem import ForceField
from energyc.analysis.sampling import Array, draw
from energyc.analysis.singular import Singularity, Surroundings, crossings, singularities
from energyc.analysis.sizes import WORK, small_sizes, work
from energyc.ir import Node

#: How far from a zero the energy is compared on both sides, in shares of where the zero is.
NEAR, NEARER = 2.0**-12, 2.0**-20
#: A difference below this share of the energy is rounding.
LEAST = 1e-8
LINES = 48


def discontinuities(field: ForceField, energy: Node, generator: np.random.Generator) -> list[str]:
    """Where an energy was seen to jump, or may; empty where it is continuous as far as it was looked at."""
    found = singularities(field.graph, [energy], field.states)
    sizes = small_sizes([energy, *field.roots], field.sizes)
    if not found:
        return jumps([energy], field.states, besides_steps=True)
    if work([energy], sizes) * LINES * 40 > 10 * WORK:
        return ["the energy is too large to be looked at for jumps"]
    around = Surroundings(field, sizes, draw(field, sizes, generator))
    seen = [f"the energy jumps at a {one.kind}" for one in found if _jumps_at(around, energy, one, generator)]
    return [*dict.fromkeys(seen), *jumps([energy], field.states, besides_steps=True)]


def _jumps_at(around: Surroundings, energy: Node, one: Singularity, generator: np.random.Generator) -> bool:
    """Whether the energy has two finite limits somewhere on the zeros of an argument.

    A continuous one closes the gap as the zero is approached; one that is infinite there has no limits.
    """
    places, directions = crossings(around, one.argument, generator, LINES)
    if not len(places):
        return False
    lengths = np.maximum(np.linalg.norm(places, axis=1, keepdims=True), 1.0)
    gaps, levels = [], []
    for step in (NEAR, NEARER):
        before, after = (_levels(around, energy, places + sign * step * lengths * directions) for sign in (-1, 1))
        gaps.append(np.abs(after - before))
        levels.append(np.maximum(np.abs(after), np.abs(before)))
    finite = np.isfinite(gaps[1]) & (levels[1] <= 4 * levels[0])
    return bool(np.any(finite & (gaps[1] > 0.5 * gaps[0]) & (gaps[1] > LEAST * levels[1])))


def _levels(around: Surroundings, energy: Node, vectors: Array) -> Array:
    return around.values([energy], around.inside(vectors))[0][:, 0]
