"""Convergent Energy Transformer (Hoier, Kerjan, Scellier 2026, appendix B, equations 8 to 16)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.independent.attention import attention_energy
from tests.independent.network import Network, Random, Tensors, half_square, inner

GAMMA = 1 / 4


@dataclass(frozen=True)
class CET(Network):
    """Image side S, patch side P, token width D, H heads of width A, M memories, C channels."""

    name = "cet"
    step = 0.3
    S: int = 8
    P: int = 4
    stride: int = 2
    D: int = 6
    H: int = 2
    A: int = 3
    M: int = 5
    C: int = 3

    @property
    def grid(self) -> int:
        """Patches along a side (equation 7)."""
        return (self.S - self.P) // self.stride + 1

    def states(self) -> dict[str, tuple[int, ...]]:
        """Tokens z and the image y."""
        return {"z": (self.grid, self.grid, self.D), "y": (self.C, self.S, self.S)}

    def draw_params(self, random: Random) -> Tensors:
        """Decoder and memories weak enough for a minimum that attracts."""
        return {
            "W_enc": random.normal(self.D, self.C, self.P, self.P, std=0.3),
            "W_dec": random.normal(self.D, self.C, self.P, self.P, std=0.04),
            "b_enc": random.normal(self.D, std=0.5),
            "b_dec": random.normal(self.C, std=0.5),
            "b_pos": random.normal(self.grid, self.grid, self.D, std=0.5),
            "W_q": random.normal(self.H, self.A, self.D, std=0.3),
            "W_k": random.normal(self.H, self.A, self.D, std=0.3),
            "W_mem": random.normal(self.D, self.M, std=0.15),
        }

    def draw_clamps(self, random: Random, batch: int) -> Tensors:
        """The masked image."""
        return {"x": random.uniform(batch, self.C, self.S, self.S, low=-1)}

    def draw_targets(self, random: Random, batch: int) -> Tensors:
        """The whole image."""
        return {"t": random.uniform(batch, self.C, self.S, self.S, low=-1)}

    def seen(self, params: Tensors, clamps: Tensors) -> Tensor:
        """F(x, W_enc) of equation 11, as ``[batch, G, G, D]``."""
        return F.conv2d(clamps["x"], params["W_enc"], stride=self.stride).permute(0, 2, 3, 1)

    def terms(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """Equations 10, 16, 12, 15 and 14."""
        z, y = states["z"], states["y"]
        decoded = F.conv2d(y, params["W_dec"], stride=self.stride).permute(0, 2, 3, 1)
        tokens = z.flatten(1, 2)
        query, key = (self.heads(tokens, params[name]) for name in ("W_q", "W_k"))
        return {
            "enc": half_square(z) - inner(z, self.seen(params, clamps)) - inner(z, params["b_enc"]),
            "dec": half_square(y) - inner(z, decoded) - inner(y, params["b_dec"][:, None, None]),
            "pos": -inner(z, params["b_pos"]),
            "mem": -F.relu(tokens @ params["W_mem"]).square().sum((1, 2)),
            "att": attention_energy(query, key, GAMMA, causal=False),
        }

    def heads(self, tokens: Tensor, weight: Tensor) -> Tensor:
        """Equation 13's Q or K: tokens ``[batch, N, D]`` to ``[batch, H, N, A]``."""
        rows = F.linear(tokens, weight.flatten(0, 1))
        return torch.unflatten(rows, 2, (self.H, self.A)).transpose(1, 2)

    def start(self, params: Tensors, clamps: Tensors) -> Tensors:
        """The tokens at what they see, the image at zero."""
        tokens = self.seen(params, clamps) + params["b_enc"] + params["b_pos"]
        return super().start(params, clamps) | {"z": tokens}

    def project(self, states: Tensors) -> Tensors:
        """Tokens of zero mean and unit deviation (section B.2.6)."""
        return states | {"z": F.layer_norm(states["z"], (self.D,), eps=0.0)}

    def readout(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """The image."""
        return {"image": states["y"]}

    def cost(self, params: Tensors, states: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
        """Mean squared error over all pixels."""
        return (states["y"] - targets["t"]).square().mean((1, 2, 3))
