"""Refutes a gradient by two mirrored entries of the Jacobian that differ, found in floats, certified exactly."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import cycle, islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from energyc.mathematics.calculus import depends
from energyc.mathematics.ir import Add, Node, walk
from energyc.mathematics.ir.interpreter import evaluate
from energyc.proofs.conservativeness.verdict import Enclosure, Place, Witness
from energyc.proofs.enclosures.exact import Evaluation, Fractions, Intervals
from energyc.proofs.enclosures.intervals import Interval, NoEnclosure
from energyc.proofs.fields.instances import instance, settable, used_dims
from energyc.proofs.fields.local_field import LocalField
from energyc.proofs.fields.problem import ForceField, Linearised, linearise
from energyc.proofs.fields.sampling import GRAIN, Point, batched, both_ways, directions, draw, in_floats
from energyc.proofs.fields.singular import arguments, signed_points
from energyc.proofs.fields.sizes import WORK, small_sizes, work
from energyc.proofs.fields.structured import squared

Array = NDArray[Any]
DRAWS = 3
COLUMNS = 60
#: The least asymmetry in floats, relative to the two entries, that is worth computing without rounding.
ASYMMETRY = 1e-13
#: The least asymmetry, relative to the largest entry, for a witness in floats alone.
GROSS = 1e-5
CLOSE = 1e-10


@dataclass(frozen=True)
class Search:
    """A witness, or None; ``outcome`` describes the search in a sentence."""

    witness: Witness | None
    outcome: str


@dataclass(frozen=True)
class Sample:
    """Columns of a Jacobian at a point; ``columns`` are positions in the stacked state."""

    sizes: Mapping[str, int]
    point: Point
    columns: Sequence[int]
    jacobian: Array


def find_witness(field: ForceField, generator: np.random.Generator, draws: int = DRAWS) -> Search:
    """Search points of several scales and on both sides of every kink, at sizes that the spec can have.

    A witness at smaller sizes than the spec's counts only if the Jacobian is not symmetric at the spec's sizes either.
    """
    linear = linearise(field)
    worst, sample_count, exception = 0.0, 0, ""
    for sample in samples(linear, generator, draws):
        sample_count += 1
        worst = max(worst, _relative_gap(sample))
        witness = _witness_in(linear, sample)
        if witness is None or exception:
            continue
        if not _symmetric_at_own_sizes(linear, sample.sizes, generator):
            return Search(witness, f"the Jacobian is not symmetric at a point of {sample_count} looked at")
        exception = f", though not at {', '.join(f'{d} = {n}' for d, n in witness.sizes)}"
    if not sample_count:
        return Search(None, "no witness was looked for: no finite Jacobian at sizes within the budget")
    if exception:
        return Search(None, f"the Jacobian is symmetric at the spec's own sizes{exception}")
    return Search(None, f"Jacobians at {sample_count} points symmetric to {worst:.0e}")


def samples(linear: Linearised, generator: np.random.Generator, draws: int) -> Iterator[Sample]:
    """Finite Jacobians, the cheapest sizes first."""
    for sizes in search_sizes(linear):
        for points in (_near(linear.field, sizes, generator), _far(linear.field, sizes, generator)):
            finite = (s for point in islice(points, 2 * draws) if (s := sample_at(linear, sizes, point, generator)))
            yield from islice(finite, draws)
        for point in _beyond_kinks(linear.field, sizes, generator):
            if (sample := sample_at(linear, sizes, point, generator)) is not None:
                yield sample


def _near(field: ForceField, sizes: Mapping[str, int], generator: np.random.Generator) -> Iterator[Point]:
    while True:
        yield draw(field, sizes, generator)


def _far(field: ForceField, sizes: Mapping[str, int], generator: np.random.Generator) -> Iterator[Point]:
    """Points whose states are drawn at scales 4 and 16 in turn."""
    for scale in cycle((4, 16)):
        yield draw(field, sizes, generator, scale)


def _beyond_kinks(field: ForceField, sizes: Mapping[str, int], generator: np.random.Generator) -> Iterator[Point]:
    """Points at which the argument of a function has a sign that it did not have before."""
    point = draw(field, sizes, generator)
    around = LocalField(field, sizes, point)
    for vector in signed_points(around, arguments(field), generator):
        yield {**point, **around.states_of(np.round(vector * GRAIN) / GRAIN)}


def search_sizes(linear: Linearised) -> list[dict[str, int]]:
    """Sizes to search, within the budget of work: small sizes that the spec can have, then its own.

    What is square at its own sizes stays so.

    Small sizes that it cannot have come last, and only if no coefficient depends on sizes.
    """
    field = linear.field
    small = small_sizes(linear.moved, field.sizes, structures=squared(field.structure, field.sizes))
    close = instance(field, linear.moved, small)
    candidates: list[dict[str, int]] = []
    for sizes in (close, dict(field.sizes), small):
        possible = settable(field.formulas, sizes) is not None or not sizes_count(linear)
        if possible and sizes not in candidates and _columns(field, sizes) * work(linear.moved, sizes) <= WORK:
            candidates.append(sizes)
    return candidates


def sizes_count(linear: Linearised) -> bool:
    """Whether a sum in the equations has the size of a dim as a coefficient, so that it may vanish at some sizes."""
    dims = linear.field.sizes.keys()
    sums = (node for node in walk(linear.moved) if isinstance(node, Add))
    return any(len({tuple(p for p in c.powers if p[0] in dims) for c, _ in node.terms}) > 1 for node in sums)


def _symmetric_at_own_sizes(linear: Linearised, sizes: Mapping[str, int], generator: np.random.Generator) -> bool:
    """Whether ``a . J b = b . J a`` at the spec's own sizes, for a force with sizes as coefficients."""
    field = linear.field
    if dict(sizes) == dict(field.sizes) or not sizes_count(linear) or work(linear.moved, field.sizes) > WORK:
        return False
    for _ in range(2):
        point = draw(field, field.sizes, generator)
        forward, backward = both_ways(linear, point, directions(field, field.sizes, generator), field.sizes)
        if not abs(forward - backward) <= CLOSE * (abs(forward) + abs(backward)):
            return False
    return True


def _columns(field: ForceField, sizes: Mapping[str, int]) -> int:
    return min(COLUMNS, sum(math.prod(sizes[d] for d in state.dims) for state in field.states))


def sample_at(
    linear: Linearised, sizes: Mapping[str, int], point: Point, generator: np.random.Generator
) -> Sample | None:
    """At most ``COLUMNS`` columns of the Jacobian at a point, None if they are not finite."""
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
    """The block of the unit vectors for each state, ``[columns, *shape]``."""
    first = 0
    for shape in shapes:
        size = math.prod(shape)
        block = np.zeros((len(columns), size))
        for k, column in enumerate(columns):
            if first <= column < first + size:
                block[k, column - first] = 1.0
        yield block.reshape(len(columns), *shape)
        first += size


def _relative_gap(sample: Sample) -> float:
    """The largest difference of mirrored entries, relative to the largest entry."""
    scale = float(np.max(np.abs(sample.jacobian), initial=0.0))
    return float(np.max(np.abs(sample.jacobian - sample.jacobian.T), initial=0.0)) / scale if scale else 0.0


def _witness_in(linear: Linearised, sample: Sample) -> Witness | None:
    """A witness from the pair of largest difference, otherwise from that of largest relative difference."""
    gaps = np.abs(sample.jacobian - sample.jacobian.T)
    if not np.max(gaps, initial=0.0) > 0:
        return None
    own = np.abs(sample.jacobian) + np.abs(sample.jacobian.T)
    shares = gaps / np.where(own > 0, own, 1.0)
    pairs = [np.unravel_index(int(np.argmax(measure)), gaps.shape) for measure in (gaps, shares)]
    for row, column in dict.fromkeys((int(min(pair)), int(max(pair))) for pair in pairs):
        if shares[row, column] > ASYMMETRY and (witness := _witness_at(linear, sample, row, column)):
            return witness
    return None


def _witness_at(linear: Linearised, sample: Sample, row: int, column: int) -> Witness | None:
    i, j = sample.columns[row], sample.columns[column]
    field = linear.field
    fractions = {**field.fractions, **{name: Fraction(size) for name, size in sample.sizes.items()}}
    kinds = {"fractions": Fractions(fractions), "intervals": Intervals({**field.values, **sample.sizes}, fractions)}
    for name, arithmetic in kinds.items():
        try:
            entry, mirror = _mirrored_entries(linear, sample, arithmetic, i, j)
        except (NoEnclosure, ZeroDivisionError, OverflowError, ValueError):
            continue
        return _witness(linear, sample, i, j, (entry, mirror), name) if entry.disjoint(mirror) else None
    floats = [float(sample.jacobian[a, b]) for a, b in ((row, column), (column, row))]
    scale = float(np.max(np.abs(sample.jacobian)))
    gap = abs(floats[0] - floats[1])
    if gap < GROSS * scale or scale < GROSS:  # rounding noise on zeros may be arbitrarily asymmetric
        return None
    return _witness(linear, sample, i, j, tuple(Enclosure(x, x) for x in floats), "floats")


def _mirrored_entries(linear: Linearised, sample: Sample, numbers: Any, i: int, j: int) -> tuple[Enclosure, Enclosure]:
    """``d F_i / d z_j`` and ``d F_j / d z_i`` without rounding."""
    shapes = [tuple(sample.sizes[d] for d in s.dims) for s in linear.field.states]
    evaluation = Evaluation(linear.field.graph, numbers, sample.sizes, dict(sample.point))
    moving = depends(linear.moved, set(linear.directions))
    entries = []
    for row, column in ((i, j), (j, i)):
        for node in moving:
            evaluation.done.pop(node, None)
        for direction, block in zip(linear.directions, unit_blocks([column], shapes), strict=True):
            evaluation.done[direction] = numbers.array(block[0])
        entries.append(_enclosed_entry(evaluation, linear.moved, shapes, row))
    return entries[0], entries[1]


def _enclosed_entry(
    evaluation: Evaluation, moved: Sequence[Node], shapes: Sequence[tuple[int, ...]], row: int
) -> Enclosure:
    state, index = place(shapes, row)
    value = evaluation(moved[state])
    if isinstance(value, Interval):
        return Enclosure(float(value.low[index]), float(value.high[index]))
    exact = np.asarray(value, dtype=object)[index]
    return Enclosure(exact, exact)


def place(shapes: Sequence[tuple[int, ...]], position: int) -> tuple[int, tuple[int, ...]]:
    """The state, and the index in it, of a position in the stacked state."""
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
        tuple((node.name, in_floats(np.asarray(value)).tolist()) for node, value in sample.point.items()),
        None if dims is None else tuple(dims.items()),
    )
