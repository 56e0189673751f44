"""Evaluates a graph without rounding errors: in fractions where it is rational, otherwise in intervals.

Meant for the few nodes behind two entries of a Jacobian at small sizes: every product is one array over all labels.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from energyc.mathematics.calculus import lift
from energyc.mathematics.functions import Homogeneous, ScalarFunction
from energyc.mathematics.ir import (
    Add,
    ArgMax,
    BatchStatistic,
    Coefficient,
    Einsum,
    Graph,
    Indicator,
    Input,
    LogSumExp,
    Map,
    Max,
    Node,
    NoRule,
    Position,
    Reduction,
    Softmax,
    Stop,
    nearest,
    walk,
)
from energyc.mathematics.ir.interpreter import evaluate
from energyc.proofs.enclosures.intervals import Interval, NoEnclosure, exp, log, mapped, number, reciprocal

Array = NDArray[Any]
Numbers = Any  # an Interval, or an object array of Fractions


@dataclass(frozen=True)
class Fractions:
    """Rational arithmetic on object arrays; ``values`` holds the rational symbols."""

    values: Mapping[str, Fraction]
    largest = 20_000

    def array(self, values: Array) -> Array:
        return _elementwise(Fraction, values) if values.size else values.astype(object)

    def coefficient(self, c: Coefficient) -> Array:
        result = c.value
        for name, power in c.powers:
            if power.denominator != 1 or name not in self.values:
                raise NoEnclosure("an irrational factor")
            result *= self.values[name] ** int(power)
        return np.asarray(result, dtype=object)

    def rearranged(self, x: Array, change: Any) -> Array:
        return np.asarray(change(x))

    def where(self, mask: Array, x: Array) -> Array:
        return _where(mask, x, Fraction(0))

    def sum(self, x: Array, axes: tuple[int, ...]) -> Array:
        return np.asarray(np.sum(x, axis=axes), dtype=object) if axes else x

    def map(self, function: ScalarFunction, u: Array) -> Array:
        exponent, sides = function.exponent, function.homogeneous
        if exponent is not None and exponent.denominator == 1:
            return _elementwise(lambda x: _integer_power(x, int(exponent)), u)
        if sides is not None:
            return _elementwise(lambda x: _one_sided_power(x, sides), u)
        raise NoEnclosure(function.name)

    def reduction(self, node: Reduction, u: Array, mask: Array, axes: tuple[int, ...]) -> Array:
        if not isinstance(node, Max | ArgMax):
            raise NoEnclosure(type(node).__name__)
        floats = np.where(mask, np.vectorize(float, otypes=[float])(u), -np.inf)
        hit = mask & (floats == floats.max(axis=axes, keepdims=True))
        if np.any(hit.sum(axis=axes) > 1):
            raise NoEnclosure("a tie")
        return (
            _where(hit, Fraction(1), Fraction(0))
            if isinstance(node, ArgMax)
            else np.sum(_where(hit, u, Fraction(0)), axis=axes)
        )


def _where(mask: Array, yes: Any, no: Any) -> Array:
    chosen: Array = np.where(mask, yes, no)
    return chosen


def _elementwise(function: Any, u: Array) -> Array:
    return np.asarray(np.vectorize(function, otypes=[object])(u), dtype=object)


def _integer_power(x: Fraction, exponent: int) -> Fraction:
    if x == 0 and exponent < 0:
        raise NoEnclosure("a pole")
    return x**exponent


def _one_sided_power(x: Fraction, sides: Homogeneous) -> Fraction:
    if x == 0 and sides.degree == 0:
        raise NoEnclosure("a jump")
    return (sides.right if x > 0 else sides.left) * x**sides.degree


@dataclass(frozen=True)
class Intervals:
    """Interval arithmetic with outward rounding; ``values`` holds the symbols, ``fractions`` those known exactly."""

    values: Mapping[str, float]
    fractions: Mapping[str, Fraction]
    largest = 2_000_000

    def array(self, values: Array) -> Interval:
        return Interval.exactly(values)

    def coefficient(self, c: Coefficient) -> Interval:
        rational = all(p.denominator == 1 and name in self.fractions for name, p in c.powers)
        exact = math.prod((self.fractions[name] ** int(p) for name, p in c.powers), start=c.value) if rational else None
        return number(c.number(self.values) if exact is None else nearest(exact))

    def rearranged(self, x: Interval, change: Any) -> Interval:
        return x.rearranged(change)

    def where(self, mask: Array, x: Interval) -> Interval:
        return x.where(mask)

    def sum(self, x: Interval, axes: tuple[int, ...]) -> Interval:
        return x.sum(axes) if axes else x

    def map(self, function: ScalarFunction, u: Interval) -> Interval:
        return mapped(function, u)

    def reduction(self, node: Reduction, u: Interval, mask: Array, axes: tuple[int, ...]) -> Interval:
        if isinstance(node, Max | ArgMax):
            return _interval_max(node, u, mask, axes)
        top = np.where(mask, u.high, -np.inf).max(axis=axes, keepdims=True)
        top = np.where(np.isfinite(top), top, 0.0)
        weights = exp(u.where(mask) - Interval.exactly(np.where(mask, top, 0.0))).where(mask)
        total = weights.sum(axes)
        some = np.asarray(mask.any(axis=axes))
        if isinstance(node, LogSumExp):
            ones = Interval(np.where(some, total.low, 1.0), np.where(some, total.high, 1.0))
            return (log(ones) + Interval.exactly(top.reshape(total.shape))).where(some)
        if not isinstance(node, Softmax):
            raise NoRule("intervals", node)
        spread = total.rearranged(lambda x: np.broadcast_to(np.expand_dims(x, axes), mask.shape))
        safe = Interval(np.where(mask, spread.low, 1.0), np.where(mask, spread.high, 1.0))
        return reciprocal(weights, safe).where(mask)


def _interval_max(node: Reduction, u: Interval, mask: Array, axes: tuple[int, ...]) -> Interval:
    low, high = np.where(mask, u.low, -np.inf), np.where(mask, u.high, -np.inf)
    floor = low.max(axis=axes, keepdims=True)
    if isinstance(node, Max):
        some = np.asarray(mask.any(axis=axes))
        return Interval(low.max(axis=axes), high.max(axis=axes)).where(some)
    possible = mask & (high >= floor)
    alone = possible.sum(axis=axes, keepdims=True) == 1
    return Interval(np.where(possible & alone, 1.0, 0.0), np.where(possible, 1.0, 0.0))


@dataclass
class Evaluation:
    """Evaluates each node once in one arithmetic, without the batch axis.

    A statistic of the batch is that of the ``mates``; without any the sample is alone in its batch.
    """

    graph: Graph
    arithmetic: Any  # Fractions or Intervals
    sizes: Mapping[str, int]
    inputs: Mapping[Input, Array]
    done: dict[Node, Numbers] = field(default_factory=dict)
    mates: Evaluation | None = None

    def __call__(self, root: Node) -> Numbers:
        """The value of a node, over its dims. Raises NoEnclosure if it cannot be enclosed."""
        with np.errstate(all="ignore"):
            for node in walk([root]):
                if node not in self.done:
                    self.done[node] = self._value_of(node)
        return self.done[root]

    def _value_of(self, node: Node) -> Numbers:
        match node:
            case Input():
                return self.arithmetic.array(np.asarray(self.inputs[node])) if node in self.inputs else None
            case Indicator() | Position():
                return self.arithmetic.array(self._index_array(node))
            case Einsum():
                return self._einsum(node)
            case Add():
                return self._add(node)
            case Map():
                return self._map(node)
            case Reduction():
                return self.arithmetic.reduction(node, self.done[node.argument], self._mask(node), node.axes)
            case BatchStatistic() if self.mates is not None:
                return self.mates(node.argument)
            case Stop() | BatchStatistic():
                return self.done[node.argument]
        raise NoRule("exact evaluation", node)

    def _index_array(self, node: Indicator | Position) -> Array:
        if not all(child in self.inputs for child in node.children if isinstance(child, Input)):
            raise NoEnclosure("a condition on an input without a value")
        inputs = {
            i.name: self.inputs[i][None] if i.batched else self.inputs[i] for i in self.inputs if i in node.children
        }
        (array,) = evaluate([node], inputs, sizes=self.sizes)
        return array[0] if node.batched else array

    def _einsum(self, node: Einsum) -> Numbers:
        a = self.arithmetic
        shape = [self.sizes[dim] for dim in node.labels]
        if math.prod(shape) > a.largest:
            raise NoEnclosure("sizes too large")
        ones = a.array(np.ones([1] * len(shape)))
        product = ones
        mask = np.ones([1] * len(shape), dtype=bool)
        for operand in node.operands:
            product = product * a.rearranged(
                self.done[operand.node], lambda x, o=operand: aligned(x, o.axes, len(shape))
            )
            if isinstance(operand.node, Indicator):
                mask = mask & (aligned(self._index_array(operand.node), operand.axes, len(shape)) != 0)
        full = tuple(shape)
        product = a.where(np.broadcast_to(mask, full), a.rearranged(product, lambda x: np.broadcast_to(x, full)))
        total = a.sum(product, node.contracted) * a.coefficient(node.coefficient)
        out = sorted(node.out)
        return a.rearranged(total, lambda x: np.transpose(x, [out.index(k) for k in node.out]))

    def _add(self, node: Add) -> Numbers:
        total: Numbers = None
        for coefficient, child in node.terms:
            term = self.done[child] * self.arithmetic.coefficient(coefficient)
            total = term if total is None else total + term
        return total

    def _map(self, node: Map) -> Numbers:
        if node.function.slope is None:
            return self.arithmetic.map(node.function.entry, self.done[node.argument])
        if node.function.primitive is None:
            raise NoEnclosure("a potential without a closed form")
        return self(lift(self.graph, node.function.primitive, node.argument))

    def _mask(self, node: Reduction) -> Array:
        shape = tuple(self.sizes[dim] for dim in node.argument.dims)
        if node.guard is None:
            return np.ones(shape, dtype=bool)
        return np.broadcast_to(
            aligned(self._index_array(node.guard.indicator), node.guard.axes, len(shape)) != 0, shape
        )


def aligned(x: Array, axes: Sequence[int], rank: int) -> Array:
    """An array over labels: axis k of the result is label k, of length 1 if ``axes`` does not contain it."""
    distinct = sorted(set(axes))
    diagonal = _diagonal(x, axes, distinct)
    places = dict(zip(distinct, diagonal.shape, strict=True))
    return diagonal.reshape([places.get(k, 1) for k in range(rank)])


def _diagonal(x: Array, axes: Sequence[int], distinct: Sequence[int]) -> Array:
    sizes = {label: x.shape[k] for k, label in enumerate(axes)}
    grids = np.ogrid[tuple(slice(0, sizes[label]) for label in distinct)] if distinct else []
    return np.asarray(x[tuple(grids[distinct.index(label)] for label in axes)]) if len(axes) else np.asarray(x)
