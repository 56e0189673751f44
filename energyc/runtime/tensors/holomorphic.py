"""Functions, normalisers and projections of complex tensors; nothing is conjugated."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def complex_sigmoid(u: Tensor) -> Tensor:
    """``1 / (1 + exp(-u))`` without overflow."""
    falling = torch.exp(torch.where(u.real > 0, -u, u))
    return torch.where(u.real > 0, torch.ones_like(u), falling) / (1 + falling)


def complex_softplus(u: Tensor) -> Tensor:
    """``log(1 + exp(u))`` without overflow."""
    positive = u.real > 0
    return torch.where(positive, u, torch.zeros_like(u)) + torch.log(1 + torch.exp(torch.where(positive, -u, u)))


def complex_silu(u: Tensor) -> Tensor:
    """``u sigmoid(u)``."""
    return u * complex_sigmoid(u)


def complex_silu_slope(u: Tensor) -> Tensor:
    """``s + u s (1 - s)`` with s the sigmoid of u."""
    s = complex_sigmoid(u)
    return s + u * s * (1 - s)


def complex_gelu_tanh(u: Tensor) -> Tensor:
    """``u/2 (1 + tanh(sqrt(2 / pi) (u + 0.044715 u^3)))``."""
    return u / 2 * (1 + torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)))


def complex_gelu_tanh_slope(u: Tensor) -> Tensor:
    """The slope of gelu in its tanh form."""
    t = torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3))
    inner = math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * u.square())
    return (1 + t) / 2 + u * (1 - t.square()) * inner / 2


def complex_softmax(x: Tensor, mask: Tensor | None, axes: tuple[int, ...]) -> Tensor:
    """A ratio of exponentials, shifted by the largest real part; 0 where the mask is false."""
    real = x.real if mask is None else x.real.masked_fill(~mask, float("-inf"))
    top = real.amax(axes, keepdim=True)
    weights = torch.exp(x - top.masked_fill(top == float("-inf"), 0.0))
    if mask is not None:
        weights = weights * mask
    total = weights.sum(axes, keepdim=True)
    return weights / torch.where(total == 0, 1.0, total)


def complex_logsumexp(x: Tensor, mask: Tensor | None, axes: tuple[int, ...]) -> Tensor:
    """The log of a sum of exponentials, shifted by the largest real part; 0 where the mask is nowhere true."""
    real = x.real if mask is None else x.real.masked_fill(~mask, float("-inf"))
    top = real.amax(axes, keepdim=True)
    top = top.masked_fill(top == float("-inf"), 0.0)
    weights = torch.exp(x - top)
    total = (weights if mask is None else weights * mask).sum(axes)
    return torch.where(total == 0, 0.0, torch.log(torch.where(total == 0, 1.0, total)) + top.squeeze(axes))


def complex_standardized_(x: Tensor, axes: tuple[int, ...]) -> None:
    """To mean 0 and mean square 1 along the axes, in place, nothing conjugated."""
    centred = x - x.mean(axes, keepdim=True)
    x.copy_(centred / centred.square().mean(axes, keepdim=True).sqrt())


def complex_sphere_(x: Tensor, axes: tuple[int, ...]) -> None:
    """To a sum of squares of 1 along the axes, in place, nothing conjugated."""
    x.div_(x.square().sum(axes, keepdim=True).sqrt())
