"""Refutes by work: a closed polygon round which the force does work, which no gradient does.

Polygons are drawn in random planes, at several scales, round the origin, round random points and round points of every
singular set, so that they encircle holes and cross kinks, jumps and poles. What one quadrature finds a second one must
find again, on intervals that begin at every zero of a function's argument and are graded towards it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from energyc.analysis.exact import Evaluation
from energyc.analysis.instances import settable, used_dims
from energyc.analysis.multiprecision import Multiprecision
from energyc.analysis.problem import ForceField, fork, transparent
from energyc.analysis.quadrature import Work, work_round
from energyc.analysis.sampling import Array, draw
from energyc.analysis.singular import Surroundings, arguments, singularities, zeros
from energyc.analysis.sizes import WORK, work
from energyc.analysis.verdict import LoopWitness
from energyc.ir import Input, Node

RADII = (0.25, 1.0, 4.0, 16.0, 64.0)
CORNERS = 6
#: How many forces the quadrature of a polygon begins with.
EVALUATIONS = 450
#: Work below this share of what the force does along the polygon, signs aside, is no work.
LEAST = 1e-6
#: How far the two quadratures may be apart, in that share.
AGREEMENT = 1e-8
#: Of how many arguments with zeros the neighbourhoods are visited.
MOST_SINGULAR = 8
#: Entries of a force, times polygons, that are evaluated at once.
CHUNK = 512
GRADES = 28
#: Where the second quadrature cuts edges: nowhere near the first one.
OTHER_CUTS = (0.2837465, 0.5527864, 0.7938327)


@dataclass(frozen=True)
class Circulation:
    """A loop with work, or None; ``looked_at`` counts the polygons whose work is known."""

    witness: LoopWitness | None
    looked_at: int

    def __str__(self) -> str:
        return f"no work round {self.looked_at} closed loops"


def find_circulation(
    field: ForceField, sizes: Sequence[Mapping[str, int]], generator: np.random.Generator, centres: int = 3
) -> Circulation:
    """Looks for a loop with work, at each of some sizes whose cost allows it."""
    field = without_stops(field)
    looked_at = 0
    for size in sizes:
        around = Surroundings(field, size, draw(field, size, generator))
        affordable = int(WORK / (EVALUATIONS * work(field.roots, size)))
        if around.length < 2 or not affordable:
            continue
        polygons = list(_polygons(around, generator, centres))
        polygons = [polygons[k] for k in generator.permutation(len(polygons))[:affordable]]
        found = work_round(polygons, _chunked(around))
        looked_at += int(np.sum(_reliable(found)))
        for k in np.argsort(-np.abs(found.total) / np.maximum(found.size, 1e-300)):
            if _clear(found, int(k)) and (witness := _confirmed(around, polygons[int(k)], float(found.total[k]))):
                return Circulation(witness, looked_at)
    return Circulation(None, looked_at)


def without_stops(field: ForceField) -> ForceField:
    """The field with nothing frozen or detached, over a graph of its own."""
    graph = fork(field.graph)
    force = {state: transparent(graph, node) for state, node in field.force.items()}
    return ForceField(
        graph,
        field.states,
        force,
        field.sizes,
        field.values,
        field.ranges,
        field.symmetric,
        field.fractions,
        field.formulas,
    )


def _chunked(around: Surroundings):  # type: ignore[no-untyped-def]
    def field(vectors: Array) -> Array:
        return np.concatenate([around.forces(vectors[k : k + CHUNK]) for k in range(0, len(vectors), CHUNK)])

    return field


def _polygons(around: Surroundings, generator: np.random.Generator, centres: int) -> Iterator[Array]:
    """Round the origin, random points and points of singular sets; inside of what the states can take."""
    found = singularities(around.field.graph, around.field.roots, around.field.states)[:MOST_SINGULAR]
    singular = [v for one in found for v in zeros(around, one.argument, generator)[:4]]
    drawn = [4.0**k * generator.standard_normal(around.length) for k in range(centres - 1)]
    for centre in [np.zeros(around.length), *drawn, *singular]:
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


def _reliable(found: Work) -> Array:
    return found.error <= AGREEMENT * np.maximum(found.size, 1e-300)


def _clear(found: Work, k: int) -> bool:
    return bool(_reliable(found)[k]) and abs(found.total[k]) > LEAST * found.size[k] and found.size[k] > LEAST


def _confirmed(around: Surroundings, polygon: Array, total: float) -> LoopWitness | None:
    """The witness where a second quadrature, which knows where functions turn, finds the same work."""
    corners = _with_breaks(around, polygon)
    found = work_round([corners], _chunked(around), OTHER_CUTS)
    if not _clear(found, 0) or abs(found.total[0] - total) > 10 * AGREEMENT * found.size[0]:
        return None
    if not _floats_tell(around, polygon, abs(total) / found.size[0]):
        return None
    return _witness(around, polygon, float(found.total[0]), float(found.error[0]))


def _floats_tell(around: Surroundings, polygon: Array, share: float) -> bool:
    """Whether forces on the polygon are in floats what they are with all digits, as far as the work depends on it.

    Where a function has no rule of that precision, or a point no value, floats are believed.
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
    """The polygon with further corners on its edges: at zeros of functions' arguments, and graded towards them."""
    functions = arguments(around.field)
    corners = []
    for start, end in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        cuts = _breaks(around, functions, start, end)
        corners.append(start + np.outer(cuts, end - start))
    return np.concatenate(corners)


def _breaks(around: Surroundings, functions: Sequence[Node], start: Array, end: Array) -> Array:
    """Places in [0, 1) of an edge to begin intervals at, graded towards its ends and towards zeros of arguments."""
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
    """Where between two places an argument changes sign, to a float's precision."""
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
    others = [(node.name, np.asarray(value).tolist()) for node, value in around.point.items() if _held(field, node)]
    return LoopWitness(
        total,
        error,
        tuple(_corner(around, vector) for vector in polygon),
        tuple((d, n) for d, n in around.sizes.items() if d in used),
        tuple(others),
        None if dims is None else tuple(dims.items()),
    )


def _held(field: ForceField, node: Input) -> bool:
    return node not in field.states


def _corner(around: Surroundings, vector: Array) -> tuple[tuple[str, object], ...]:
    """A vector as the states' values by name, in nested lists."""
    return tuple((state.name, value.tolist()) for state, value in around.states_of(vector).items())
