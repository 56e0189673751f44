"""Interval arithmetic on arrays: pairs of float64 arrays, outward rounded, that enclose real numbers.

Sums and products are widened by at least one unit in the last place. NumPy's elementary functions are a few units off;
their results are widened by ``SLACK``, hundreds of units, so that an enclosure holds on any build of NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from energyc.mathematics.expressions import Constant, Evaluation, Expression, NoRule, Power
from energyc.mathematics.functions import Homogeneous, ScalarFunction, scalar_function
from energyc.mathematics.ir import nearest

Array = NDArray[Any]
SLACK = 1e-13
_TINY = 1e-290
_UNIT = 2.0**-52


class NoEnclosure(ArithmeticError):
    """A number that this arithmetic cannot enclose; the caller tries another point or another arithmetic."""


@dataclass(frozen=True)
class Interval:
    """``low <= x <= high`` element by element."""

    low: Array
    high: Array

    @staticmethod
    def exactly(values: Any) -> Interval:
        """Degenerate intervals that contain only the given floats; around fractions, the nearest on both sides."""
        array = np.asarray(values, dtype=np.float64)
        if np.asarray(values).dtype != object:
            return Interval(array, array)
        return Interval(np.nextafter(array, -np.inf), np.nextafter(array, np.inf))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of either bound."""
        return self.low.shape

    def rearranged(self, change: Callable[[Array], Array]) -> Interval:
        """The same numbers in another order or shape."""
        return Interval(change(self.low), change(self.high))

    def where(self, mask: Array) -> Interval:
        """The intervals where the mask is true, zero elsewhere, even in place of infinities."""
        return Interval(np.where(mask, self.low, 0.0), np.where(mask, self.high, 0.0))

    def __add__(self, other: Interval) -> Interval:
        return _outward(self.low + other.low, self.high + other.high)

    def __neg__(self) -> Interval:
        return Interval(-self.high, -self.low)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        products = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        low = products[0]
        high = products[0]
        for product in products[1:]:
            low, high = np.minimum(low, product), np.maximum(high, product)
        return _outward(low, high)

    def sum(self, axis: tuple[int, ...]) -> Interval:
        """The sum along axes, with Higham's error bound for any order of summation."""
        count = math.prod(self.shape[k] for k in axis)
        low = self.low.sum(axis) - count * _UNIT * np.abs(self.low).sum(axis)
        high = self.high.sum(axis) + count * _UNIT * np.abs(self.high).sum(axis)
        return _outward(low, high)


def _outward(low: Array, high: Array) -> Interval:
    low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    return Interval(np.nextafter(low, -np.inf), np.nextafter(high, np.inf))


def widened(low: Array, high: Array) -> Interval:
    """Bounds widened by the error that a library function may have."""
    return Interval(low - SLACK * np.abs(low) - _TINY, high + SLACK * np.abs(high) + _TINY)


def number(value: float) -> Interval:
    """An enclosure of a real that a float approximates to a few units in the last place.

    Raises NoEnclosure beyond the floats.
    """
    if not math.isfinite(value):
        raise NoEnclosure("a number beyond the floats")
    return widened(np.asarray(value), np.asarray(value))


def mapped(function: ScalarFunction, u: Interval) -> Interval:
    """A scalar function on intervals. Raises NoEnclosure if its known properties give no enclosure."""
    with np.errstate(all="ignore"):
        if function.exponent is not None:
            return power(u, function.exponent)
        if function.homogeneous is not None:
            return _homogeneous(function.homogeneous, u)
        if function.monotone == 1 and function.accurate and function.continuous:
            return _increasing_enclosure(function.value, u)
        if function.lipschitz is not None:
            return _lipschitz_enclosure(function, function.lipschitz, u)
        if function.formula is not None:
            return enclosed(function.formula, u)
    raise NoEnclosure(function.name)


def enclosed(expression: Expression, u: Interval) -> Interval:
    """An expression of ``u``. Raises NoEnclosure."""
    try:
        return _InIntervals(u)(expression)
    except NoRule as error:
        raise NoEnclosure(str(error)) from error


class _InIntervals(Evaluation[Interval]):
    """Enclosures of a definition."""

    task = "an enclosure"

    def number(self, value: Any) -> Interval:
        return rational(Fraction(value))

    def constant(self, node: Constant) -> Interval:
        return number(node.value)

    def quotient(self, over: Interval, under: Interval) -> Interval:
        return reciprocal(over, under)

    def power(self, base: Interval, node: Power) -> Interval:
        return power(base, node.exponent)

    def called(self, function: str, argument: Interval) -> Interval:
        return mapped(scalar_function(function), argument)

    def chosen(self, relation: str, left: Interval, right: Interval, if_true: Interval, if_false: Interval) -> Interval:
        """The side that the condition selects; the hull of both where it may select either."""
        apart = left - right if relation[0] == ">" else right - left
        holds = apart.low > 0 if len(relation) == 1 else apart.low >= 0
        fails = apart.high <= 0 if len(relation) == 1 else apart.high < 0
        return Interval(
            np.where(holds, if_true.low, np.where(fails, if_false.low, np.minimum(if_true.low, if_false.low))),
            np.where(holds, if_true.high, np.where(fails, if_false.high, np.maximum(if_true.high, if_false.high))),
        )


def rational(value: Fraction | int) -> Interval:
    """An enclosure of a fraction, exact if the fraction is a float."""
    near = nearest(Fraction(value))
    return Interval.exactly(near) if near == value else number(near)


def _increasing_enclosure(function: Callable[[Array], Array], u: Interval) -> Interval:
    low, high = function(u.low), function(u.high)
    if np.any(np.isnan(low)) or np.any(np.isnan(high)):
        raise NoEnclosure("outside of the function's domain")
    return widened(low, high)


def power(u: Interval, exponent: Fraction) -> Interval:
    """Each element to a fixed power; an interval that contains a pole gives the whole line."""
    if exponent.denominator != 1:
        if np.any(u.low < 0):
            raise NoEnclosure("a fractional power of a negative number")
        bounds = np.power(u.low, float(exponent)), np.power(u.high, float(exponent))
        return widened(*(bounds if exponent > 0 else bounds[::-1]))
    result = one = Interval.exactly(np.ones(u.shape))
    for _ in range(abs(exponent.numerator)):
        result = result * u
    return result if exponent >= 0 else reciprocal(one, result)


def reciprocal(numerator: Interval, u: Interval) -> Interval:
    """``numerator / u``, the whole line where u may be 0."""
    contains_zero = (u.low <= 0) & (u.high >= 0)
    low, high = np.where(contains_zero, 1.0, u.low), np.where(contains_zero, 1.0, u.high)
    inverse = _outward(1.0 / high, 1.0 / low)
    return numerator * Interval(
        np.where(contains_zero, -np.inf, inverse.low), np.where(contains_zero, np.inf, inverse.high)
    )


def exp(u: Interval) -> Interval:
    """``e^u``."""
    return _increasing_enclosure(np.exp, u)


def log(u: Interval) -> Interval:
    """Natural logarithm. Raises NoEnclosure below 0."""
    return _increasing_enclosure(np.log, u)


def _homogeneous(sides: Homogeneous, u: Interval) -> Interval:
    """The hull of the sides that the interval reaches; at a jump both, which covers every generalised derivative."""
    low, high = np.full(u.shape, np.inf), np.full(u.shape, -np.inf)
    left = (sides.left, u.low <= 0, (u.low, np.minimum(u.high, 0.0)))
    right = (sides.right, u.high >= 0, (np.maximum(u.low, 0.0), u.high))
    for factor, reached, ends in (left, right):
        for end in ends:
            value = float(factor) * end**sides.degree if factor else np.zeros(u.shape)
            low = np.minimum(low, np.where(reached, value, np.inf))
            high = np.maximum(high, np.where(reached, value, -np.inf))
    rounded = {sides.left, sides.right} - {-1, 0, 1}
    return widened(low, high) if rounded else Interval(low, high)


def _lipschitz_enclosure(function: ScalarFunction, slope: float, u: Interval) -> Interval:
    """An enclosure of a function with Lipschitz constant ``slope``, from its value at the midpoint."""
    middle = (u.low + u.high) / 2
    radius = slope * np.maximum(u.high - middle, middle - u.low)
    value = function.value(middle)
    return widened(value - radius - SLACK, value + radius + SLACK)
