"""What is known of a number as the states move on their sets, and arithmetic with it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, NamedTuple

NONE, COMPACT, FREE = range(3)
#: By how much a square root is widened at most, and by what share what is computed in floats.
ROOT, SLACK = 2**60, Fraction(1, 10**9)


class Facts(NamedTuple):
    """Facts of a number, each at all states on their sets at which it has a value.

    It is from ``low`` to ``high`` for all params on their sets, all inputs and sizes, and 0 only if ``zero``. With all
    but the states held it is bounded ``below`` and ``above``, keeps ``away`` from 0, is finite and ``continuous``, and
    near each state the largest (``top``) or the least (``bottom``) of finitely many functions with continuous slopes.
    Both together are: it has a continuous slope. It ``reads`` no state, states on compact sets, or any. Where a state
    decides between two expressions, it may not be known (None) whether they meet, and whether their slopes do.
    """

    low: Any = -math.inf
    high: Any = math.inf
    zero: bool = True
    below: bool = False
    above: bool = False
    away: bool = False
    continuous: Any = False
    top: Any = False
    bottom: Any = False
    reads: int = FREE

    @property
    def smooth(self) -> Any:
        """Whether it has a continuous slope."""
        return self.top and self.bottom

    @property
    def bounded(self) -> bool:
        """Whether it is bounded with all but the states held."""
        return self.below and self.above

    @property
    def positive(self) -> bool:
        """Whether it is above 0 everywhere."""
        return self.low >= 0 and not self.zero

    @property
    def is_number(self) -> bool:
        """Whether it is one number that is known."""
        return bool(self.low == self.high)

    @property
    def signed(self) -> bool:
        """Whether it has one sign."""
        return self.low >= 0 or self.high <= 0

    def settled(self) -> Facts:
        """With what follows from the range, where no state is read, and on compact sets."""
        zero = self.zero and self.low <= 0 <= self.high
        held, image = self.reads == NONE, self.reads != FREE and self.continuous
        return self._replace(
            zero=zero,
            below=self.below or held or image or self.low > -math.inf,
            above=self.above or held or image or self.high < math.inf,
            away=self.away or self.low > 0 or self.high < 0 or ((held or image) and not zero),
            continuous=held or self.continuous,
            top=held or self.top,
            bottom=held or self.bottom,
        )

    def __neg__(self) -> Facts:
        turned = self._replace(low=-self.high, high=-self.low, below=self.above, above=self.below)
        return turned._replace(top=self.bottom, bottom=self.top)

    def __add__(self, other: Facts) -> Facts:  # type: ignore[override]
        agree = (self.low >= 0 and other.low >= 0) or (self.high <= 0 and other.high <= 0)
        return Facts(
            _sum(self.low, other.low, -math.inf),
            _sum(self.high, other.high, math.inf),
            not agree or (self.zero and other.zero),
            self.below and other.below,
            self.above and other.above,
            agree and (self.away or other.away),
            self.continuous and other.continuous,
            self.top and other.top,
            self.bottom and other.bottom,
            max(self.reads, other.reads),
        ).settled()

    def __mul__(self, other: Facts) -> Facts:  # type: ignore[override]
        ends = [of_ends(a, b) for a in self[:2] for b in other[:2]]
        one, two = (other, self) if self.smooth else (self, other)
        top, bottom = (two.smooth and way for way in _turned(one.top, one.bottom, two))
        return Facts(
            min(ends),
            max(ends),
            self.zero or other.zero,
            _is_floored(self, other) or _is_floored(-self, -other),
            _is_floored(-self, other) or _is_floored(self, -other),
            self.away and other.away,
            self.continuous and other.continuous,
            top or (one.smooth and two.smooth),
            bottom or (one.smooth and two.smooth),
            max(self.reads, other.reads),
        ).settled()

    def inverse(self) -> Facts:
        """1 over it."""
        low, high = (1 / Fraction(end) if end and abs(end) < math.inf else 0 for end in (self.high, self.low))
        positive, negative = self.positive, (-self).positive
        return Facts(
            low if positive or (negative and self.high) else -math.inf,
            high if negative or (positive and self.low) else math.inf,
            False,
            self.away,
            self.away,
            self.bounded,
            self.continuous and not self.zero,
            self.smooth and not self.zero,
            self.smooth and not self.zero,
            self.reads,
        ).settled()

    def power(self, exponent: Fraction) -> Facts:
        """A power by a number: of one that is not whole, of what is not below 0."""
        if exponent < 0:
            return self.power(-exponent).inverse()
        if not exponent:
            return number(1)
        whole, even = exponent.denominator == 1, exponent % 2 == 0
        inside = whole or self.positive or self.low >= 0
        low, high = self[:2] if whole and not even else (max(self.low, 0), max(self.high, 0))
        if even:
            low, high = max(low, -self.high), max(high, -self.low)
        known = Facts(
            _raised(low, exponent, -1),
            _raised(high, exponent, 1),
            self.zero,
            even or not whole or self.below,
            self.above if exponent % 2 else self.bounded or (self.above and self.low >= 0),
            self.away,
            self.continuous and inside,
            reads=self.reads,
        )
        rising = self.low >= 0 or (whole and not even)
        slope = whole or self.positive or exponent > 1
        top, bottom = slope and self.top and (rising or self.smooth), slope and self.bottom and (rising or self.smooth)
        return known._replace(top=top and inside, bottom=bottom and inside).settled()

    def joined(self, other: Facts) -> Facts:
        """Either, by what no state is in."""
        low, high = min(self.low, other.low), max(self.high, other.high)
        flags = (a and b for a, b in zip(self[3:9], other[3:9], strict=True))
        return Facts._make([low, high, self.zero or other.zero, *flags, max(self.reads, other.reads)])

    def repeated(self, maybe_none: bool) -> Facts:
        """The sum of one or more such numbers, or of none."""
        low = -math.inf if self.low < 0 else 0 if maybe_none else self.low
        high = math.inf if self.high > 0 else 0 if maybe_none else self.high
        certain = self.signed and not maybe_none
        return self._replace(low=low, high=high, zero=self.zero or not certain, away=self.away and certain).settled()


def number(value: Any) -> Facts:
    """A number that is known."""
    return Facts(value, value, reads=NONE).settled()


def held(low: Any = -math.inf, high: Any = math.inf, zero: bool = True) -> Facts:
    """A number that no state moves."""
    return Facts(low, high, zero, reads=NONE).settled()


def _sum(a: Any, b: Any, otherwise: float) -> Any:
    return otherwise if otherwise in (a, b) else a + b


def of_ends(a: Any, b: Any) -> Any:
    """The product of two ends: with an infinite one by the signs alone, as a fraction may be beyond the floats."""
    if a == 0 or b == 0:
        return 0
    infinite = math.inf in (abs(a), abs(b))
    return (math.inf if (a > 0) == (b > 0) else -math.inf) if infinite else a * b


def _raised(end: Any, exponent: Fraction, way: int) -> Any:
    """A power above 0 of an end, widened where it is computed in floats."""
    if exponent.denominator == 1 or end in (0, 1, math.inf):
        return end**exponent.numerator
    if not Fraction(1, 10**30) < end < 10**30 or exponent > 9:
        return 0 if way < 0 else math.inf
    return Fraction(float(end) ** float(exponent)) * (1 + way * SLACK)


def root(square: Any) -> Any:
    """The square root, rounded up where it is no fraction."""
    if square == math.inf:
        return square
    exact = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if exact**2 == square:
        return exact
    return Fraction(math.isqrt(square.numerator * ROOT**2 // square.denominator) + 1, ROOT)


def _is_floored(a: Facts, b: Facts) -> bool:
    """Whether a product is bounded below, by what is known of both factors with their signs as they are."""
    one = a.low >= 0 and ((b.low >= 0) or (a.above and b.below))
    two = b.low >= 0 and b.above and a.below
    return one or two or (a.bounded and b.bounded)


def _turned(top: bool, bottom: bool, by: Facts) -> tuple[bool, bool]:
    """Which of the two a multiple is."""
    return (top, bottom) if by.low >= 0 else (bottom, top) if by.high <= 0 else (False, False)
