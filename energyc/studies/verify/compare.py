"""Compare a gradient with the exact one, and over a small number: beta of a contrast, or the steps of a truncation."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Measure:
    """How close a gradient is to the exact one: their cosine, and |gradient - exact| / |exact|."""

    cosine: float
    relative_error: float

    def to_json(self) -> dict[str, float | None]:
        """Return the numbers, with None for those that are not finite."""
        return {
            k: v if math.isfinite(v) else None
            for k, v in (("cosine", self.cosine), ("relative_error", self.relative_error))
        }


def measure(gradient: Tensor, exact: Tensor) -> Measure:
    """Compare the gradients of one param; both numbers are NaN if the exact gradient is zero."""
    actual, expected = gradient.double().flatten(), exact.double().flatten()
    norm = float(expected.norm())
    if norm == 0.0:
        return Measure(math.nan, math.nan)
    cosine = float(actual @ expected) / (float(actual.norm()) * norm or 1.0)
    return Measure(cosine, float((actual - expected).norm()) / norm)


def measure_all(gradients: Mapping[str, Tensor], exact: Mapping[str, Tensor]) -> Measure:
    """Compare the gradients of all params, concatenated."""
    return measure(
        torch.cat([gradients[name].double().flatten() for name in exact]),
        torch.cat([gradient.double().flatten() for gradient in exact.values()]),
    )


def measure_each(gradients: Mapping[str, Tensor], exact: Mapping[str, Tensor]) -> dict[str, Measure]:
    """Compare the gradients of each param."""
    return {name: measure(gradients[name], exact[name]) for name in exact}


# ------------------------------------------------------------------ errors as a function of a small number


@dataclass(frozen=True)
class Sweep:
    """The points (small number, relative error) of a sweep, in the order of measurement."""

    name: str
    points: tuple[tuple[float, float], ...]

    def orders(self) -> list[float]:
        """Return the orders at which the error falls between neighbouring points, from 1e-2 down to the floor."""
        errors = [error for _, error in self.points]
        measurable, lowest = self._above_floor(), errors.index(min(errors))
        if lowest - 1 in measurable and errors[lowest] > 1e-11:
            measurable.append(lowest)  # points in between are rounding
        falling = [self.points[k] for k in measurable]
        return list(map(_order, falling, falling[1:]))

    def into_floor(self) -> float | None:
        """Return the order of the step from the last point above the floor to the next; None if no point is above it.

        The error falls at least this fast there, since rounding only adds to it.
        """
        measurable = self._above_floor()
        if not measurable:
            return None
        beta, error = self.points[measurable[-1] + 1]
        return _order(self.points[measurable[-1]], (beta, max(error, 1e-16)))

    def _above_floor(self) -> list[int]:
        """Return the indices of the points before the lowest whose errors are under 1e-2 and above rounding."""
        errors = [error for _, error in self.points]
        lowest = errors.index(min(errors))
        return [k for k, e in enumerate(errors[:lowest]) if max(3 * errors[lowest], 1e-12) < e < 1e-2]

    def measured(self) -> tuple[tuple[float, float], ...]:
        """Return the points up to the lowest error; what comes after it is rounding."""
        errors = [error for _, error in self.points]
        return self.points[: errors.index(min(errors)) + 1]

    def slope(self) -> float | None:
        """Return the median of the orders; None if all points are on the floor."""
        orders = self.orders()
        return median(orders) if orders else None

    def to_json(self) -> dict[str, Any]:
        """Return the points as plain lists."""
        return {"name": self.name, "points": [list(point) for point in self.points]}


def _order(first: tuple[float, float], second: tuple[float, float]) -> float:
    (x0, e0), (x1, e1) = first, second
    return math.log(e0 / e1) / math.log(x0 / x1)
