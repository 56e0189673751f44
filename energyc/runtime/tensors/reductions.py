"""Reductions that torch has no form of, or none along several axes."""

from __future__ import annotations

import itertools
import math

import torch
from torch import Tensor

#: Up to so many entries are reduced one after the other, on a CPU, where torch reduces short rows slowly.
FEW = 16


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


def largest_entry(x: Tensor, axes: int | tuple[int, ...]) -> Tensor:
    """The largest entry along the axes."""
    first, *others = few_entries(x, axes) or (x.amax(axes),)
    for other in others:
        first = torch.maximum(first, other)
    return first


def first_largest(x: Tensor, axes: int | tuple[int, ...]) -> Tensor:
    """1 at the first largest entry along the axes, else 0; 0 where every entry is -inf."""
    axes = (axes,) if isinstance(axes, int) else axes
    parts, hot = few_entries(x, axes), torch.empty_like(x, memory_format=torch.contiguous_format)
    if not parts:
        return first_largest_of_many(x, axes)
    top = largest_entry(x, axes)
    left = top > float("-inf")
    for part, place in zip(parts, few_entries(hot, axes)):
        here = (part == top) & left
        place.copy_(here)
        left ^= here
    return hot


def few_entries(x: Tensor, axes: int | tuple[int, ...]) -> list[Tensor]:
    """The entries along the axes in order, views over the other axes; nothing where they are not few, or only one."""
    axes = (axes,) if isinstance(axes, int) else axes
    sizes = [x.shape[k] for k in axes]
    if x.is_cuda or not 1 < math.prod(sizes) <= FEW:
        return []
    at: list[slice | int] = [slice(None)] * x.dim()
    found = []
    for places in itertools.product(*map(range, sizes)):
        for axis, place in zip(axes, places):
            at[axis] = place
        found.append(x[tuple(at)])
    return found


def first_largest_of_many(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The same as :func:`first_largest`, of many entries."""
    kept = [k for k in range(x.dim()) if k not in axes]
    flat = x.permute(*kept, *axes).flatten(len(kept))
    best = flat.max(-1, keepdim=True)
    hot = torch.zeros_like(flat).scatter_(-1, best.indices, 1.0) * (best.values > float("-inf"))
    shape = [x.shape[k] for k in (*kept, *axes)]
    order = [(*kept, *axes).index(k) for k in range(x.dim())]
    return hot.view(shape).permute(order)
