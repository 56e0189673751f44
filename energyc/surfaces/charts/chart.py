"""Charts: curves, marks and the scales of their axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, TypeGuard

Scale = Literal["linear", "log", "steps"]
Look = Literal["line", "faint", "dots", "dashed", "crosses"]
Number = float | None


@dataclass(frozen=True)
class Series:
    """A curve: y over x, None or NaN where there is a gap. ``colour`` counts from 0; ``look`` is how it is drawn.

    ``deviation`` is drawn as a band around y. ``group`` is the place of a slider at which it shows; None shows always.
    """

    label: str
    x: Sequence[float]
    y: Sequence[Number]
    look: Look = "line"
    colour: int = 0
    group: int | None = None
    deviation: Sequence[float] | None = None


@dataclass(frozen=True)
class Mark:
    """A line across the panel at a value, with a label."""

    at: float
    label: str = ""


@dataclass(frozen=True)
class Chart:
    """Curves in one panel.

    The scale ``steps`` is linear up to 1 and logarithmic from there on. A logarithmic axis is linear where a value is
    negative, or where all are alike. The axes have ``x_range`` and ``y_range`` in them. ``mark`` is a vertical line,
    ``level`` a horizontal one.
    """

    series: tuple[Series, ...]
    x_label: str
    y_label: str
    y_scale: Scale = "linear"
    x_scale: Scale = "linear"
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    mark: Mark | None = None
    level: Mark | None = None
    title: str = ""


#: The smallest and the largest number that is drawn; the squares of both are numbers too.
SMALLEST, LARGEST = 1e-100, 1e100


def is_number(value: Number) -> TypeGuard[float]:
    """Whether a value is there and can be drawn: it is 0, or an axis that shows it has room for its like beside it."""
    return value is not None and (value == 0 or SMALLEST <= abs(value) <= LARGEST)


def mean(values: Sequence[Number]) -> Number:
    """Return the mean of values; None where one is missing."""
    known = [value for value in values if is_number(value)]
    return sum(known) / len(known) if known and len(known) == len(values) else None


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
