"""Confirms the work of a force round a polygon by a second quadrature and in more digits.

The second quadrature is on intervals that begin at every zero of a function's argument and are graded towards it.
Equally spaced samples must agree with it, up to what can hide between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from energyc.mathematics.ir import Node
from energyc.proofs.conservativeness.quadrature import AGREEMENT, work_round
from energyc.proofs.enclosures.exact import Evaluation
from energyc.proofs.enclosures.multiprecision import Multiprecision
from energyc.proofs.fields.local_field import LocalField
from energyc.proofs.fields.sampling import Array
from energyc.proofs.fields.singular import arguments

GRADES = 28
#: The samples of an edge with which the work must agree.
SAMPLES = 4096
#: The most zeros of arguments that are found on one edge.
MOST_TURNS = 12
#: Where the second quadrature cuts edges, away from the cuts of the first.
OTHER_CUTS = (0.2837465, 0.5527864, 0.7938327)


def confirmed_work(around: LocalField, polygon: Array, total: float) -> tuple[float, float] | None:
    """The work round a polygon and its error, None if a second quadrature or more digits do not find ``total``."""
    measured = work_round([_with_breaks(around, polygon)], around.forces, OTHER_CUTS)
    work, error, size = (float(values[0]) for values in (measured.total, measured.error, measured.size))
    if not measured.is_nonzero[0] or abs(work - total) > 10 * AGREEMENT * size:
        return None
    sampled, unseen = _sampled_work(around, polygon)
    if not abs(work - sampled) <= unseen < abs(work):
        return None
    return (work, error) if _floats_suffice(around, polygon, abs(total) / size) else None


def _sampled_work(around: LocalField, polygon: Array) -> tuple[float, float]:
    """The work by equally spaced samples of each edge, and what can hide between neighbouring ones, at the most.

    Both quadratures may miss a peak that is narrower than the distance of their nodes, or a jump there and back.
    """
    places, work, hidden = (np.arange(SAMPLES) + 0.5) / SAMPLES, 0.0, 0.0
    for start, end in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        along = around.forces(start + np.outer(places, end - start)) @ (end - start)
        work += float(np.mean(along))
        hidden += 2 * float(np.max(np.abs(along))) / SAMPLES
    return work, hidden


def _floats_suffice(around: LocalField, polygon: Array, share: float) -> bool:
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


def _with_breaks(around: LocalField, polygon: Array) -> Array:
    """The polygon with extra corners on its edges: at the zeros of arguments, and graded towards them."""
    functions = arguments(around.field)
    corners = []
    for start, end in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        cuts = _interval_starts(around, functions, start, end)
        corners.append(start + np.outer(cuts, end - start))
    return np.concatenate(corners)


def _interval_starts(around: LocalField, functions: Sequence[Node], start: Array, end: Array) -> Array:
    """The starts of intervals on an edge, in [0, 1), graded towards its ends and towards zeros of arguments."""
    grid, steps = np.linspace(0, 1, 65), 2.0 ** -np.arange(3, GRADES, 2)
    cuts = {0.0, *steps.tolist(), *(1 - steps).tolist()}
    if functions:
        values = np.concatenate(around.values(functions, start + np.outer(grid, end - start)), axis=1)
        changes = (values[:-1] > 0) != (values[1:] > 0)
        turns = np.flatnonzero(changes.any(1))[:MOST_TURNS]
        columns = changes[turns].argmax(1)
        for cut in _zeros_between(around, functions, columns, start, end, grid[turns], grid[turns + 1]):
            cuts.update(float(t) for t in [cut, *(cut - steps), *(cut + steps)] if 0 < t < 1)
    return np.array(sorted(cuts))


def _zeros_between(
    around: LocalField, functions: Sequence[Node], columns: Array, start: Array, end: Array, low: Array, high: Array
) -> Array:
    """The places on an edge, each between two others, where a column of the arguments changes sign, to float precision.

    ``columns``, ``low`` and ``high`` are ``[places]``.
    """
    rows = np.arange(len(columns))
    for _ in range(16 if len(columns) else 0):
        places = np.linspace(low, high, 17)
        at = start + np.multiply.outer(places.ravel(), end - start)
        values = np.concatenate(around.values(functions, at), axis=1).reshape(*places.shape, -1)[:, rows, columns]
        turn = np.argmax((values[:-1] > 0) != (values[1:] > 0), axis=0)
        low, high = places[turn, rows], places[turn + 1, rows]
    return (low + high) / 2
