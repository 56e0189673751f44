"""Compare a gradient with the exact one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

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
