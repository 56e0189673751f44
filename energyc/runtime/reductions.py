"""Reductions that torch has no form of, or none along several axes."""

from __future__ import annotations

import torch
from torch import Tensor


def softmax(x: Tensor, axes: int | tuple[int, ...]) -> Tensor:
    """Softmax along several axes; 0 where every entry is -inf."""
    top = x.amax(axes, keepdim=True)
    weights = torch.exp(x - top.masked_fill(top == float("-inf"), 0.0))
    total = weights.sum(axes, keepdim=True)
    return weights / total.masked_fill(total == 0, 1.0)


def batch_median(x: Tensor) -> Tensor:
    """The median over the batch, [batch, ...] to [...]; the mean of the middle two of an even number."""
    ordered, count = x.sort(0).values, len(x)
    return (ordered[(count - 1) // 2] + ordered[count // 2]) / 2


def or_zero(x: Tensor) -> Tensor:
    """0 in the place of -inf, which is what a reduction of nothing gives."""
    return x.masked_fill(x == float("-inf"), 0.0)


def first_largest(x: Tensor, axes: int | tuple[int, ...]) -> Tensor:
    """1 at the first largest entry along the axes, else 0; 0 where every entry is -inf."""
    axes = (axes,) if isinstance(axes, int) else axes
    kept = [k for k in range(x.dim()) if k not in axes]
    flat = x.permute(*kept, *axes).flatten(len(kept))
    best = flat.max(-1, keepdim=True)
    hot = torch.zeros_like(flat).scatter_(-1, best.indices, 1.0) * (best.values > float("-inf"))
    shape = [x.shape[k] for k in (*kept, *axes)]
    order = [(*kept, *axes).index(k) for k in range(x.dim())]
    return hot.view(shape).permute(order)
