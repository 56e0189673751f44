"""Refutes a gradient by work: finds a closed polygon around which the force does nonzero work.

Polygons are drawn in random planes, at several scales, around the origin, random points and points of every singular
set, so that they encircle holes and cross kinks, jumps and poles.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from energyc.mathematics.ir import Input
from energyc.proofs.conservativeness.confirmation import confirmed_work
from energyc.proofs.conservativeness.quadrature import work_round
from energyc.proofs.conservativeness.verdict import LoopWitness
from energyc.proofs.fields.instances import settable, used_dims
from energyc.proofs.fields.local_field import LocalField
from energyc.proofs.fields.problem import ForceField, fork, transparent
from energyc.proofs.fields.sampling import Array, draw, in_floats
from energyc.proofs.fields.singular import singularities, zeros
from energyc.proofs.fields.sizes import WORK, work

RADII = (0.25, 1.0, 4.0, 16.0, 64.0)
CORNERS = 6
#: The number of force evaluations with which the quadrature of a polygon begins.
EVALUATIONS = 450
#: The most singular sets around which polygons are drawn.
MOST_SINGULAR = 8


@dataclass(frozen=True)
class Circulation:
    """A loop with nonzero work, or None; ``measured_count`` is the number of polygons whose work is known."""

    witness: LoopWitness | None
    measured_count: int

    def __str__(self) -> str:
        return f"no work round {self.measured_count} closed loops"


def find_circulation(
    field: ForceField, sizes: Sequence[Mapping[str, int]], generator: np.random.Generator, centres: int = 3
) -> Circulation:
    """Search for a loop with nonzero work, at each of the given sizes whose cost allows it."""
    field = without_stops(field)
    measured_count = 0
    for size in sizes:
        around = LocalField(field, size, draw(field, size, generator))
        affordable = int(WORK / (EVALUATIONS * work(field.roots, size)))
        if around.length < 2 or not affordable:
            continue
        polygons = list(_polygons(around, generator, centres))
        polygons = [polygons[k] for k in generator.permutation(len(polygons))[:affordable]]
        found = work_round(polygons, around.forces)
        measured_count += int(np.sum(found.is_reliable))
        for k in np.argsort(-np.abs(found.total) / np.maximum(found.size, 1e-300)):
            if not found.is_nonzero[k]:
                continue
            polygon, total = polygons[int(k)], float(found.total[k])
            confirmed = confirmed_work(around, polygon, total)
            if confirmed is not None:
                return Circulation(_witness(around, polygon, *confirmed), measured_count)
    return Circulation(None, measured_count)


def without_stops(field: ForceField) -> ForceField:
    """The field without ``frozen`` and ``detach``, over a graph of its own."""
    graph = fork(field.graph)
    force = {state: transparent(graph, node) for state, node in field.force.items()}
    return replace(field, graph=graph, force=force)


def _polygons(around: LocalField, generator: np.random.Generator, centres: int) -> Iterator[Array]:
    """Polygons around the origin, random points and points of singular sets, within the ranges of the states."""
    singular = singularities(around.field.graph, around.field.roots, around.field.states)[:MOST_SINGULAR]
    centres_on_zeros = [v for s in singular for v in zeros(around, s.argument, generator)[:4]]
    drawn = [4.0**k * generator.standard_normal(around.length) for k in range(centres - 1)]
    for centre in [np.zeros(around.length), *drawn, *centres_on_zeros]:
        for radius in RADII:
            polygon = around.inside(_polygon(around.inside(centre), radius, generator))
            if np.all(np.isfinite(polygon)) and np.ptp(polygon, axis=0).max() > 0:
                yield polygon


def _polygon(centre: Array, radius: float, generator: np.random.Generator) -> Array:
    """Corners near a circle in a random plane, as short binary fractions."""
    plane, _ = np.linalg.qr(generator.standard_normal((len(centre), 2)))
    angles = 2 * np.pi * (np.arange(CORNERS) + generator.uniform(0, 0.8, CORNERS)) / CORNERS
    corners = centre + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1) @ plane.T
    grain = radius / 64
    return np.round(corners / grain) * grain


def _witness(around: LocalField, polygon: Array, total: float, error: float) -> LoopWitness:
    field = around.field
    used = used_dims([*field.roots, *field.inputs])
    dims = settable(field.formulas, around.sizes)
    others = [
        (node.name, in_floats(np.asarray(value)).tolist())
        for node, value in around.point.items()
        if _is_held(field, node)
    ]
    return LoopWitness(
        total,
        error,
        tuple(_corner_values(around, vector) for vector in polygon),
        tuple((d, n) for d, n in around.sizes.items() if d in used),
        tuple(others),
        None if dims is None else tuple(dims.items()),
    )


def _is_held(field: ForceField, node: Input) -> bool:
    return node not in field.states


def _corner_values(around: LocalField, vector: Array) -> tuple[tuple[str, object], ...]:
    """The values of the states in a vector, by name, as nested lists."""
    return tuple((state.name, value.tolist()) for state, value in around.states_of(vector).items())
