"""Exact scalar factors: a fraction times powers of dims and consts, so that a derivation holds for all sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property


@dataclass(frozen=True)
class Coefficient:
    """``value * prod(symbol ** power)``; ``powers`` is sorted by symbol and has no zero power."""

    value: Fraction
    powers: tuple[tuple[str, Fraction], ...] = ()

    def __hash__(self) -> int:
        """Computed once: coefficients are parts of keys, and fractions are slow to hash."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.value, self.powers))

    @staticmethod
    def symbol(name: str, power: Fraction | int = 1) -> Coefficient:
        """A dim or const to a power."""
        return Coefficient(Fraction(1), ((name, Fraction(power)),) if power else ())

    def __mul__(self, other: Coefficient) -> Coefficient:
        """The product; powers of equal symbols add."""
        if self is ONE or other is ONE:
            return other if self is ONE else self
        powers = self.powers or other.powers
        if self.powers and other.powers:
            both = dict(self.powers)
            for name, power in other.powers:
                both[name] = both.get(name, Fraction(0)) + power
            powers = tuple(sorted((n, p) for n, p in both.items() if p))
        return Coefficient(self.value * other.value, powers)

    def __neg__(self) -> Coefficient:
        """The negated coefficient."""
        return Coefficient(-self.value, self.powers)

    def scaled(self, value: Fraction | int) -> Coefficient:
        """The coefficient times a number."""
        return Coefficient(self.value * value, self.powers)

    def power(self, exponent: Fraction) -> Coefficient | None:
        """The coefficient to a power, or None where the number's root is not rational."""
        root = _rational_power(self.value, exponent)
        if root is None:
            return None
        return Coefficient(root, tuple((name, power * exponent) for name, power in self.powers))

    def number(self, values: Mapping[str, float]) -> float:
        """The number at given values of the symbols."""
        result = nearest(self.value)
        for name, power in self.powers:
            result *= _real_power(float(values[name]), power)
        return result

    @property
    def is_zero(self) -> bool:
        """Whether the factor is exactly zero."""
        return self.value == 0


def nearest(value: Fraction | float) -> float:
    """The float nearest to a number; infinity beyond the floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


ONE = Coefficient(Fraction(1))
ZERO = Coefficient(Fraction(0))


def _real_power(base: float, exponent: Fraction) -> float:
    if base == 0 and exponent < 0:
        return math.inf
    if base < 0 and exponent.denominator > 1:
        return math.nan
    try:
        return base ** float(exponent)
    except OverflowError:
        return math.inf if base > 0 or exponent % 2 == 0 else -math.inf


def _rational_power(value: Fraction, exponent: Fraction) -> Fraction | None:
    if exponent.denominator == 1:
        if value == 0 and exponent < 0:
            return None
        return value ** int(exponent)
    if value < 0:
        return None
    numerator = _integer_root(value.numerator, exponent.denominator)
    denominator = _integer_root(value.denominator, exponent.denominator)
    if numerator is None or denominator is None or (numerator == 0 and exponent < 0):
        return None
    return Fraction(numerator, denominator) ** exponent.numerator


def _integer_root(value: int, degree: int) -> int | None:
    root = round(value ** (1.0 / degree)) if value < 2**1000 else 0
    return next((r for r in (root - 1, root, root + 1) if r >= 0 and r**degree == value), None)
