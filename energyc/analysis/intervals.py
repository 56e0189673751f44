"""Arrays of intervals: two float64 arrays that enclose, outward rounded, every real number they stand for.

Sums and products are widened by one unit in the last place or more. NumPy's exponentials and the like are a few units
off; they are widened by ``SLACK``, hundreds of units, so that an enclosure holds on any build of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from energyc.ir.functions import FUNCTIONS

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
        """Floats as themselves."""
        array = np.asarray(values, dtype=np.float64)
        return Interval(array, array)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of either bound."""
        return self.low.shape

    def rearranged(self, change: Callable[[Array], Array]) -> Interval:
        """The same numbers in another order or shape."""
        return Interval(change(self.low), change(self.high))

    def where(self, mask: Array) -> Interval:
        """Zero where the mask is false, whatever stood there."""
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
        """The sum along axes, with the bound of Higham for any order of summation."""
        count = math.prod(self.shape[k] for k in axis)
        low = self.low.sum(axis) - count * _UNIT * np.abs(self.low).sum(axis)
        high = self.high.sum(axis) + count * _UNIT * np.abs(self.high).sum(axis)
        return _outward(low, high)


def _outward(low: Array, high: Array) -> Interval:
    low, high = np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high)
    return Interval(np.nextafter(low, -np.inf), np.nextafter(high, np.inf))


def widened(low: Array, high: Array) -> Interval:
    """Bounds moved apart by what a library function may be off."""
    return Interval(low - SLACK * np.abs(low) - _TINY, high + SLACK * np.abs(high) + _TINY)


def number(value: float) -> Interval:
    """A float that stands for a real known to a few units in the last place."""
    return widened(np.asarray(value), np.asarray(value))


def mapped(name: str, parameter: Fraction | None, u: Interval) -> Interval:
    """A function of the table on intervals. Raises NoEnclosure where there is no rule or no value."""
    with np.errstate(all="ignore"):
        if name == "power":
            return power(u, parameter or Fraction(0))
        if name in _RULES:
            return _RULES[name](u)
        if name in FUNCTIONS and FUNCTIONS[name].monotone == 1 and not FUNCTIONS[name].kinks:
            return _increasing(FUNCTIONS[name].value, u)
    raise NoEnclosure(name)


def _increasing(function: Callable[[Array], Array], u: Interval) -> Interval:
    low, high = function(u.low), function(u.high)
    if np.any(np.isnan(low)) or np.any(np.isnan(high)):
        raise NoEnclosure("outside of the function's domain")
    return widened(low, high)


def power(u: Interval, exponent: Fraction) -> Interval:
    """Each element to a fixed power; a pole inside gives the whole line."""
    if exponent.denominator != 1:
        if np.any(u.low < 0):
            raise NoEnclosure("a fractional power of a negative number")
        bounds = np.power(u.low, float(exponent)), np.power(u.high, float(exponent))
        return widened(*(bounds if exponent > 0 else bounds[::-1]))
    result = one = Interval.exactly(np.ones(u.shape))
    for _ in range(abs(exponent.numerator)):
        result = result * u
    return result if exponent >= 0 else reciprocal(one, result)


def reciprocal(one: Interval, u: Interval) -> Interval:
    """``one / u``, the whole line where u may be 0."""
    bad = (u.low <= 0) & (u.high >= 0)
    low, high = np.where(bad, 1.0, u.low), np.where(bad, 1.0, u.high)
    inverse = _outward(1.0 / high, 1.0 / low)
    return one * Interval(np.where(bad, -np.inf, inverse.low), np.where(bad, np.inf, inverse.high))


def exp(u: Interval) -> Interval:
    """``e^u``."""
    return _increasing(np.exp, u)


def log(u: Interval) -> Interval:
    """Natural logarithm. Raises NoEnclosure below 0."""
    return _increasing(np.log, u)


def _steps(low_value: float, high_value: float) -> Callable[[Interval], Interval]:
    """A jump at 0; an interval that holds 0 gives both sides, which also covers every generalised derivative."""

    def rule(u: Interval) -> Interval:
        return Interval(np.where(u.low > 0, high_value, low_value), np.where(u.high < 0, low_value, high_value))

    return rule


def _sigmoid(u: Interval) -> Interval:
    return _increasing(FUNCTIONS["sigmoid"].value, u)


def _exactly(u: Interval, value: float) -> Interval:
    return Interval.exactly(np.full(u.shape, value))


def _complement(u: Interval) -> Interval:
    return _exactly(u, 1.0) - u


def _silu_slope(u: Interval) -> Interval:
    return _sigmoid(u) * (_exactly(u, 1.0) + u * _sigmoid(-u))


def _gauss(u: Interval) -> Interval:
    return exp(-(u * u) * _exactly(u, 0.5)) * number(1.0 / math.sqrt(2.0 * math.pi))


def _erf(u: Interval) -> Interval:
    """Of the C library's erf, right to a unit; widened in absolute terms."""
    values = [np.vectorize(math.erf, otypes=[float])(bound) for bound in (u.low, u.high)]
    return Interval(values[0] - SLACK, values[1] + SLACK)


def _cumulative(u: Interval) -> Interval:
    return (_erf(u * number(1.0 / math.sqrt(2.0))) + _exactly(u, 1.0)) * _exactly(u, 0.5)


def _erf_slope(u: Interval) -> Interval:
    return exp(-(u * u)) * number(2.0 / math.sqrt(math.pi))


_SCALE = math.sqrt(2.0 / math.pi)


def _core(u: Interval) -> Interval:
    inner = number(_SCALE) * (u + number(0.044715) * u * u * u)
    return _increasing(np.tanh, inner)


def _gelu_tanh(u: Interval) -> Interval:
    return _exactly(u, 0.5) * u * (_exactly(u, 1.0) + _core(u))


def _gelu_tanh_slope(u: Interval) -> Interval:
    t = _core(u)
    inner_slope = number(_SCALE) * (_exactly(u, 1.0) + number(3 * 0.044715) * u * u)
    bend = u * _complement(t * t) * inner_slope
    return _exactly(u, 0.5) * (_exactly(u, 1.0) + t + bend)


def _waves(function: Callable[[Array], Array]) -> Callable[[Interval], Interval]:
    """A function of slope at most 1, by its value in the middle."""

    def rule(u: Interval) -> Interval:
        middle = (u.low + u.high) / 2
        radius = np.maximum(u.high - middle, middle - u.low)
        value = function(middle)
        return widened(value - radius - SLACK, value + radius + SLACK)

    return rule


_RULES: dict[str, Callable[[Interval], Interval]] = {
    "relu": lambda u: Interval(np.maximum(u.low, 0.0), np.maximum(u.high, 0.0)),
    "abs": lambda u: Interval(
        np.where((u.low <= 0) & (u.high >= 0), 0.0, np.minimum(np.abs(u.low), np.abs(u.high))),
        np.maximum(np.abs(u.low), np.abs(u.high)),
    ),
    "step": _steps(0.0, 1.0),
    "sign": _steps(-1.0, 1.0),
    "silu": lambda u: u * _sigmoid(u),
    "silu_slope": _silu_slope,
    "gauss": _gauss,
    "erf": _erf,
    "erf_slope": _erf_slope,
    "gelu": lambda u: u * _cumulative(u),
    "gelu_slope": lambda u: _cumulative(u) + u * _gauss(u),
    "gelu_tanh": _gelu_tanh,
    "gelu_tanh_core": _core,
    "gelu_tanh_slope": _gelu_tanh_slope,
    "gelu_tanh_scale": lambda u: number(_SCALE) * u,
    "sin": _waves(np.sin),
    "cos": _waves(np.cos),
}
