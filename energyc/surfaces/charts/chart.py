"""Charts: curves, marks and the scales of their axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, TypeGuard

Scale = Literal["linear", "log", "steps"]
Look = Literal["line", "faint", "dots", "dashed"]
Number = float | None


@dataclass(frozen=True)
class Series:
    """A curve: y over x, None or NaN where there is a gap. ``colour`` counts from 0; ``look`` is how it is drawn.

    ``group`` is the place of a slider at which it shows; None shows always.
    """

    label: str
    x: Sequence[float]
    y: Sequence[Number]
    look: Look = "line"
    colour: int = 0
    group: int | None = None


@dataclass(frozen=True)
class Mark:
    """A vertical line at ``x`` with a word."""

    x: float
    label: str


@dataclass(frozen=True)
class Chart:
    """Curves in one panel.

    ``x_scale`` ``steps`` is logarithmic from 1 on, with room for 0. A logarithmic y is linear where nothing is
    positive. The axis of y has ``y_range`` in it.
    """

    series: tuple[Series, ...]
    x_label: str
    y_label: str
    y_scale: Scale = "linear"
    x_scale: Scale = "linear"
    y_range: tuple[float, float] | None = None
    mark: Mark | None = None


#: The smallest and the largest number that is drawn; the squares of both are numbers too.
SMALLEST, LARGEST = 1e-100, 1e100


def is_number(value: Number) -> TypeGuard[float]:
    """Whether a value is there and can be drawn: it is 0, or an axis that shows it has room for its like beside it."""
    return value is not None and (value == 0 or SMALLEST <= abs(value) <= LARGEST)


def smoothed(values: Sequence[Number]) -> list[Number]:
    """Return a centred running mean over a fiftieth of the values, shorter at the ends, that ignores gaps."""
    half = max(1, len(values) // 100)
    known = [value if is_number(value) else 0.0 for value in values]
    sums, counts = [0.0, *accumulate(known)], [0, *accumulate(map(is_number, values))]
    result: list[Number] = []
    for k in range(len(values)):
        first, last = max(0, k - half), min(len(values), k + half + 1)
        count = counts[last] - counts[first]
        result.append((sums[last] - sums[first]) / count if count else None)
    return result
