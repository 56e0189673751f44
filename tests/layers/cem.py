"""Causal Energy Minimization once more (CEM, algorithm 1, equations 12, 13): energies by hand, slopes by autograd."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, silu, softplus

from tests.layers.judging import Tensors


def rms(x: Tensor, gain: Tensor) -> Tensor:
    """RMSNorm."""
    return gain * x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt()


def preconditioner(diagonal: Tensor, up: Tensor, down: Tensor) -> Tensor:
    """P = diag(softplus d) + U V^T + V U^T with d = sqrt(D) p."""
    product = up @ down.transpose(-1, -2)
    return torch.diag_embed(softplus(math.sqrt(diagonal.shape[-1]) * diagonal)) + product + product.transpose(-1, -2)


def attention_energy(p: Tensors, u: Tensor, context: Tensor) -> Tensor:
    """-tau sum over heads and places of the logsumexp over what is not ahead; u is [batch, heads, J, D]."""
    heads, places, width = u.shape[1], u.shape[2], u.shape[3]
    tau = math.sqrt(width)
    here = torch.arange(places)
    slopes = 2.0 ** -(torch.arange(heads, dtype=u.dtype) + 1)
    bias = -slopes[:, None, None] * (here[:, None] - here).abs() + torch.where(
        here[:, None] == here, p["b_self"], p["b_other"]
    )
    matrix = torch.diag(p["diag"]) + p["W_q"].transpose(1, 2) @ p["W_k"]  # A = diag(d) + Wq^T Wk
    scores = torch.einsum("bkid,kde,bje->bkij", u, matrix, context) / tau + bias
    scores = scores.masked_fill(here[:, None] < here, -math.inf)
    return -tau * torch.logsumexp(scores, 3).sum((1, 2))


def integral(x: Tensor) -> Tensor:
    """An integral of SiLU from 0, by a rule of Gauss and Legendre whose error is below rounding for |x| < 5."""
    nodes, weights = (torch.as_tensor(part, dtype=x.dtype) for part in LEGENDRE)
    points = x[..., None] * (nodes + 1) / 2
    return x / 2 * (silu(points) * weights).sum(-1)


def _legendre() -> tuple[list[float], list[float]]:
    import numpy as np

    nodes, weights = np.polynomial.legendre.leggauss(40)
    return nodes.tolist(), weights.tolist()


LEGENDRE = _legendre()


def mlp_energy(p: Tensors, u: Tensor, context: Tensor) -> Tensor:
    """-gate . phi(V u) with phi the integral of SiLU."""
    gate = context @ p["W"].T
    return -(gate * integral(u @ p["V"].T)).sum((1, 2))


def attended(p: Tensors, context: Tensor, steps: int) -> Tensor:
    """Steps of attention: each head has a copy of the normed tokens, and its own preconditioner."""
    metric = preconditioner(p["P_p"], p["P_u"], p["P_v"])
    x = context
    for _ in range(steps):
        u = rms(x, p["g_u"])[:, None].expand(-1, len(metric), -1, -1).contiguous()
        (slope,) = torch.autograd.grad(attention_energy(p, u, context).sum(), u, create_graph=True)
        x = x - torch.einsum("kde,bkie->bid", metric, slope)
    return x


def fed_forward(p: Tensors, context: Tensor, steps: int) -> Tensor:
    """Steps of the gated memory."""
    metric = preconditioner(p["P_p"], p["P_u"], p["P_v"])
    x = context
    for _ in range(steps):
        u = rms(x, p["g_u"]).clone()
        (slope,) = torch.autograd.grad(mlp_energy(p, u, context).sum(), u, create_graph=True)
        x = x - slope @ metric.T
    return x


def of(p: Tensors, layer: str, copy: int) -> Tensors:
    """The params of a copy of a layer."""
    return {name.partition(".")[2]: value[copy] for name, value in p.items() if name.startswith(f"{layer}.")}


def logits(p: Tensors, idx: Tensor, steps: int = 2) -> Tensor:
    """The language model's answers: blocks in a row, then the head."""
    h = p["tok"][idx]
    for copy in range(len(p["g1"])):
        x = attended(of(p, "attention", copy), rms(h, p["g1"][copy]), steps)
        h = fed_forward(of(p, "mlp", copy), rms(x, p["g2"][copy]), steps)
    return rms(h, p["g_out"]) @ p["W_head"].T


def costs(p: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
    """The mean cross-entropy of each sample."""
    found = logits(p, clamps["idx"]).transpose(1, 2)
    return cross_entropy(found, targets["label"], reduction="none").mean(1)
