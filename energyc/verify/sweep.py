"""An error along a small number: beta of a contrast, steps of a truncation."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Sweep:
    """Errors along a sweep: (the small number, relative error) in the order of measuring."""

    name: str
    points: tuple[tuple[float, float], ...]

    def orders(self) -> list[float]:
        """The orders with which the error falls, between neighbouring points from 1e-2 down to the floor."""
        errors = [error for _, error in self.points]
        kept, lowest = self._above_floor(), errors.index(min(errors))
        if lowest - 1 in kept and errors[lowest] > 1e-11:
            kept.append(lowest)  # what lies between the last point above the floor and a later one is rounding
        falling = [self.points[k] for k in kept]
        return list(map(_order, falling, falling[1:]))

    def into_floor(self) -> float | None:
        """The order of the step from the last point above the floor to the next; None where no point lies above.

        The error falls at least so fast there, since rounding only adds to it.
        """
        kept = self._above_floor()
        if not kept:
            return None
        beta, error = self.points[kept[-1] + 1]
        return _order(self.points[kept[-1]], (beta, max(error, 1e-16)))

    def _above_floor(self) -> list[int]:
        """The points whose errors are under 1e-2 and above rounding, up to the lowest and without it."""
        errors = [error for _, error in self.points]
        lowest = errors.index(min(errors))
        return [k for k, e in enumerate(errors[:lowest]) if max(3 * errors[lowest], 1e-12) < e < 1e-2]

    def slope(self) -> float | None:
        """The median of the orders; None where there is none: it is all floor."""
        orders = self.orders()
        return median(orders) if orders else None

    def to_json(self) -> dict[str, Any]:
        """As plain lists."""
        return {"name": self.name, "points": [list(point) for point in self.points]}


def _order(first: tuple[float, float], second: tuple[float, float]) -> float:
    (x0, e0), (x1, e1) = first, second
    return math.log(e0 / e1) / math.log(x0 / x1)
