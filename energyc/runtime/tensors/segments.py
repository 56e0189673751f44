"""Reductions over segments: along the last axis, the entries that an index sends to one place.

``x`` is ``[batch, ..., entries]``; ``index`` and ``mask`` have its axes, of size 1 where they are the same. What the
mask excludes takes no part, and an empty segment gives 0. A complex entry counts by its real part.
"""

from __future__ import annotations

import torch
from torch import Tensor


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
