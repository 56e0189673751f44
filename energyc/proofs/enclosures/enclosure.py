"""Enclosures of numbers: their range, how fast they grow with the states, whether they keep away from 0.

One arithmetic for every claim. The ``range`` holds at all values of all inputs, each within its own range, and at all
sizes. Growth, distance from 0 and continuity are for params and clamps that are held, as the states move on their sets:
the constants behind them may depend on what is held.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from energyc.proofs.enclosures.ranges import ANY, Range

#: The growth of what is not there, of what is bounded, of a logarithm (below any power), and an unknown growth.
ABSENT, BOUNDED, SLOW, UNKNOWN = -math.inf, 0.0, 1e-3, math.inf
UNIT = Range(0.0, 1.0)
POSITIVE = Range(0.0, math.inf, low_open=True)


@dataclass(frozen=True)
class Enclosure:
    """The facts that hold of every element of a node.

    ``up`` and ``down`` are powers p of bounds ``C (1 + |z|^p)`` on the positive and on the negative part, z being the
    states: ``ABSENT`` where there is no such part, ``BOUNDED`` where it is bounded. ``away``: the absolute value stays
    above a positive number. ``continuous``: finite and continuous on the closed sets of the states.
    """

    range: Range = ANY
    up: float = UNKNOWN
    down: float = UNKNOWN
    away: bool = False
    continuous: bool = False

    @property
    def growth(self) -> float:
        """The power p of a bound on the absolute value."""
        return max(self.up, self.down, BOUNDED)

    @property
    def has_floor(self) -> bool:
        """Whether it is bounded below."""
        return self.down <= BOUNDED

    def negated(self) -> Enclosure:
        """That of the opposite number."""
        return replace(self, range=-self.range, up=self.down, down=self.up)

    def cut(self) -> Enclosure:
        """This, with the facts that follow from the range."""
        up = ABSENT if self.range.nonpositive else min(self.up, BOUNDED) if self.range.high < math.inf else self.up
        down = (
            ABSENT if self.range.nonnegative else min(self.down, BOUNDED) if self.range.low > -math.inf else self.down
        )
        away = self.away or self.range.low > 0 or self.range.high < 0
        return replace(self, up=up, down=down, away=away)


def summed(parts: list[Enclosure]) -> Enclosure:
    """The sum of parts."""
    total = parts[0]
    for part in parts[1:]:
        total = Enclosure(
            total.range + part.range,
            max(total.up, part.up),
            max(total.down, part.down),
            (total.away and has_one_sign(total) and _agrees(total, part)) or (part.away and _agrees(part, total)),
            total.continuous and part.continuous,
        )
    return total


def has_one_sign(part: Enclosure) -> bool:
    """Whether a part is nowhere negative, or nowhere positive."""
    return part.range.nonnegative or part.range.nonpositive


def _agrees(part: Enclosure, other: Enclosure) -> bool:
    """Whether both are nowhere negative, or both nowhere positive."""
    return (part.range.nonnegative and other.range.nonnegative) or (part.range.nonpositive and other.range.nonpositive)


def times(number: Range, part: Enclosure) -> Enclosure:
    """A number times a part."""
    signed = part.negated() if (-number).positive else part
    return replace(signed, range=number * part.range, away=part.away and number.nonzero)


def _plus(a: float, b: float) -> float:
    """The growth of a product; nothing times anything is nothing."""
    return ABSENT if ABSENT in (a, b) else a + b


def multiplied(a: Enclosure, b: Enclosure) -> Enclosure:
    """The product of two factors."""
    return Enclosure(
        a.range * b.range,
        max(_plus(a.up, b.up), _plus(a.down, b.down)),
        max(_plus(a.up, b.down), _plus(a.down, b.up)),
        a.away and b.away,
        a.continuous and b.continuous,
    ).cut()


def squared(part: Enclosure) -> Enclosure:
    """The square of a factor."""
    return replace(part, range=part.range.squared(), up=2 * part.growth, down=ABSENT)


def entropy(u: Enclosure) -> Enclosure:
    """``u log u`` of what is nowhere negative: at least ``-1/e``, and 0 in the limit at 0."""
    if not u.range.nonnegative:
        return Enclosure()
    up = BOUNDED if u.up <= BOUNDED else u.up + SLOW
    return Enclosure(Range(-0.36788, math.inf), up, BOUNDED, continuous=u.continuous)
