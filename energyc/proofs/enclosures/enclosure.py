"""Bounds of a node's elements from the bounds of its inputs and what the table knows of scalar functions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from energyc.mathematics.ir import (
    Add,
    BatchStatistic,
    Coefficient,
    Einsum,
    Indicator,
    Input,
    Map,
    Node,
    Operand,
    Softmax,
    Stop,
    walk,
)
from energyc.proofs.fields.problem import Bounds

#: Bounds are widened by this share, far more than NumPy's functions err.
SLACK = 1e-12
ANY = (-math.inf, math.inf)


@dataclass
class Enclosures:
    """Encloses every element of a node: (low, high), infinite where nothing is known.

    ``values`` are those of consts and dims, ``ranges`` the bounds of inputs.
    """

    values: Mapping[str, float]
    ranges: Mapping[Input, Bounds] = field(default_factory=dict)
    _known: dict[Node, tuple[float, float]] = field(default_factory=dict)

    def of(self, root: Node) -> tuple[float, float]:
        """The bounds of a node."""
        for node in walk([root]):
            if node not in self._known:
                self._known[node] = _widened(*self._bounds(node))
        return self._known[root]

    def _bounds(self, node: Node) -> tuple[float, float]:
        match node:
            case Input():
                low, high = self.ranges.get(node, (None, None))
                return -math.inf if low is None else low, math.inf if high is None else high
            case Stop() | BatchStatistic():
                return self._known[node.argument]
            case Indicator():
                return 0.0, 1.0
            case Add():
                parts = [_times(self._number(c), self._known[n]) for c, n in node.terms]
                return sum(low for low, _ in parts), sum(high for _, high in parts)
            case Einsum() if not node.contracted:
                return self._product(node.coefficient, list(node.operands))
            case Einsum() if (operands := _gathered(node)) is not None:
                return self._product(node.coefficient, operands)
            case Map() if node.function.slope is None:
                return _mapped(node, self._known[node.argument])
            case Softmax():
                return 0.0, 1.0
        return ANY

    def _number(self, coefficient: Coefficient) -> float:
        value = float(coefficient.value)
        for name, power in coefficient.powers:
            value *= self.values[name] ** float(power)
        return value

    def _product(self, coefficient: Coefficient, remaining: list[Operand]) -> tuple[float, float]:
        """A factor that stands there twice is squared."""
        total = (self._number(coefficient),) * 2
        while remaining:
            operand = remaining.pop()
            bounds = self._known[operand.node]
            if operand in remaining:
                remaining.remove(operand)
                ends = sorted((bounds[0] ** 2, bounds[1] ** 2))
                bounds = (0.0 if bounds[0] <= 0 <= bounds[1] else ends[0], ends[1])
            total = _product(total, bounds)
        return total


def _gathered(node: Einsum) -> list[Operand] | None:
    """The factors of a sum of which one term alone is not zero, as in ``rate[t]``; None for any other sum.

    Each label that is summed over is that of a place which an integer input gives, so that it lies in its dim.
    """
    fixed = {_read_label(operand): operand for operand in node.operands if isinstance(operand.node, Indicator)}
    if not set(node.contracted) <= fixed.keys():
        return None
    return [operand for operand in node.operands if operand not in [fixed[label] for label in node.contracted]]


def _read_label(operand: Operand) -> int | None:
    """The label u of ``[u == idx[t]]``."""
    assert isinstance(operand.node, Indicator)
    condition = operand.node.condition
    if condition.op != "==" or condition.parts[0].op != "axis" or condition.parts[1].op != "read":
        return None
    head = condition.parts[0].args[0]
    assert isinstance(head, int)
    return None if head in condition.parts[1].axes() else operand.axes[head]


def _mapped(node: Map, u: tuple[float, float]) -> tuple[float, float]:
    """By monotony where there is any, else by the function's own bounds."""
    entry = node.function.entry
    low, high = entry.low, entry.high
    if entry.monotone:
        ends = [_value(entry, end) for end in u]
        if entry.monotone < 0:
            ends.reverse()
        low = low if ends[0] is None else max(low, ends[0])
        high = high if ends[1] is None else min(high, ends[1])
    return low, high


def _value(entry: object, end: float) -> float | None:
    if not math.isfinite(end):
        return None
    with np.errstate(all="ignore"):
        value = float(entry.value(np.asarray(end)))  # type: ignore[attr-defined]
    return value if math.isfinite(value) else None


def _times(factor: float, bounds: tuple[float, float]) -> tuple[float, float]:
    return _product((factor, factor), bounds)


def _product(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    ends = [0.0 if 0.0 in (x, y) else x * y for x in a for y in b]
    return min(ends), max(ends)


def _widened(low: float, high: float) -> tuple[float, float]:
    if math.isnan(low) or math.isnan(high):
        return ANY
    return low - SLACK * abs(low), high + SLACK * abs(high)
