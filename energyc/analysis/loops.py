"""Refutes a gradient by work: finds a closed polygon around which the force does nonzero work.

Polygons are drawn in random planes, at several scales, around the origin, random points and points of every singular
set, so that they encircle holes and cross kinks, jumps and poles. A second quadrature must confirm the work, on
intervals that begin at every zero of a function's argument and are graded towards it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from energyc.analysis.exact import Evaluation
from energyc.analysis.instances import settable, used_dims
from energyc.analysis.multiprecision import Multiprecision
from energyc.analysis.problem import ForceField, fork, transparent
from energyc.analysis.quadrature import Work, work_round
from energyc.analysis.sampling import Array, draw
from energyc.analysis.singular import arguments, singularities, zeros
from energyc.analysis.sizes import WORK, work
from energyc.analysis.surroundings import Surroundings
from energyc.analysis.verdict import LoopWitness
from energyc.ir import Input, Node

RADII = (0.25, 1.0, 4.0, 16.0, 64.0)
CORNERS = 6
#: The number of force evaluations with which the quadrature of a polygon begins.
EVALUATIONS = 450
#: Work counts as zero below this fraction of the integral of its absolute value.
LEAST = 1e-6
#: The tolerance between the two quadratures, as a fraction of the same integral.
AGREEMENT = 1e-8
#: The most singular sets around which polygons are drawn.
MOST_SINGULAR = 8
#: The most force evaluations in one batch.
CHUNK = 512
GRADES = 28
#: Where the second quadrature cuts edges, away from the cuts of the first.
OTHER_CUTS = (0.2837465, 0.5527864, 0.7938327)


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
        around = Surroundings(field, size, draw(field, size, generator))
        affordable = int(WORK / (EVALUATIONS * work(field.roots, size)))
        if around.length < 2 or not affordable:
            continue
        polygons = list(_polygons(around, generator, centres))
        polygons = [polygons[k] for k in generator.permutation(len(polygons))[:affordable]]
        work_of_polygons = work_round(polygons, _force_in_chunks(around))
        measured_count += int(np.sum(_is_reliable(work_of_polygons)))
        for k in np.argsort(-np.abs(work_of_polygons.total) / np.maximum(work_of_polygons.size, 1e-300)):
            if _is_nonzero(work_of_polygons, int(k)) and (
                witness := _confirmed(around, polygons[int(k)], float(work_of_polygons.total[k]))
            ):
                return Circulation(witness, measured_count)
    return Circulation(None, measured_count)


def without_stops(field: ForceField) -> ForceField:
    """The field without ``frozen`` and ``detach``, over a graph of its own."""
    graph = fork(field.graph)
    force = {state: transparent(graph, node) for state, node in field.force.items()}
    return replace(field, graph=graph, force=force)


def _force_in_chunks(around: Surroundings):  # type: ignore[no-untyped-def]
    def field(vectors: Array) -> Array:
        return np.concatenate([around.forces(vectors[k : k + CHUNK]) for k in range(0, len(vectors), CHUNK)])

    return field


def _polygons(around: Surroundings, generator: np.random.Generator, centres: int) -> Iterator[Array]:
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


def _is_reliable(measured: Work) -> Array:
    return measured.error <= AGREEMENT * np.maximum(measured.size, 1e-300)


def _is_nonzero(measured: Work, k: int) -> bool:
    return (
        bool(_is_reliable(measured)[k])
        and abs(measured.total[k]) > LEAST * measured.size[k]
        and measured.size[k] > LEAST
    )


def _confirmed(around: Surroundings, polygon: Array, total: float) -> LoopWitness | None:
    """The witness, if a second quadrature that is cut at the zeros of arguments finds the same work."""
    corners = _with_breaks(around, polygon)
    measured = work_round([corners], _force_in_chunks(around), OTHER_CUTS)
    if not _is_nonzero(measured, 0) or abs(measured.total[0] - total) > 10 * AGREEMENT * measured.size[0]:
        return None
    if not _floats_suffice(around, polygon, abs(total) / measured.size[0]):
        return None
    return _witness(around, polygon, float(measured.total[0]), float(measured.error[0]))


def _floats_suffice(around: Surroundings, polygon: Array, share: float) -> bool:
    """Whether floats and multiprecision agree on the force along the polygon, relative to the share of the work.

    Floats are trusted where a function has no multiprecision rule or a point no value.
    """
    field = around.field
    exact = {**field.fractions, **{dim: Fraction(size) for dim, size in around.sizes.items()}}
    arithmetic = Multiprecision({**field.values, **around.sizes}, exact)
    for vector in (2 * polygon + np.roll(polygon, -1, axis=0))[:3] / 3:
        point = {**around.point, **around.states_of(vector)}
        try:
            evaluation = Evaluation(field.graph, arithmetic, around.sizes, point)
            values = [np.ravel(evaluation(root)).astype(float) for root in field.roots]
        except ArithmeticError:
            continue
        floats, largest = around.forces(vector[None])[0], max(float(np.max(np.abs(v), initial=0.0)) for v in values)
        if not np.max(np.abs(np.concatenate(values) - floats)) <= 0.01 * share * largest:
            return False
    return True


def _with_breaks(around: Surroundings, polygon: Array) -> Array:
    """The polygon with extra corners on its edges: at the zeros of arguments, and graded towards them."""
    functions = arguments(around.field)
    corners = []
    for start, end in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        cuts = _interval_starts(around, functions, start, end)
        corners.append(start + np.outer(cuts, end - start))
    return np.concatenate(corners)


def _interval_starts(around: Surroundings, functions: Sequence[Node], start: Array, end: Array) -> Array:
    """The starts of intervals on an edge, in [0, 1), graded towards its ends and towards zeros of arguments."""
    grid, steps = np.linspace(0, 1, 65), 2.0 ** -np.arange(3, GRADES, 2)
    cuts = {0.0, *steps.tolist(), *(1 - steps).tolist()}
    if functions:
        values = np.concatenate(around.values(functions, start + np.outer(grid, end - start)), axis=1)
        turns = np.unique(np.argwhere((values[:-1] > 0) != (values[1:] > 0))[:, 0])
        for k in turns[:12]:
            column = int(np.argmax((values[k] > 0) != (values[k + 1] > 0)))
            cut = _zero_between(around, functions, column, start, end, float(grid[k]), float(grid[k + 1]))
            cuts.update(float(t) for t in [cut, *(cut - steps), *(cut + steps)] if 0 < t < 1)
    return np.array(sorted(cuts))


def _zero_between(
    around: Surroundings, functions: Sequence[Node], column: int, start: Array, end: Array, low: float, high: float
) -> float:
    """The place between two others where an argument changes sign, to float precision."""
    for _ in range(16):
        places = np.linspace(low, high, 17)
        values = np.concatenate(around.values(functions, start + np.outer(places, end - start)), axis=1)[:, column]
        turn = int(np.argmax((values[:-1] > 0) != (values[1:] > 0)))
        low, high = float(places[turn]), float(places[turn + 1])
    return (low + high) / 2


def _witness(around: Surroundings, polygon: Array, total: float, error: float) -> LoopWitness:
    field = around.field
    used = used_dims([*field.roots, *field.inputs])
    dims = settable(field.formulas, around.sizes)
    others = [(node.name, np.asarray(value).tolist()) for node, value in around.point.items() if _is_held(field, node)]
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


def _corner_values(around: Surroundings, vector: Array) -> tuple[tuple[str, object], ...]:
    """The values of the states in a vector, by name, as nested lists."""
    return tuple((state.name, value.tolist()) for state, value in around.states_of(vector).items())
