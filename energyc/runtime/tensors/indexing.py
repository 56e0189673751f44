"""Positions, gathers, windows, their adjoints, and reductions that torch has no form of: along axes or over segments.

A segment is what an index sends to one place along the last axis: ``x`` is ``[batch, ..., entries]``; ``index`` and
``mask`` have its axes, of size 1 where they are the same. What the mask excludes takes no part, and an empty segment
gives 0. A complex entry counts by its real part.
"""

from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F
from torch import Tensor

#: Up to so many entries are reduced one after the other, on a CPU, where torch reduces short rows slowly.
FEW = 16


def positions(size: int, axis: int, rank: int, device: torch.device) -> Tensor:
    """``0 ... size - 1`` along one of ``rank`` axes."""
    return torch.arange(size, device=device).view([size if k == axis else 1 for k in range(rank)])


def one_hot(index: Tensor, size: int, axis: int, dtype: torch.dtype) -> Tensor:
    """1 where an axis of ``size``, which is put in at ``axis``, has the number of the index, else 0."""
    numbers = torch.arange(size, device=index.device).view(-1, *[1] * (index.dim() - axis))
    return (numbers == index.unsqueeze(axis)).to(dtype)


def element(table: Tensor, *places: Tensor) -> Tensor:
    """Each sample's integers at places: numbers, or tensors with the batch (or 1) in front; -1 outside of the table."""
    at = torch.broadcast_tensors(*places)
    sizes = table.shape[1:]
    inside = torch.stack([(p >= 0) & (p < n) for p, n in zip(at, sizes)]).all(0)
    samples = torch.arange(len(table), device=table.device).view(-1, *[1] * (at[0].dim() - 1))
    found = table[samples, *(p.clamp(0, n - 1) for p, n in zip(at, sizes))]
    return torch.where(inside, found, -1)


def windows(
    x: Tensor, axis: int | tuple[int, ...], offset: int, counts: tuple[int, ...], strides: tuple[int, ...]
) -> Tensor:
    """``x[..., offset + sum(stride * i), ...]`` as a view with an axis for each i; 0 outside x.

    Of several axes of x, in their order, each is replaced so.
    """
    if isinstance(axis, tuple):
        for k, each in enumerate(axis):
            x = windows(x, each + k * (len(counts) - 1), offset, counts, strides)
        return x
    reach = [s * (n - 1) for s, n in zip(strides, counts)]
    low = offset + sum(min(0, r) for r in reach)
    high = offset + sum(max(0, r) for r in reach)
    if low < 0 or high >= x.shape[axis]:
        before, after = max(0, -low), max(0, high + 1 - x.shape[axis])
        x = F.pad(x, [0, 0] * (x.dim() - axis - 1) + [before, after])
        offset += before
    first = offset + sum(min(0, r) for r in reach)
    shape = (*x.shape[:axis], *counts, *x.shape[axis + 1 :])
    steps = (*x.stride()[:axis], *(abs(s) * x.stride(axis) for s in strides), *x.stride()[axis + 1 :])
    view = x.as_strided(shape, steps, x.storage_offset() + first * x.stride(axis))
    backward = [axis + k for k, s in enumerate(strides) if s < 0]
    return view.flip(backward) if backward else view


def overlap_add(t: Tensor, size: int | tuple[int, ...], offset: int, strides: tuple[int, ...]) -> Tensor:
    """The adjoint of :func:`windows`: the window axes come last, one axis of ``size`` takes their place.

    For several sizes there are windows of as many axes, one after the other, and an axis of each size in their place.
    """
    k = len(strides)
    if isinstance(size, tuple):
        for left in range(len(size), 0, -1):
            first = t.dim() - left * k
            windows_last = t.movedim(tuple(range(first, first + k)), tuple(range(-k, 0)))
            t = overlap_add(windows_last, size[-left], offset, strides).movedim(-1, first)
        return t
    counts = t.shape[t.dim() - k :]
    if k == 2 and offset == 0 and strides == (counts[1], 1) and size == counts[0] * counts[1]:
        return t.flatten(-2)  # windows side by side
    reach = [s * (n - 1) for s, n in zip(strides, counts)]
    before = max(0, -offset - sum(min(0, r) for r in reach))
    after = max(0, offset + sum(max(0, r) for r in reach) + 1 - size)
    total = t.new_zeros((*t.shape[: t.dim() - k], before + size + after))
    along = max(range(k), key=lambda j: counts[j])
    others = [j for j in range(k) if j != along]
    for others_at in itertools.product(*(range(counts[j]) for j in others)):
        start = before + offset + sum(strides[j] * i for j, i in zip(others, others_at))
        entry = t.permute(*(t.dim() - k + j for j in others), *range(t.dim() - k), t.dim() - k + along)[others_at]
        first = start + min(0, reach[along])
        place = slice(first, first + abs(reach[along]) + 1, abs(strides[along]))
        total[..., place] += entry.flip(-1) if strides[along] < 0 else entry
    return total[..., before : before + size]


def gather(x: Tensor, index: Tensor, axis: int) -> Tensor:
    """Each sample's ``x[..., index, ...]`` along an axis, in whose place are those of the index ``[batch, ...]``.

    Its rows lie one after the other in memory, however its axes stand, as do those of products of such tensors:
    reading and adding up whole rows is up to three times as fast as along an inner axis.
    """
    x = x.expand(len(index), *x.shape[1:])
    rows = x.movedim(axis, 1).reshape(-1, *x.shape[1:axis], *x.shape[axis + 1 :]).contiguous()
    found = rows.index_select(0, in_one_row(index, x.shape[axis]))
    return found.unflatten(0, index.shape).movedim(
        tuple(range(1, index.dim())), tuple(range(axis, axis + index.dim() - 1))
    )


def segment_sum(x: Tensor, index: Tensor, axis: int, size: int) -> Tensor:
    """The adjoint of :func:`gather`: each sample's entries along an axis, added up where the index sends them.

    ``index`` is ``[batch, entries]``, or has as many axes as x, of size 1 where it is the same.
    """
    x = x.expand(len(index), *x.shape[1:])
    if index.dim() > 2:
        shape = (*x.shape[:axis], size, *x.shape[axis + 1 :])
        return x.new_zeros(shape).scatter_add_(axis, index.expand(x.shape), x)
    rows = x.movedim(axis, 1).flatten(0, 1)
    total = rows.new_zeros((len(x) * size, *rows.shape[1:])).index_add_(0, in_one_row(index, size), rows)
    return total.unflatten(0, (len(x), size)).movedim(1, axis)


def in_one_row(index: Tensor, size: int) -> Tensor:
    """The places of all samples where their rows stand one sample after the other, ``size`` for each."""
    if len(index) > 1:
        index = index + size * torch.arange(len(index), device=index.device).view(-1, *[1] * (index.dim() - 1))
    return index.flatten()


def scatter_add(t: Tensor, index: Tensor, size: int) -> Tensor:
    """The adjoint of ``table[index]``: rows of t are added up where they were read from."""
    rows = t.reshape(index.numel(), *t.shape[index.dim() :])
    return t.new_zeros((size, *rows.shape[1:])).index_add_(0, index.reshape(-1), rows)


# -------------------------------------------------------------------- reductions along axes


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
    """Count, for each sample, how often each of ``0 ... size - 1`` occurs in ``index [batch, ...]``."""
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
