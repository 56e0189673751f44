"""Enclosures of numbers: their range, whether they are bounded, whether they keep away from 0.

The ``range`` holds at all values of all inputs, each within its own range, and at all sizes. The other facts are for
params and clamps that are held, as the states move on their sets: the constants behind them may depend on what is held.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from energyc.proofs.enclosures.ranges import ANY, Range

UNIT = Range(0.0, 1.0)
POSITIVE = Range(0.0, math.inf, low_open=True)


@dataclass(frozen=True)
class Enclosure:
    """The facts that hold of every element of a node.

    ``bounded``: the absolute value stays below a number. ``away``: it stays above a positive one. ``continuous``:
    finite and continuous on the closed sets of the states.
    """

    range: Range = ANY
    bounded: bool = False
    away: bool = False
    continuous: bool = False

    def negated(self) -> Enclosure:
        """That of the opposite number."""
        return replace(self, range=-self.range)

    def cut(self) -> Enclosure:
        """This, with the facts that follow from the range."""
        away = self.away or self.range.low > 0 or self.range.high < 0
        return replace(self, bounded=self.bounded or self.range.finite, away=away)


def summed(parts: list[Enclosure]) -> Enclosure:
    """The sum of parts."""
    total = parts[0]
    for part in parts[1:]:
        total = Enclosure(
            total.range + part.range,
            total.bounded and part.bounded,
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
    return replace(part, range=number * part.range, away=part.away and number.nonzero)


def multiplied(a: Enclosure, b: Enclosure) -> Enclosure:
    """The product of two factors."""
    facts = (a.bounded and b.bounded, a.away and b.away, a.continuous and b.continuous)
    return Enclosure(a.range * b.range, *facts).cut()


def squared(part: Enclosure) -> Enclosure:
    """The square of a factor."""
    return replace(part, range=part.range.squared())


def entropy(u: Enclosure) -> Enclosure:
    """``u log u`` of what is nowhere negative: at least ``-1/e``, and 0 in the limit at 0."""
    if not u.range.nonnegative:
        return Enclosure()
    return Enclosure(Range(-0.36788, math.inf), u.bounded, continuous=u.continuous)
