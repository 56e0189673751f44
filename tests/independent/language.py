"""The parts that language models share: the embedding, the head, cross entropy."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from tests.independent.network import Network, Random, Tensors, half_square

VOCABULARY = 65  # the characters binding's


@dataclass(frozen=True)
class LanguageModel(Network):
    """Context T, width D, H heads; the state starts at the embedding and is bound to it."""

    T: int = 5
    D: int = 8
    H: int = 2
    #: S, by which the embedding multiplies its params.
    scale: ClassVar[int] = 32

    @property
    def head(self) -> int:
        """Width of a head."""
        return self.D // self.H

    def states(self) -> dict[str, tuple[int, ...]]:
        """Tokens z."""
        return {"z": (self.T, self.D)}

    def draw_params(self, random: Random) -> Tensors:
        """The embedding and the head, and what the block adds."""
        outer = {
            "tok": random.normal(VOCABULARY, self.D, std=0.7 / self.scale),
            "pos": random.normal(self.T, self.D, std=0.7 / self.scale),
            "W_head": random.normal(self.D, VOCABULARY, std=0.5),
        }
        return outer | self.draw_block(random)

    @abstractmethod
    def draw_block(self, random: Random) -> Tensors:
        """Params of the terms that are not shared."""

    def draw_clamps(self, random: Random, batch: int) -> Tensors:
        """Characters."""
        return {"idx": random.integers(batch, self.T, below=VOCABULARY)}

    def draw_targets(self, random: Random, batch: int) -> Tensors:
        """The characters that follow."""
        return {"label": random.integers(batch, self.T, below=VOCABULARY)}

    def embedding(self, params: Tensors, clamps: Tensors) -> Tensor:
        """x_in = S (tok[idx] + pos), ``[batch, T, D]``."""
        return self.scale * (F.embedding(clamps["idx"], params["tok"]) + params["pos"])

    def input_and_damping(self, params: Tensors, states: Tensors, clamps: Tensors) -> tuple[Tensor, Tensor]:
        """1/2 |z - x_in|^2 and 1/2 |z|^2 (c = 1)."""
        return half_square(states["z"] - self.embedding(params, clamps)), half_square(states["z"])

    def start(self, params: Tensors, clamps: Tensors) -> Tensors:
        """The embedding."""
        return {"z": self.embedding(params, clamps)}

    def readout(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """Logits ``[batch, T, V]``."""
        return {"logits": states["z"] @ params["W_head"]}

    def cost(self, params: Tensors, states: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
        """Cross entropy, the mean over positions."""
        logits = self.readout(params, states, clamps)["logits"].transpose(1, 2)
        return F.cross_entropy(logits, targets["label"], reduction="none").mean(1)
