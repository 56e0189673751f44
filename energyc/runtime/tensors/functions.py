"""Scalar functions that torch has no stable form of, and functions of complex tensors."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def step(u: Tensor) -> Tensor:
    """1 where u > 0, else 0: the slope of relu."""
    return (u > 0).to(u.dtype)


def reached(u: Tensor) -> Tensor:
    """1 where u >= 0 or is NaN, else 0: whatever ``step(-u)`` does not select."""
    return 1 - (u < 0).to(u.dtype)


def softplus(u: Tensor) -> Tensor:
    """``log(1 + exp(u))`` without overflow."""
    return torch.relu(u) + torch.log1p(torch.exp(minus_magnitude(u)))


def minus_magnitude(u: Tensor) -> Tensor:
    """``-abs(u)``, whose slope at 0 is that from the left, as is that of relu."""
    return torch.where(u > 0, -u, u)


def silu_slope(u: Tensor) -> Tensor:
    """``s + u s (1 - s)`` with s the sigmoid of u: the slope of silu; torch's own cannot be differentiated."""
    if u.requires_grad and torch.is_grad_enabled():
        s = torch.sigmoid(u)
        return s * (1 + u * torch.sigmoid(-u))
    return torch.ops.aten.silu_backward(torch.ones_like(u), u)


def gauss(u: Tensor) -> Tensor:
    """The standard normal density."""
    return torch.exp(-u.square() / 2) / math.sqrt(2 * math.pi)


def gelu_slope(u: Tensor) -> Tensor:
    """``Phi(u) + u phi(u)``: the slope of gelu."""
    return torch.ops.aten.gelu_backward(torch.ones_like(u), u)


def gelu_tanh_core(u: Tensor) -> Tensor:
    """``tanh(sqrt(2 / pi) (u + 0.044715 u^3))``."""
    return torch.tanh(math.sqrt(2 / math.pi) * (u + 0.044715 * u**3))


def gelu_tanh_slope(u: Tensor) -> Tensor:
    """The slope of gelu in its tanh form."""
    return torch.ops.aten.gelu_backward(torch.ones_like(u), u, approximate="tanh")


def silu_integral(u: Tensor) -> Tensor:
    """``u log(1 + e^u) + Li2(-e^u)``: the integral of silu, by the Bernoulli series of the dilogarithm."""
    w = torch.log1p(torch.exp(minus_magnitude(u)))
    series = w + w**2 / 4
    for k, b in enumerate((1 / 36, -1 / 3600, 1 / 211680, -1 / 10886400, 1 / 526901760, -691 / 16999766784000), 1):
        series = series + b * w ** (2 * k + 1)
    dilogarithm = torch.where(u > 0, math.pi**2 / 6 + u.square() / 2 - series, series)
    return u * (torch.relu(u) + w) - dilogarithm


# By their formulas.


def softsign(u: Tensor) -> Tensor:
    """``u / (1 + abs(u))``."""
    return u / (1 + torch.abs(u))


# end

# -------------------------------------------------------------------- of complex tensors; nothing is conjugated


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
