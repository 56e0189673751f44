"""Starting values of params, and noise, in float64 on the CPU: neither dtype nor device changes them."""

from __future__ import annotations

from math import prod, sqrt

import torch
from torch import Tensor


def normal(random: torch.Generator | None, shape: tuple[int, ...], deviation: float) -> Tensor:
    """Normal draws of mean 0 in float64."""
    return deviation * torch.randn(shape, generator=random, dtype=torch.float64)


def uniform(random: torch.Generator | None, shape: tuple[int, ...], low: float, high: float) -> Tensor:
    """Uniform draws in float64."""
    return low + (high - low) * torch.rand(shape, generator=random, dtype=torch.float64)


def glorot(random: torch.Generator | None, shape: tuple[int, ...], copies: int = 0) -> Tensor:
    """Uniform draws on [-b, b] with b = sqrt(6 / (fan_in + fan_out)), in float64 (Glorot and Bengio 2010).

    The first ``copies`` axes number copies of a param; each is drawn as a single one would be.
    """
    bound = sqrt(6 / sum(fans(shape[copies:])))
    return uniform(random, shape, -bound, bound)


def kaiming(random: torch.Generator | None, shape: tuple[int, ...], copies: int = 0) -> Tensor:
    """Normal draws of variance 2 / fan_in in float64 (He et al. 2015), with ``copies`` as ``glorot``."""
    return normal(random, shape, sqrt(2 / fans(shape[copies:])[0]))


def fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return fan in and fan out of a weight ``W[out, in, ...]``: what follows the second axis is a kernel, in both."""
    if len(shape) < 2:
        return max(prod(shape), 1), max(prod(shape), 1)
    return prod(shape[1:]), shape[0] * prod(shape[2:])
