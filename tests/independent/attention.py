"""Attention as an energy (Hoover et al. 2023; CET, equation 14) and as a force (EPT note, equation 3)."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel


def attention_energy(query: Tensor, key: Tensor, gamma: float, causal: bool) -> Tensor:
    """-1/gamma sum over heads and queries of log sum over keys exp(gamma q k); query and key ``[batch, H, N, A]``."""
    scores = gamma * query @ key.transpose(-1, -2)
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(later, -torch.inf)
    return -torch.logsumexp(scores, dim=-1).sum((1, 2)) / gamma


def causal_attention(normed: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, w_o: Tensor) -> Tensor:
    """Multi-head causal self-attention: ``normed`` [batch, T, D]; w_q, w_k, w_v [H, D, A]; w_o [H, A, D]."""
    query, key, value = (normed[:, None] @ weight for weight in (w_q, w_k, w_v))
    with sdpa_kernel(SDPBackend.MATH):  # the one that can be differentiated twice
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
    return (mixed @ w_o).sum(1)
