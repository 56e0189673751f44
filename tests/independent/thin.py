"""The equilibrium transformer block "thin": thick's attention beside a Hopfield memory on the raw state."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F

from tests.independent.language import LanguageModel
from tests.independent.network import Random, Tensors
from tests.independent.thick import attention_force, draw_attention


@dataclass(frozen=True)
class Thin(LanguageModel):
    """With 4 D memories."""

    name = "thin"
    step = 0.2

    def draw_block(self, random: Random) -> Tensors:
        """Attention and memories."""
        return draw_attention(random, self.H, self.D) | {"W_mem": random.normal(self.D, 4 * self.D, std=0.08)}

    def terms(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """Input, damping, memory."""
        given, damping = self.input_and_damping(params, states, clamps)
        memory = -F.relu(states["z"] @ params["W_mem"]).square().sum((1, 2))
        return {"input": given, "damping": damping, "mem": memory}

    def forces(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """Attention."""
        return {"z": attention_force(params, states["z"])}
