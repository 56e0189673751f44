"""The equilibrium transformer block "thick" (EPT note, equation 7): free attention and an untied feed-forward."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from tests.independent.attention import causal_attention
from tests.independent.language import LanguageModel
from tests.independent.network import Random, Tensors


def draw_attention(random: Random, heads: int, width: int) -> Tensors:
    """The layer norm before attention and its four weights."""
    head = width // heads
    return {
        "g1": random.normal(width, mean=1.0, std=0.2),
        "h1": random.normal(width, std=0.2),
        **{name: random.normal(heads, width, head, std=0.3) for name in ("W_q", "W_k", "W_v")},
        "W_o": random.normal(heads, head, width, std=0.3),
    }


def attention_force(params: Tensors, z: Tensor) -> Tensor:
    """Attn(LN_1(z)), ``[batch, T, D]``."""
    normed = F.layer_norm(z, z.shape[2:], params["g1"], params["h1"])
    return causal_attention(normed, *(params[name] for name in ("W_q", "W_k", "W_v", "W_o")))


@dataclass(frozen=True)
class Thick(LanguageModel):
    """With a feed-forward of 4 D hidden units."""

    name = "thick"
    step = 0.2

    def draw_block(self, random: Random) -> Tensors:
        """Attention and feed-forward with their layer norms."""
        wide = 4 * self.D
        return {
            **draw_attention(random, self.H, self.D),
            "g2": random.normal(self.D, mean=1.0, std=0.2),
            "h2": random.normal(self.D, std=0.2),
            "W1": random.normal(self.D, wide, std=0.2),
            "b1": random.normal(wide, std=0.2),
            "W2": random.normal(wide, self.D, std=0.2),
            "b2": random.normal(self.D, std=0.2),
        }

    def terms(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """Input and damping."""
        given, damping = self.input_and_damping(params, states, clamps)
        return {"input": given, "damping": damping}

    def forces(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """Attention and feed-forward."""
        return {"z": attention_force(params, states["z"]) + self.feed_forward(params, states["z"])}

    def feed_forward(self, params: Tensors, z: Tensor) -> Tensor:
        """W2 gelu(W1 LN_2(z) + b1) + b2 with gelu in its tanh form, ``[batch, T, D]``."""
        normed = F.layer_norm(z, z.shape[2:], params["g2"], params["h2"])
        hidden = F.gelu(normed @ params["W1"] + params["b1"], approximate="tanh")
        return hidden @ self.output(params) + params["b2"]

    def output(self, params: Tensors) -> Tensor:
        """The weight from hidden units to the state, ``[4 D, D]``."""
        return params["W2"]
