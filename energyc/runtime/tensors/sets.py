"""Projections on constraint sets, and the adjoints of their derivatives.

What has no nearest point, since it is not finite or too large for its length to be, becomes NaN along the set: it
exploded.
"""

from __future__ import annotations

import torch
from torch import Tensor


def standardized_(x: Tensor, axes: tuple[int, ...]) -> None:
    """To mean 0 and variance 1 along the axes, in place; what has no variance stays as it is."""
    centred = x - x.mean(axes, keepdim=True)
    deviation = finite_length(centred.square().mean(axes, keepdim=True).sqrt_())
    torch.where(deviation == 0, x, centred / deviation, out=x)


def standardized_adjoint(x: Tensor, seed: Tensor, axes: tuple[int, ...]) -> Tensor:
    """``(seed - mean(seed) - u mean(u seed)) / deviation`` with u the standardised x."""
    centred = x - x.mean(axes, keepdim=True)
    deviation = centred.square().mean(axes, keepdim=True).sqrt_()
    u = centred / deviation
    back = (seed - seed.mean(axes, keepdim=True) - u * (u * seed).mean(axes, keepdim=True)) / deviation
    return torch.where(deviation > 0, back, seed)


def sphere_(x: Tensor, axes: tuple[int, ...]) -> None:
    """To norm 1 along the axes, in place; zero stays as it is."""
    length = finite_length(x.square().sum(axes, keepdim=True).sqrt_())
    x.div_(length.masked_fill_(length == 0, 1.0))


def sphere_adjoint(x: Tensor, seed: Tensor, axes: tuple[int, ...]) -> Tensor:
    """``(seed - u <u, seed>) / |x|`` with u = x / |x|."""
    length = x.square().sum(axes, keepdim=True).sqrt_()
    u = x / length
    back = (seed - u * (u * seed).sum(axes, keepdim=True)) / length
    return torch.where(length > 0, back, seed)


def finite_length(length: Tensor) -> Tensor:
    """Lengths with NaN for those that overflow, by which a vector would be divided into zeros; in place."""
    return length.masked_fill_(length == float("inf"), float("nan"))


def simplex_(x: Tensor, axes: tuple[int, ...]) -> None:
    """To the nearest nonnegative point of sum 1 along the axes, in place (Held, Wolfe and Crowder 1974)."""
    x.sub_(x.amax(axes, keepdim=True))  # the projection is the same, and its threshold exact however large x is
    x.sub_(simplex_threshold(x, axes)).clamp_(min=0)


def simplex_adjoint(x: Tensor, seed: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The seed less its mean over the support, on the support."""
    x = x - x.amax(axes, keepdim=True)
    support = x > simplex_threshold(x, axes)
    seed = torch.where(support, seed, 0.0)
    return torch.where(support, seed - seed.sum(axes, keepdim=True) / support.sum(axes, keepdim=True), 0.0)


def simplex_threshold(x: Tensor, axes: tuple[int, ...]) -> Tensor:
    """The threshold of the projection: it is subtracted from each entry before those below zero are cut off.

    The largest entry is 0, and thus inside; where entries are not finite none is, and the threshold is NaN.
    """
    kept = [k for k in range(x.dim()) if k not in axes]
    flat = x.permute(*kept, *axes).flatten(len(kept))
    falling = flat.sort(-1, descending=True).values
    excess = falling.cumsum(-1) - 1
    count = torch.arange(1, flat.shape[-1] + 1, device=x.device)
    size = (falling * count > excess).sum(-1, keepdim=True).clamp_min(1)
    threshold = excess.gather(-1, size - 1) / size
    shape = [1 if k in axes else x.shape[k] for k in range(x.dim())]
    return threshold.view(shape)
