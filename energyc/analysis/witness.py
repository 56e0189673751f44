"""Refutes by showing: two mirrored entries of the Jacobian that differ, found in floats, certified exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from energyc.analysis.exact import Evaluation, Fractions, Intervals
from energyc.analysis.instances import instance, settable, used_dims
from energyc.analysis.intervals import Interval, NoEnclosure
from energyc.analysis.problem import ForceField, Linearised, linearise
from energyc.analysis.sampling import Point, batched, draw
from energyc.analysis.sizes import WORK, small_sizes, work
from energyc.analysis.verdict import Enclosure, Place, Witness
from energyc.calculus import depends
from energyc.ir import Node
from energyc.ir.interpreter import evaluate

Array = NDArray[Any]
DRAWS = 3
COLUMNS = 60
ASYMMETRY = 1e-8
GROSS = 1e-5


@dataclass(frozen=True)
class Search:
    """A witness, or None with ``seen``: how symmetric the Jacobians were that were looked at."""

    witness: Witness | None
    seen: str


@dataclass(frozen=True)
class Sample:
    """Columns of a Jacobian at a point; ``columns`` are positions in the stacked state."""

    sizes: Mapping[str, int]
    point: Point
    columns: Sequence[int]
    jacobian: Array


def find_witness(field: ForceField, generator: np.random.Generator, draws: int = DRAWS) -> Search:
    """Looks at a few points, at sizes of three and at the spec's own where they are small."""
    linear = linearise(field)
    worst = 0.0
    looked = 0
    for sample in samples(linear, generator, draws):
        looked += 1
        row, column, gap = _largest_gap(sample)
        worst = max(worst, gap)
        if gap > ASYMMETRY and (witness := _certified(linear, sample, row, column, gap)):
            return Search(witness, f"the Jacobian is not symmetric at a point of {looked} looked at")
    if not looked:
        return Search(None, "no witness was looked for: no finite Jacobian at sizes within the budget")
    return Search(None, f"Jacobians at {looked} points symmetric to {worst:.0e}")


def samples(linear: Linearised, generator: np.random.Generator, draws: int) -> Iterator[Sample]:
    """Finite Jacobians, the cheapest sizes first."""
    for sizes in search_sizes(linear):
        good = 0
        for _ in range(2 * draws):
            sample = _sample(linear, sizes, generator)
            if sample is not None:
                good += 1
                yield sample
            if good == draws:
                break


def search_sizes(linear: Linearised) -> list[dict[str, int]]:
    """Sizes worth trying: small ones that the spec can have, small ones, its own; each within the budget of work."""
    field = linear.field
    small = small_sizes(linear.moved, field.sizes)
    candidates: list[dict[str, int]] = []
    for sizes in (instance(field, linear.moved, small), small, dict(field.sizes)):
        if sizes not in candidates and _columns(field, sizes) * work(linear.moved, sizes) <= WORK:
            candidates.append(sizes)
    return candidates


def _columns(field: ForceField, sizes: Mapping[str, int]) -> int:
    return min(COLUMNS, sum(math.prod(sizes[d] for d in state.dims) for state in field.states))


def _sample(linear: Linearised, sizes: Mapping[str, int], generator: np.random.Generator) -> Sample | None:
    point = draw(linear.field, sizes, generator)
    shapes = [tuple(sizes[d] for d in state.dims) for state in linear.field.states]
    total = sum(math.prod(shape) for shape in shapes)
    columns = (
        list(range(total)) if total <= COLUMNS else sorted(generator.choice(total, COLUMNS, replace=False).tolist())
    )
    inputs = batched(point, len(columns))
    for node, block in zip(linear.directions, unit_blocks(columns, shapes), strict=True):
        inputs[node.kind, node.name] = block
    with np.errstate(all="ignore"):
        arrays = evaluate(linear.moved, inputs, sizes=sizes, values=linear.field.values)
    rows = [
        np.broadcast_to(a, (len(columns), *shape)).reshape(len(columns), -1)
        for a, shape in zip(arrays, shapes, strict=True)
    ]
    jacobian = np.concatenate(rows, axis=1)[:, columns].T
    return Sample(sizes, point, columns, jacobian) if np.all(np.isfinite(jacobian)) else None


def unit_blocks(columns: Sequence[int], shapes: Sequence[tuple[int, ...]]) -> Iterator[Array]:
    """For each state the unit vectors' parts, ``[columns, *shape]``."""
    first = 0
    for shape in shapes:
        size = math.prod(shape)
        block = np.zeros((len(columns), size))
        for k, column in enumerate(columns):
            if first <= column < first + size:
                block[k, column - first] = 1.0
        yield block.reshape(len(columns), *shape)
        first += size


def _largest_gap(sample: Sample) -> tuple[int, int, float]:
    """The pair of columns whose mirrored entries differ most, and by how much of the largest entry."""
    gaps = np.abs(sample.jacobian - sample.jacobian.T)
    row, column = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
    scale = float(np.max(np.abs(sample.jacobian), initial=0.0))
    return int(min(row, column)), int(max(row, column)), float(gaps[row, column]) / scale if scale else 0.0


def _certified(linear: Linearised, sample: Sample, row: int, column: int, gap: float) -> Witness | None:
    i, j = sample.columns[row], sample.columns[column]
    field = linear.field
    fractions = {**field.fractions, **{name: Fraction(size) for name, size in sample.sizes.items()}}
    kinds = {"fractions": Fractions(fractions), "intervals": Intervals({**field.values, **sample.sizes}, fractions)}
    for name, arithmetic in kinds.items():
        try:
            entry, mirror = _entries(linear, sample, arithmetic, i, j)
        except (NoEnclosure, ZeroDivisionError, OverflowError, ValueError):
            continue
        return _witness(linear, sample, i, j, (entry, mirror), name) if entry.disjoint(mirror) else None
    scale = float(np.max(np.abs(sample.jacobian)))
    if gap < GROSS or scale < GROSS:  # what is left of zeros by rounding may be as asymmetric as it likes
        return None
    floats = [float(sample.jacobian[a, b]) for a, b in ((row, column), (column, row))]
    return _witness(linear, sample, i, j, tuple(Enclosure(x, x) for x in floats), "floats")


def _entries(linear: Linearised, sample: Sample, numbers: Any, i: int, j: int) -> tuple[Enclosure, Enclosure]:
    """``d F_i / d z_j`` and ``d F_j / d z_i`` without rounding."""
    shapes = [tuple(sample.sizes[d] for d in s.dims) for s in linear.field.states]
    evaluation = Evaluation(linear.field.graph, numbers, sample.sizes, dict(sample.point))
    moving = depends(linear.moved, set(linear.directions))
    found = []
    for row, column in ((i, j), (j, i)):
        for node in moving:
            evaluation.done.pop(node, None)
        for direction, block in zip(linear.directions, unit_blocks([column], shapes), strict=True):
            evaluation.done[direction] = numbers.array(block[0])
        found.append(_entry(evaluation, linear.moved, shapes, row))
    return found[0], found[1]


def _entry(evaluation: Evaluation, moved: Sequence[Node], shapes: Sequence[tuple[int, ...]], row: int) -> Enclosure:
    state, index = place(shapes, row)
    value = evaluation(moved[state])
    if isinstance(value, Interval):
        return Enclosure(float(value.low[index]), float(value.high[index]))
    exact = np.asarray(value, dtype=object)[index]
    return Enclosure(exact, exact)


def place(shapes: Sequence[tuple[int, ...]], position: int) -> tuple[int, tuple[int, ...]]:
    """Which state, and where in it, a position in the stacked state is."""
    for k, shape in enumerate(shapes):
        if position < math.prod(shape):
            return k, tuple(int(n) for n in np.unravel_index(position, shape)) if shape else ()
        position -= math.prod(shape)
    raise IndexError(position)


def _witness(
    linear: Linearised, sample: Sample, i: int, j: int, entries: tuple[Enclosure, ...], arithmetic: Any
) -> Witness:
    states = linear.field.states
    shapes = [tuple(sample.sizes[d] for d in s.dims) for s in states]
    (a, row), (b, column) = place(shapes, i), place(shapes, j)
    used = used_dims([*linear.moved, *linear.field.inputs])
    dims = settable(linear.field.formulas, sample.sizes)
    return Witness(
        Place(states[a].name, row),
        Place(states[b].name, column),
        entries[0],
        entries[1],
        arithmetic != "floats",
        arithmetic,
        tuple((d, n) for d, n in sample.sizes.items() if d in used),
        tuple((node.name, np.asarray(value).tolist()) for node, value in sample.point.items()),
        None if dims is None else tuple(dims.items()),
    )
