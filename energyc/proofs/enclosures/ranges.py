"""Ranges of real numbers with their rims: whether an end is taken, or only approached."""

from __future__ import annotations

import math
from dataclasses import dataclass

#: Ends that floats computed are widened by this share, far more than NumPy's functions err.
SLACK = 1e-12
#: Stands for a number that is not 0 and too small for a float, so that an end that is 0 is exactly 0.
LEAST = math.ulp(0.0)


@dataclass(frozen=True)
class Range:
    """The numbers from ``low`` to ``high``; an end that is ``open`` is not one of them. Infinite ends never are."""

    low: float = -math.inf
    high: float = math.inf
    low_open: bool = False
    high_open: bool = False

    @property
    def finite(self) -> bool:
        """Whether both ends are finite."""
        return math.isfinite(self.low) and math.isfinite(self.high)

    @property
    def positive(self) -> bool:
        """Whether all its numbers are above 0."""
        return self.low > 0 or (self.low == 0 and self.low_open)

    @property
    def nonnegative(self) -> bool:
        """Whether none of its numbers is below 0."""
        return self.low >= 0

    @property
    def nonpositive(self) -> bool:
        """Whether none of its numbers is above 0."""
        return self.high <= 0

    @property
    def nonzero(self) -> bool:
        """Whether 0 is not one of its numbers."""
        return self.positive or (-self).positive

    @property
    def size(self) -> float:
        """The least upper bound of the absolute values."""
        return max(abs(self.low), abs(self.high))

    def holds(self, value: float) -> bool:
        """Whether a number is inside, its rims included."""
        return self.low <= value <= self.high

    def __neg__(self) -> Range:
        return Range(-self.high, -self.low, self.high_open, self.low_open)

    def __add__(self, other: Range) -> Range:
        return widened(
            self.low + other.low,
            self.high + other.high,
            self.low_open or other.low_open,
            self.high_open or other.high_open,
        )

    def __mul__(self, other: Range) -> Range:
        ends = [_end(a, b) for a in self.ends for b in other.ends]
        low, high = min(value for value, _ in ends), max(value for value, _ in ends)
        return widened(low, high, *(all(o for value, o in ends if value == end) for end in (low, high)))

    @property
    def ends(self) -> tuple[tuple[float, bool], tuple[float, bool]]:
        """Both ends, each with whether it is open."""
        low_open, high_open = self.low_open or math.isinf(self.low), self.high_open or math.isinf(self.high)
        return (self.low, low_open), (self.high, high_open)

    def closed(self) -> Range:
        """The range with its rims."""
        return Range(self.low, self.high)

    def within(self, other: Range) -> Range:
        """The numbers that are in both."""
        low = max((self.low, self.low_open), (other.low, other.low_open))
        high = min((self.high, not self.high_open), (other.high, not other.high_open))
        return Range(low[0], high[0], low[1], not high[1])

    def squared(self) -> Range:
        """The squares of its numbers."""
        if self.nonzero:
            return self * self
        return widened(0.0, _end((self.size, False), (self.size, False))[0], False, False)

    def repeated(self, least: float, most: float = math.inf) -> Range:
        """Sums of at least ``least`` and at most ``most`` of its numbers, at least one."""
        low = self.low * (least if self.low >= 0 else most)
        high = self.high * (most if self.high > 0 else least)
        return widened(low, high, self.low_open, self.high_open)


def _end(a: tuple[float, bool], b: tuple[float, bool]) -> tuple[float, bool]:
    """The product of two ends, and whether it is not taken: a 0 that is taken is one whatever the other is."""
    if 0.0 in (a[0], b[0]):
        return 0.0, all(is_open for value, is_open in (a, b) if value == 0.0)
    product = a[0] * b[0]
    return product or math.copysign(LEAST, product), a[1] or b[1]


ANY = Range()


def exactly(value: float) -> Range:
    """A number that a float is close to."""
    return widened(value, value)


def widened(low: float, high: float, low_open: bool = False, high_open: bool = False) -> Range:
    """A range around ends that were computed in floats; 0 is exact."""
    if math.isnan(low) or math.isnan(high) or low == math.inf or high == -math.inf:
        return ANY
    return Range(_outward(low, -math.inf), _outward(high, math.inf), low_open, high_open)


def _outward(end: float, way: float) -> float:
    if end == 0 or math.isinf(end):
        return end
    return math.nextafter(end + math.copysign(SLACK * abs(end), way), way)
