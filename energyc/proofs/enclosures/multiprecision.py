"""Multiprecision arithmetic for :class:`exact.Evaluation`, precise enough for difference quotients.

Differences that cancel in floats keep their digits here, and functions come from mpmath, not from the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any, cast

import mpmath
import numpy as np
from numpy.typing import NDArray

from energyc.mathematics.expressions import Constant, Evaluation, Power
from energyc.mathematics.functions import RELATIONS, ScalarFunction, scalar_function
from energyc.mathematics.ir import ArgMax, Coefficient, LogSumExp, Max
from energyc.mathematics.ir.nodes import Reduction
from energyc.proofs.enclosures.intervals import NoEnclosure

Array = NDArray[Any]
DIGITS = 120
_mp = mpmath.MPContext()
_mp.dps = DIGITS
#: The residue of numbers that cancel is smaller than this.
NOISE = 1e-60
Number = Any  # an mpmath number of this context


@dataclass(frozen=True)
class Multiprecision:
    """Arithmetic on object arrays of mpmath numbers; ``values`` holds the symbols, ``fractions`` the exact ones."""

    values: Mapping[str, float]
    fractions: Mapping[str, Fraction]
    largest = 200_000

    def array(self, values: Array) -> Array:
        """Floats, fractions or mpmath numbers as numbers of this precision."""
        return np.asarray(np.vectorize(number, otypes=[object])(values), dtype=object) if np.size(values) else values

    def coefficient(self, c: Coefficient) -> Array:
        result = number(c.value)
        for name, power in c.powers:
            result *= _power(number(self.fractions.get(name, self.values[name])), power)
        return np.asarray(result, dtype=object)

    def rearranged(self, x: Array, change: Callable[[Array], Array]) -> Array:
        return np.asarray(change(x))

    def where(self, mask: Array, x: Array) -> Array:
        return np.asarray(np.where(mask, x, number(0)))

    def sum(self, x: Array, axes: tuple[int, ...]) -> Array:
        return np.asarray(np.sum(x, axis=axes), dtype=object) if axes else x

    def map(self, function: ScalarFunction, u: Array) -> Array:
        if function.exponent is not None:
            return _elementwise(lambda x: _power(x, function.exponent or Fraction(0)), u)
        return _elementwise(lambda x: _value(function, x), u)

    def reduction(self, node: Reduction, u: Array, mask: Array, axes: tuple[int, ...]) -> Array:
        u = np.broadcast_to(u, mask.shape)
        some = mask.any(axis=axes, keepdims=True)
        top = np.where(mask, u, number("-1e1000000")).max(axis=axes, keepdims=True)
        if isinstance(node, Max | ArgMax):
            hit = mask & (u == top)
            if np.any(hit.sum(axis=axes) > 1):
                raise NoEnclosure("a tie")
            chosen = np.where(hit, number(1), number(0))
            largest = np.sum(np.where(hit, u, number(0)), axis=axes)
            return np.asarray(chosen if isinstance(node, ArgMax) else largest)
        weights = np.where(mask, _elementwise(_mp.exp, np.where(mask, u - top, number(0))), number(0))
        total = np.where(some, weights.sum(axis=axes, keepdims=True), number(1))
        if not isinstance(node, LogSumExp):
            return np.asarray(weights / total)
        level = np.where(some, _elementwise(_mp.log, total) + top, number(0))
        return np.asarray(np.squeeze(level, axis=axes))


def digits(count: int) -> AbstractContextManager[Any]:
    """A context in which numbers have ``count`` digits."""
    return cast(AbstractContextManager[Any], _mp.workdps(count))


def resolution() -> Number:
    """The relative distance of neighbouring numbers."""
    return _mp.mpf(10) ** -_mp.dps


def number(value: Any) -> Number:
    """A number of this precision."""
    return _mp.mpf(value.numerator) / value.denominator if isinstance(value, Fraction) else _mp.mpf(value)


def _elementwise(function: Callable[[Number], Number], u: Array) -> Array:
    return np.asarray(np.vectorize(function, otypes=[object])(u), dtype=object) if np.size(u) else u


def _power(x: Number, exponent: Fraction) -> Number:
    if (x == 0 and exponent < 0) or (x < 0 and exponent.denominator != 1):
        raise NoEnclosure("a power without a value")
    return x ** int(exponent) if exponent.denominator == 1 else x ** number(exponent)


def _positive(function: Callable[[Number], Number]) -> Callable[[Number], Number]:
    def rule(x: Number) -> Number:
        if x < 0 or (x == 0 and function is _mp.log):
            raise NoEnclosure("outside of the function's domain")
        return function(x)

    return rule


def _clear_of_zero(x: Number) -> Number:
    """A number whose sign is not due to rounding. Raises NoEnclosure if it may be."""
    if x != 0 and abs(x) < NOISE:
        raise NoEnclosure("at a jump")
    return x


def _sigmoid(x: Number) -> Number:
    return 1 / (1 + _mp.exp(-x))


def _cumulative(x: Number) -> Number:
    return _mp.erfc(-x / _mp.sqrt(2)) / 2


def _gelu_tanh_core(x: Number) -> Number:
    return _mp.tanh(_mp.sqrt(2 / _mp.pi) * (x + number(Fraction(44715, 10**6)) * x**3))


def _silu_integral(x: Number) -> Number:
    """``u log(1 + e^u) + Li2(-e^u)``."""
    return x * _mp.log(1 + _mp.exp(x)) + _mp.polylog(2, -_mp.exp(x)).real


#: Functions without a formula, and those whose formula would lose digits, or need a sign that rounding decides.
_FUNCTIONS: Mapping[str, Callable[[Number], Number]] = MappingProxyType(
    {
        "exp": _mp.exp,
        "log": _positive(_mp.log),
        "sqrt": _positive(_mp.sqrt),
        "abs": abs,
        "sign": lambda x: _mp.sign(_clear_of_zero(x)),
        "sin": _mp.sin,
        "cos": _mp.cos,
        "tanh": _mp.tanh,
        "sigmoid": _sigmoid,
        "logsigmoid": lambda x: -_mp.log(1 + _mp.exp(-x)),
        "relu": lambda x: x if x > 0 else number(0),
        "step": lambda x: number(1 if _clear_of_zero(x) > 0 else 0),
        "above": lambda x: number(1 if _clear_of_zero(x) > 0 else 0),
        "reached": lambda x: number(1 if _clear_of_zero(x) >= 0 else 0),
        "softplus": lambda x: _mp.log(1 + _mp.exp(x)),
        "silu_integral": _silu_integral,
        "erf": _mp.erf,
        "cumulative": _cumulative,
        "gelu_tanh_core": _gelu_tanh_core,
    }
)


def _value(function: ScalarFunction, x: Number) -> Number:
    """A function of the table: one of mpmath's, or by its formula. Raises NoEnclosure."""
    known = _FUNCTIONS.get(function.name)
    if known is not None:
        return known(x)
    if function.formula is None:
        raise NoEnclosure(function.name)
    return _InDigits(x)(function.formula)


class _InDigits(Evaluation[Number]):
    """The value of a definition."""

    task = "a value in many digits"

    def number(self, value: Any) -> Number:
        return number(Fraction(value))

    def constant(self, node: Constant) -> Number:
        return getattr(_mp, node.name) * 1

    def quotient(self, over: Number, under: Number) -> Number:
        if under == 0:
            raise NoEnclosure("a quotient without a value")
        return over / under

    def power(self, base: Number, node: Power) -> Number:
        return _power(base, node.exponent)

    def called(self, function: str, argument: Number) -> Number:
        return _value(scalar_function(function), argument)

    def chosen(self, relation: str, left: Number, right: Number, if_true: Number, if_false: Number) -> Number:
        return if_true if RELATIONS[relation](_clear_of_zero(left - right), number(0)) else if_false
