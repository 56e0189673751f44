"""Gradients as vectors, for the benchmarks that compare them."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor


def flat(params: Mapping[str, Tensor]) -> Tensor:
    """A gradient as one vector, in float64 on the CPU."""
    return torch.cat([value.detach().double().cpu().flatten() for value in params.values()])


def cosine(one: Tensor, two: Tensor) -> float:
    """The cosine of two gradients of one shape, in float64."""
    one, two = one.double().flatten(), two.double().flatten()
    return float(one @ two / (one.norm() * two.norm()))
