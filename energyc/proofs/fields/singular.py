"""Finds where a force is not smooth: arguments whose zeros are its kinks, jumps and poles, and points on them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from energyc.mathematics.calculus import depends
from energyc.mathematics.calculus.substitute import lift
from energyc.mathematics.ir import Graph, Input, LogSumExp, Map, Node, Softmax, walk
from energyc.proofs.fields.local_field import LocalField
from energyc.proofs.fields.problem import ForceField
from energyc.proofs.fields.sampling import Array
from energyc.proofs.fields.sizes import WORK, work

Kind = Literal["kink", "jump", "pole"]
#: The places along a line between which zeros are sought, and the number of bisections of an interval around one.
PLACES = np.concatenate([-(2.0 ** np.arange(8, -6, -1)), [0.0], 2.0 ** np.arange(-5, 9)])
HALVINGS = 60
DESCENTS = 24
MOST_POINTS = 12
#: An argument counts as zero below this fraction of its value at the start of the descent.
ZERO = 1e-12


@dataclass(frozen=True)
class Singularity:
    """A node at whose zeros a function of it has a kink, a jump or a pole."""

    kind: Kind
    argument: Node


def singularities(graph: Graph, roots: Iterable[Node], states: Collection[Input]) -> list[Singularity]:
    """The distinct singularities that depend on the states; any power or logarithm that may have a pole counts."""
    roots = list(roots)
    moving = depends(roots, set(states))
    distinct: dict[Singularity, None] = {}
    for node in walk(roots):
        if node in moving and isinstance(node, Map):
            distinct.update(dict.fromkeys(_singularities_of_map(graph, node, moving)))
    return list(distinct)


def _singularities_of_map(graph: Graph, node: Map, moving: Collection[Node]) -> Iterator[Singularity]:
    for body in node.function.bodies:
        inside = lift(graph, body, node.argument)
        yield from singularities(graph, [inside], [n for n in moving if isinstance(n, Input)])
    if node.function.slope is not None:
        return
    entry = node.function.entry
    if entry.kinks:
        yield Singularity("kink" if entry.continuous else "jump", node.argument)
    elif entry.domain is not None:
        yield Singularity("pole", node.argument)


def is_singular(node: Map) -> bool:
    """Whether a node applies a function of the table that is not defined on the whole line."""
    return node.function.slope is None and node.function.entry.domain is not None


def zeros(around: LocalField, argument: Node, generator: np.random.Generator, lines: int = 8) -> list[Array]:
    """Vectors at which an entry of ``argument`` vanishes: sign changes along random lines, otherwise double zeros."""
    crossed, _ = crossings(around, argument, generator, lines)
    return list(crossed) or [v for _ in range(2) if (v := _double_zero(around, argument, generator)) is not None]


def crossings(around: LocalField, argument: Node, generator: np.random.Generator, lines: int) -> tuple[Array, Array]:
    """Vectors at which an entry of ``argument`` changes sign, at most one on each random line, and their directions.

    The lines start at random vectors of several scales.
    """
    starts = 4.0 ** generator.integers(0, 4, (lines, 1)) * generator.standard_normal((lines, around.length))
    starts = np.concatenate([around.start[None], around.inside(starts)])[:lines]
    directions = generator.standard_normal(starts.shape)
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    places = around.inside(starts[:, None] + PLACES[:, None] * directions[:, None])
    (values,) = around.values([argument], places.reshape(-1, around.length))
    turns = _sign_changes(values.reshape(lines, len(PLACES), -1), generator)
    if not turns:
        return np.zeros((0, around.length)), np.zeros((0, around.length))
    line, step, entry = (np.array(column) for column in zip(*turns, strict=True))
    zero = _bisect(around, argument, entry, places[line, step], places[line, step + 1])
    return zero, directions[line]


def _sign_changes(values: Array, generator: np.random.Generator) -> list[tuple[int, int, int]]:
    """For each line with a sign change: the line, a step along it, and an entry that changes sign in that step."""
    positive, finite = values > 0, np.isfinite(values)
    changes = (positive[:, :-1] != positive[:, 1:]) & finite[:, :-1] & finite[:, 1:]
    turns_by_line = [(k, np.argwhere(change)) for k, change in enumerate(changes)]
    chosen = [(k, turns[int(generator.integers(len(turns)))]) for k, turns in turns_by_line if len(turns)]
    return [(k, int(step), int(entry)) for k, (step, entry) in chosen]


def _bisect(around: LocalField, argument: Node, entry: Array, start: Array, end: Array) -> Array:
    """Zeros, by bisection, between pairs of vectors at which an entry has different signs."""
    rows = np.arange(len(entry))
    (values,) = around.values([argument], start)
    positive = values[rows, entry] > 0
    for _ in range(HALVINGS):
        middle = (start + end) / 2
        (values,) = around.values([argument], middle)
        same = ((values[rows, entry] > 0) == positive)[:, None]
        start, end = np.where(same, middle, start), np.where(same, end, middle)
    return (start + end) / 2


def _double_zero(around: LocalField, argument: Node, generator: np.random.Generator) -> Array | None:
    """A double zero of an entry, which touches zero without crossing it, by Newton's method.

    None is sought where the differences along all entries of the states take too much work.
    """
    if _descent_work(around, argument) > WORK:
        return None
    vector = around.inside(around.start + generator.standard_normal(around.length))
    (values,) = around.values([argument], vector[None])
    entry, first = int(generator.integers(values.shape[1])), 0.0
    for k in range(DESCENTS):
        level, slope = _value_and_gradient(around, argument, entry, vector)
        first = first or abs(level)
        if abs(level) <= ZERO * first and k:
            return vector
        square = float(slope @ slope)
        if not np.isfinite(level) or not square > 0:
            return None
        vector = around.inside(vector - 2 * level / square * slope)
    return None


def _descent_work(around: LocalField, argument: Node) -> float:
    """The multiplications of a descent to a double zero: two vectors for each entry of the states, at each step."""
    vectors = DESCENTS * (2 * around.length + 1)
    return vectors * max(around.length, work([argument], around.sizes))


def _value_and_gradient(around: LocalField, argument: Node, entry: int, vector: Array) -> tuple[float, Array]:
    """The value of an entry of a node, and its gradient by central differences."""
    h = 1e-6
    unit = h * np.eye(around.length)
    (values,) = around.values([argument], np.concatenate([vector[None], vector + unit, vector - unit]))
    column = values[:, entry]
    return float(column[0]), (column[1 : 1 + around.length] - column[1 + around.length :]) / (2 * h)


def infinite_at(around: LocalField, argument: Node, generator: np.random.Generator) -> bool:
    """Whether the force grows without bound on at least one side of every zero of ``argument`` that is found."""
    places, directions = crossings(around, argument, generator, 12)
    return bool(len(places)) and all(
        _grows_without_bound(around, *pair) for pair in zip(places, directions, strict=True)
    )


def _grows_without_bound(around: LocalField, vector: Array, direction: Array) -> bool:
    steps = np.array([2.0**-6, 2.0**-12, 2.0**-18])
    for side in (direction, -direction):
        sizes = np.max(np.abs(around.forces(vector + np.outer(steps, side))), axis=1)
        if np.all(np.isfinite(sizes)) and sizes[0] > 0 and np.all(sizes[1:] > 8 * sizes[:-1]):
            return True
    return False


def arguments(field: ForceField) -> list[Node]:
    """The arguments of scalar functions and softmaxes in a force that depend on the states."""
    moving = depends(field.roots, set(field.states))
    inner = (n.argument for n in walk(field.roots) if isinstance(n, Map | Softmax | LogSumExp) and n in moving)
    return list(dict.fromkeys(inner))


def signed_points(around: LocalField, functions: Sequence[Node], generator: np.random.Generator) -> list[Array]:
    """Vectors on both sides of a zero of each node that has a single sign at all earlier points.

    For a node that only touches zero, such as ``(x - 30)^2``, one vector near the zero.
    """
    points = [around.start]
    for node in functions:
        (values,) = around.values([node], np.stack(points))
        if len(np.unique(values > 0)) == 2:
            continue
        places, directions = crossings(around, node, generator, 4)
        for zero, direction in zip(places[:1], directions[:1], strict=True):
            points += [around.inside(zero + direction / 2), around.inside(zero - direction / 2)]
        if (
            not len(places)
            and len(points) < MOST_POINTS
            and (zero := _double_zero(around, node, generator)) is not None
        ):
            points.append(around.inside(zero + generator.standard_normal(around.length) / 2))
    return points[1:]
