"""Expansions of numbers along a ray, as its length t grows: leading powers of t, and a bound on the rest.

What an energy is far out is read off its leading term, which no finite number of points could show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from energyc.mathematics.functions import Homogeneous, ScalarFunction
from energyc.mathematics.ir import Coefficient, LogSumExp, Max, Reduction, Softmax, nearest
from energyc.proofs.enclosures.intervals import NoEnclosure

Array = NDArray[Any]
#: What is below every power of t that occurs, such as ``exp(-t)``.
VANISHING = -64.0
#: The coefficient of what is above every power of t: of any size, so that two of them do not cancel.
HUGE = (1e-100, math.inf)
#: A logarithm grows more slowly than this power.
LOGARITHM = 1e-3
#: Functions that are exponentially close to the ends of their range, which are exact.
SETTLING = ("tanh", "erf", "sigmoid")


@dataclass(frozen=True)
class Tail:
    """``sum of c t^p + O(t^rest)`` for t to infinity.

    ``terms`` maps powers above ``rest`` to enclosures ``(low, high)`` of c that do not contain 0. A ``rest`` of minus
    infinity is none.
    """

    terms: tuple[tuple[float, tuple[float, float]], ...] = ()
    rest: float = -math.inf

    @staticmethod
    def of(terms: Mapping[float, tuple[float, float]], rest: float = -math.inf) -> Tail:
        """Terms whose sign is not known join the rest."""
        kept = {}
        for power, (low, high) in terms.items():
            if low > 0 or high < 0:
                kept[power] = (low, high)
            elif low < 0 or high > 0:
                rest = max(rest, power)
        return Tail(tuple(sorted(((p, c) for p, c in kept.items() if p > rest), reverse=True)), rest)

    @staticmethod
    def bounded(power: float = 0.0) -> Tail:
        """``O(t^power)``."""
        return Tail((), power)

    @property
    def power(self) -> float:
        """A bound on its growth."""
        return max(self.terms[0][0] if self.terms else -math.inf, self.rest)

    @property
    def sign(self) -> int:
        """Its sign in the end; 0 where it is exactly 0. Raises NoEnclosure where none is known."""
        if not self.terms:
            if self.rest > -math.inf:
                raise NoEnclosure("a sign that is not known far out")
            return 0
        return 1 if self.terms[0][1][0] > 0 else -1

    def __add__(self, other: object) -> Tail:
        if not isinstance(other, Tail):
            return NotImplemented
        terms = dict(self.terms)
        for power, (low, high) in other.terms:
            own = terms.get(power, (0.0, 0.0))
            terms[power] = _summed(own, (low, high))
        return Tail.of(terms, max(self.rest, other.rest))

    def __mul__(self, other: object) -> Tail:
        if not isinstance(other, Tail):
            return NotImplemented
        if self == ZERO or other == ZERO:
            return ZERO
        terms: dict[float, tuple[float, float]] = {}
        for p, a in self.terms:
            for q, b in other.terms:
                terms[p + q] = _summed(terms.get(p + q, (0.0, 0.0)), _multiplied(a, b))
        return Tail.of(terms, max(_power_of_product(self.power, other.rest), _power_of_product(self.rest, other.power)))

    def __neg__(self) -> Tail:
        return Tail(tuple((p, (-high, -low)) for p, (low, high) in self.terms), self.rest)


ZERO = Tail()


def _power_of_product(one: float, other: float) -> float:
    """The sum of two powers; what is not there, of power minus infinity, leaves nothing."""
    return -math.inf if -math.inf in (one, other) else one + other


def _outward(low: float, high: float) -> tuple[float, float]:
    """Ends that were rounded, moved outward."""
    return math.nextafter(low, -math.inf), math.nextafter(high, math.inf)


def _summed(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """The sum of two intervals; one of numbers without rounding stays a number, so that terms cancel."""
    low, high = a[0] + b[0], a[1] + b[1]
    exact = low == high and low - a[0] == b[0] and low - b[0] == a[0]
    return (low, high) if exact else _outward(low, high)


def _multiplied(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    """The product of two intervals, likewise."""
    ends = [x * y for x in a for y in b]
    low, high = min(ends), max(ends)
    exact = low == high and Fraction(a[0]) * Fraction(b[0]) == Fraction(low)
    return (low, high) if exact else _outward(low, high)


def number(value: float) -> Tail:
    """A number that a float is close to."""
    return Tail.of({0.0: _outward(*_outward(value, value))})


def _read(value: Any) -> Tail:
    """A tail as it is; a float or a fraction as a number."""
    if isinstance(value, Tail):
        return value
    near = nearest(value)
    exact = not isinstance(value, Fraction) or value == near
    return Tail.of({0.0: (near, near)}) if exact else number(near)


def line(start: float, direction: float) -> Tail:
    """``start + direction t``, both exact."""
    return Tail.of({0.0: (start, start), 1.0: (direction, direction)})


@dataclass(frozen=True)
class Tails:
    """The arithmetic of tails on object arrays, for :class:`energyc.proofs.enclosures.exact.Evaluation`.

    ``values`` are those of all symbols. Raises NoEnclosure where it knows nothing.
    """

    values: Mapping[str, float]
    largest = 20_000

    def array(self, values: Array) -> Array:
        return _each(_read, values)

    def coefficient(self, c: Coefficient) -> Array:
        return _of(number(c.number(self.values)) if c.powers else _read(c.value))

    def rearranged(self, x: Array, change: Any) -> Array:
        return np.asarray(change(x))

    def where(self, mask: Array, x: Array) -> Array:
        full = np.empty(np.broadcast_shapes(mask.shape, x.shape), dtype=object)
        full[...] = x
        full[~np.broadcast_to(mask, full.shape)] = ZERO
        return full

    def sum(self, x: Array, axes: tuple[int, ...]) -> Array:
        return np.asarray(np.sum(x, axis=axes), dtype=object) if axes else x

    def map(self, function: ScalarFunction, u: Array) -> Array:
        return _each(lambda x: _mapped(function, x), np.asarray(u, dtype=object))

    def reduction(self, node: Reduction, u: Array, mask: Array, axes: tuple[int, ...]) -> Array:
        """A largest entry, and what is within a bound of it; entries of a softmax are bounded."""
        if isinstance(node, Softmax):
            return self.where(mask, _filled(u.shape, Tail.bounded()))
        if not isinstance(node, Max | LogSumExp):
            raise NoEnclosure(type(node).__name__)
        flat, taking_part = _rows(u, axes), _rows(mask, axes)
        largest = np.empty(flat.shape[:-1], dtype=object)
        for place in np.ndindex(largest.shape):
            top = _largest(list(flat[place][taking_part[place]]))
            largest[place] = top if isinstance(node, Max) else top + Tail.bounded()
        return largest


def _rows(x: Array, axes: tuple[int, ...]) -> Array:
    """An array with the axes as one, the last."""
    moved = np.moveaxis(x, axes, range(-len(axes), 0))
    return moved.reshape(*moved.shape[: moved.ndim - len(axes)], -1)


def _of(tail: Tail) -> Array:
    array = np.empty((), dtype=object)
    array[()] = tail
    return array


def _filled(shape: tuple[int, ...], tail: Tail) -> Array:
    array = np.empty(shape, dtype=object)
    array[...] = tail
    return array


def _each(function: Callable[[Any], Tail], u: Array) -> Array:
    made = np.empty(u.shape, dtype=object)
    for place in np.ndindex(u.shape):
        made[place] = function(u[place])
    return made


def _largest(tails: list[Tail]) -> Tail:
    """The one that is largest in the end. Two that differ by what is bounded by t^p are one of them up to that."""
    top = tails[0] if tails else ZERO
    for other in tails[1:]:
        apart = other + -top
        if apart.terms:
            top = other if apart.sign > 0 else top
        elif apart.rest > -math.inf:
            top = top + Tail.bounded(apart.rest)
    return top


def _mapped(function: ScalarFunction, u: Tail) -> Tail:
    if function.exponent is not None:
        return _power(u, function.exponent)
    if function.homogeneous is not None:
        return _homogeneous(u, function.homogeneous)
    if math.isfinite(function.low) and math.isfinite(function.high):
        return _limit(function, u) or Tail.bounded()
    if u.power <= 0 and function.domain is None:
        return Tail.bounded()
    if function.asymptotes is not None:
        factor, power = function.asymptotes[u.sign > 0]
        return _power(u, Fraction(power)) * Tail.of({0.0: (float(factor),) * 2}) + Tail.bounded()
    if function.name == "exp" and u.terms and u.terms[0][0] > 0:
        return Tail.bounded(VANISHING) if u.sign < 0 else Tail(((math.inf, HUGE),))
    if function.name == "log" and u.sign > 0 and 0 < u.terms[0][0] < math.inf:
        return Tail.bounded(LOGARITHM)
    if function.name == "sqrt" and u.sign > 0:
        return Tail.bounded(u.power / 2)
    raise NoEnclosure(function.name)


def _limit(function: ScalarFunction, u: Tail) -> Tail | None:
    """What a function tends to far out, up to what falls faster than powers; None where it is not known."""
    if function.name not in SETTLING or not u.terms or u.terms[0][0] <= 0:
        return None
    end = function.high if u.sign > 0 else function.low
    return Tail.of({0.0: (end, end)}, VANISHING)


def _power(u: Tail, exponent: Fraction) -> Tail:
    if exponent.denominator == 1 and exponent > 0:
        result = u
        for _ in range(int(exponent) - 1):
            result = result * u
        return result
    if u.sign == 0 or (exponent.denominator > 1 and u.sign < 0):
        raise NoEnclosure("a power of 0, or of a negative number")
    (power, ends), e = u.terms[0], float(exponent)
    if power == math.inf:
        return Tail.bounded(VANISHING if e < 0 else math.inf)
    second = max(u.terms[1][0] if len(u.terms) > 1 else -math.inf, u.rest)
    raised = sorted(math.copysign(abs(c) ** e, c if exponent % 2 else 1.0) for c in ends)
    rest = power * e + second - power if second > -math.inf else -math.inf
    return Tail.of({power * e: _outward(*_outward(raised[0], raised[1]))}, rest)


def _homogeneous(u: Tail, sides: Homogeneous) -> Tail:
    if not u.terms and u.rest > -math.inf:
        if u.rest <= 0 or sides.degree == 0:
            return Tail.bounded(max(0.0, u.rest) if sides.degree else 0.0)
        return Tail.bounded(u.rest * sides.degree)
    if u.sign == 0:
        if sides.degree == 0:
            raise NoEnclosure("a jump")
        return ZERO
    factor = float(sides.right if u.sign > 0 else sides.left)
    result = Tail.of({0.0: (factor, factor)})
    for _ in range(sides.degree):
        result = result * u
    return result
