"""Reductions that torch has no form of: along several axes, or over segments.

A segment is what an index sends to one place along the last axis: ``x`` is ``[batch, ..., entries]``; ``index`` and
``mask`` have its axes, of size 1 where they are the same. What the mask excludes takes no part, and an empty segment
gives 0. A complex entry counts by its real part.
"""

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


# -------------------------------------------------------------------- segments


def segment_count(index: Tensor, size: int, dtype: torch.dtype) -> Tensor:
    """How many entries of each sample's ``index [batch, ...]`` are each of ``0 ... size - 1``."""
    index = index.flatten(1)
    ones = torch.ones((), device=index.device, dtype=dtype).expand(index.shape)
    return ones.new_zeros((len(index), size)).scatter_add_(1, index, ones)


def segment_softmax(x: Tensor, index: Tensor, size: int, mask: Tensor | None = None) -> Tensor:
    """``exp(x)`` over its sum in the segment, from the segment's largest entry."""
    weights, _, total, index = _exponentials(x, index, size, mask)
    divide = torch.div if weights.requires_grad else Tensor.div_  # autograd needs the exponentials as they are
    return divide(weights, total.masked_fill_(total == 0, 1).gather(-1, index))


def segment_logsumexp(x: Tensor, index: Tensor, size: int, mask: Tensor | None = None) -> Tensor:
    """``log sum exp(x)`` of each segment, from its largest entry."""
    _, top, total, _ = _exponentials(x, index, size, mask)
    return total.masked_fill_(total == 0, 1).log() + top


def segment_max(x: Tensor, index: Tensor, size: int, mask: Tensor | None = None) -> Tensor:
    """The largest entry of each segment."""
    top = _largest(*_full(x, index, mask), size)
    return top.masked_fill(top == float("-inf"), 0).to(x.dtype)


def segment_first_largest(x: Tensor, index: Tensor, size: int, mask: Tensor | None = None) -> Tensor:
    """1 at the first largest entry of each segment, else 0."""
    real, index, _ = full = _full(x, index, mask)
    top = _largest(*full, size).gather(-1, index)
    places = torch.arange(real.shape[-1], device=x.device).expand(real.shape)
    places = places.masked_fill((real != top) | (top == float("-inf")), real.shape[-1])
    first = places.new_full((*real.shape[:-1], size), real.shape[-1]).scatter_reduce_(-1, index, places, "amin")
    return ((places == first.gather(-1, index)) & (places < real.shape[-1])).to(x.dtype)


def _full(x: Tensor, index: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
    """The real part, -inf where the mask excludes; the index and x at their common shape."""
    shape = torch.broadcast_shapes(x.shape, index.shape, *([] if mask is None else [mask.shape]))
    real = (x.real if x.is_complex() else x).expand(shape)
    return real if mask is None else real.masked_fill(~mask, float("-inf")), index.expand(shape), x.expand(shape)


def _largest(real: Tensor, index: Tensor, x: Tensor, size: int) -> Tensor:
    """The largest real part in each segment, -inf where it is empty."""
    return real.new_full((*real.shape[:-1], size), float("-inf")).scatter_reduce_(-1, index, real, "amax")


def _exponentials(x: Tensor, index: Tensor, size: int, mask: Tensor | None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """``exp(x - top)``, the top and the sum of each segment, the index at full shape."""
    real, index, x = _full(x, index, mask)
    top = _largest(real.detach(), index, x, size)  # which changes no value
    top.masked_fill_(top == float("-inf"), 0)
    weights = ((x if x.is_complex() else real) - top.gather(-1, index)).exp_()  # 0 at -inf
    if mask is not None and x.is_complex():
        weights.masked_fill_(~mask.expand(real.shape), 0)
    total = weights.new_zeros(top.shape).scatter_add_(-1, index, weights)
    return weights, top, total, index
