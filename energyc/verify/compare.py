"""Two gradients beside each other."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Measure:
    """How near a gradient is to the exact one: their cosine, and |found - exact| / |exact|."""

    cosine: float
    relative_error: float

    def to_json(self) -> dict[str, float | None]:
        """As numbers; what is not finite is null."""
        return {
            k: v if math.isfinite(v) else None
            for k, v in (("cosine", self.cosine), ("relative_error", self.relative_error))
        }


def measure(found: Tensor, exact: Tensor) -> Measure:
    """Of one param. Beside an exact gradient of zero there is no cosine and no relative error: they are NaN."""
    a, b = found.double().flatten(), exact.double().flatten()
    size = float(b.norm())
    if size == 0.0:
        return Measure(math.nan, math.nan)
    cosine = float(a @ b) / (float(a.norm()) * size or 1.0)
    return Measure(cosine, float((a - b).norm()) / size)


def measure_all(found: Mapping[str, Tensor], exact: Mapping[str, Tensor]) -> Measure:
    """Of all params together."""
    return measure(
        torch.cat([found[n].double().flatten() for n in exact]),
        torch.cat([t.double().flatten() for t in exact.values()]),
    )


def measure_each(found: Mapping[str, Tensor], exact: Mapping[str, Tensor]) -> dict[str, Measure]:
    """Of each param."""
    return {name: measure(found[name], exact[name]) for name in exact}
