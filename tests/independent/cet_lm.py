"""The conservative causal language model (EPT note, section "the CET alternative"): value tied to key, confinement."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F

from tests.independent.attention import attention_energy
from tests.independent.language import LanguageModel
from tests.independent.network import Random, Tensors

GAMMA = 1.0


@dataclass(frozen=True)
class CETLanguageModel(LanguageModel):
    """With 4 D memories."""

    name = "cet_lm"
    step = 0.3

    def draw_block(self, random: Random) -> Tensors:
        """Attention and memories, too weak to overcome the confinement."""
        return {
            "W_q": random.normal(self.H, self.head, self.D, std=0.15),
            "W_k": random.normal(self.H, self.head, self.D, std=0.15),
            "W_mem": random.normal(self.D, 4 * self.D, std=0.06),
        }

    def terms(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """Input, confinement, attention, memory."""
        z = states["z"]
        given, confine = self.input_and_damping(params, states, clamps)
        query, key = (z[:, None] @ params[name].transpose(1, 2) for name in ("W_q", "W_k"))
        return {
            "input": given,
            "confine": confine,
            "att": attention_energy(query, key, GAMMA, causal=True),
            "mem": -F.relu(z @ params["W_mem"]).square().sum((1, 2)),
        }
