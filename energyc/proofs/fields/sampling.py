"""Random points for evaluating a force field, as short binary fractions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from energyc.mathematics.calculus import Bounds
from energyc.mathematics.ir import TRUTHS, Input
from energyc.mathematics.ir.interpreter import evaluate
from energyc.proofs.fields.problem import ForceField, Linearised
from energyc.proofs.fields.structured import holds, is_direction, on_sets

Array = NDArray[Any]
Point = Mapping[Input, Array]
GRAIN = 64


def draw(
    field: ForceField, sizes: Mapping[str, int], generator: np.random.Generator, scale: int = 1
) -> dict[Input, Array]:
    """A value for every input, without a batch axis. Reals are multiples of 1/64 in [-1, 1], or inside their range.

    States without bounds are ``scale`` times as large.
    """
    point = {node: draw_input(field, node, sizes, generator) for node in field.inputs}
    for state in field.states:
        if field.ranges.get(state, (None, None)) == (None, None):
            point[state] = scale * point[state]
    return point


def draw_input(
    field: ForceField, node: Input, sizes: Mapping[str, int], generator: np.random.Generator, scale: int = 1
) -> Array:
    """A value for one input, on its sets; ``scale`` times as large where nothing bounds it.

    Directions are fractions. At sizes where a set has no point it is not a number, which no search takes for evidence.
    """
    bounds, structure = field.ranges.get(node, (None, None)), field.structure.get(node, ())
    value = draw_value(node, bounds, sizes, generator)
    if not structure:
        return scale * value if bounds == (None, None) and node.over is None else value
    if not holds({node: structure}, sizes):
        return np.full(value.shape, np.nan)
    free = bounds == (None, None) and not is_direction(structure)
    return on_sets(scale * value if free else value, structure, generator)


def draw_value(node: Input, bounds: Bounds, sizes: Mapping[str, int], generator: np.random.Generator) -> Array:
    """A value for one input; a real is strictly inside its bounds."""
    shape = tuple(sizes[dim] for dim in node.dims)
    if node.over == TRUTHS:
        return generator.integers(0, 2, shape)
    if node.over is not None:
        return generator.integers(0, sizes[node.over], shape)
    if node.kind == "flag":
        return np.full(shape, float(generator.integers(0, 2)))
    low, high = _interior(bounds)
    return low + (high - low) * generator.integers(1, 2 * GRAIN, shape) / (2 * GRAIN)


def _interior(bounds: Bounds) -> tuple[float, float]:
    """An interval with short binary ends inside the bounds, so that a draw is a short fraction."""
    low, high = bounds
    if low is None and high is None:
        return -1.0, 1.0
    if low is None:
        return float(np.floor(high or 0.0)) - 2.0, float(np.floor(high or 0.0))
    if high is None:
        return float(np.ceil(low)), float(np.ceil(low)) + 2.0
    return float(low), float(high)


def batched(point: Point, count: int = 1) -> dict[str | tuple[str, str], Any]:
    """A point as inputs of the interpreter: batched inputs repeat the value ``count`` times."""
    repeated: dict[str | tuple[str, str], Any] = {}
    for node, exact in point.items():
        value = in_floats(exact)
        array = np.broadcast_to(value, (count, *value.shape)) if node.batched else value
        repeated[node.kind, node.name] = array
    return repeated


def in_floats(value: Array) -> Array:
    """A value of a point, fractions rounded."""
    return np.asarray(value, dtype=np.float64) if value.dtype == object else value


def directions(field: ForceField, sizes: Mapping[str, int], generator: np.random.Generator) -> list[Array]:
    """Two random directions, a and b: ``[2, *shape]`` for each state."""
    return [generator.standard_normal((2, *(sizes[d] for d in state.dims))) for state in field.states]


def both_ways(linear: Linearised, point: Point, ways: Sequence[Array], sizes: Mapping[str, int]) -> tuple[float, float]:
    """``a . J b`` and ``b . J a`` at a point, which may have inputs that the force does not read."""
    inputs = batched(point, 2)
    for node, value in zip(linear.directions, ways, strict=True):
        inputs[node.kind, node.name] = value
    with np.errstate(all="ignore"):
        moved = evaluate(linear.moved, inputs, sizes=sizes, values=linear.field.values)
    pairs = [(d, np.broadcast_to(m, d.shape)) for d, m in zip(ways, moved, strict=True)]
    return sum(float(np.sum(d[0] * m[1])) for d, m in pairs), sum(float(np.sum(d[1] * m[0])) for d, m in pairs)
