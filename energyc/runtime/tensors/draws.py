"""Starting values of params, and noise, in float64 on the CPU: neither dtype nor device changes them."""

from __future__ import annotations

import torch
from torch import Tensor


def normal(random: torch.Generator | None, shape: tuple[int, ...], deviation: float) -> Tensor:
    """Normal draws of mean 0 in float64."""
    return deviation * torch.randn(shape, generator=random, dtype=torch.float64)


def uniform(random: torch.Generator | None, shape: tuple[int, ...], low: float, high: float) -> Tensor:
    """Uniform draws in float64."""
    return low + (high - low) * torch.rand(shape, generator=random, dtype=torch.float64)
