"""Detects jumps of an energy at the kinks, jumps and poles of its functions, by comparing values across the zeros."""

from __future__ import annotations

import numpy as np

from energyc.mathematics.ir import Input, Node, walk
from energyc.proofs.fields.domain import jumps
from energyc.proofs.fields.local_field import LocalField
from energyc.proofs.fields.problem import ForceField
from energyc.proofs.fields.sampling import Array, draw, draw_value
from energyc.proofs.fields.singular import Singularity, crossings, singularities
from energyc.proofs.fields.sizes import WORK, small_sizes, work

#: Distances from a zero at which the two sides are compared, relative to the norm of the zero.
NEAR, NEARER = 2.0**-12, 2.0**-20
#: A difference below this share of the energy is rounding.
LEAST = 1e-8
LINES = 48


def discontinuities(field: ForceField, energy: Node, generator: np.random.Generator) -> list[str]:
    """The places where an energy jumps or may jump; empty if no jump was found."""
    singular = singularities(field.graph, [energy], field.states)
    sizes = small_sizes([energy, *field.roots], field.sizes, structures=field.structure)
    if not singular:
        return jumps([energy], field.states, besides_steps=True)
    if work([energy], sizes) * LINES * 40 > 10 * WORK:
        return ["the energy is too large to be looked at for jumps"]
    point = draw(field, sizes, generator)
    for node in walk([energy]):  # the force need not read all that the energy reads
        if isinstance(node, Input) and node not in point:
            point[node] = draw_value(node, field.ranges.get(node, (None, None)), sizes, generator)
    around = LocalField(field, sizes, point)
    observed = [f"the energy jumps at a {s.kind}" for s in singular if _jumps_at(around, energy, s, generator)]
    return [*dict.fromkeys(observed), *jumps([energy], field.states, besides_steps=True)]


def _jumps_at(around: LocalField, energy: Node, singularity: Singularity, generator: np.random.Generator) -> bool:
    """Whether the energy has two finite limits somewhere on the zeros of an argument.

    If the energy is continuous the gap closes as the zero is approached; if it is infinite there are no limits.
    """
    places, directions = crossings(around, singularity.argument, generator, LINES)
    if not len(places):
        return False
    lengths = np.maximum(np.linalg.norm(places, axis=1, keepdims=True), 1.0)
    gaps, levels = [], []
    for step in (NEAR, NEARER):
        before, after = (_levels(around, energy, places + sign * step * lengths * directions) for sign in (-1, 1))
        with np.errstate(invalid="ignore"):  # infinite on both sides
            gaps.append(np.abs(after - before))
        levels.append(np.maximum(np.abs(after), np.abs(before)))
    finite = np.isfinite(gaps[1]) & (levels[1] <= 4 * levels[0])
    return bool(np.any(finite & (gaps[1] > 0.5 * gaps[0]) & (gaps[1] > LEAST * levels[1])))


def _levels(around: LocalField, energy: Node, vectors: Array) -> Array:
    return around.values([energy], around.inside(vectors))[0][:, 0]
