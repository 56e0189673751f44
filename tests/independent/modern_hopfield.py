"""Modern Hopfield network: retrieval from a damaged pattern (Ramsauer et al. 2021, equation 2, no constants)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from tests.independent.network import Network, Random, Tensors, half_square

BETA = 8.0


@dataclass(frozen=True)
class ModernHopfield(Network):
    """Patterns of size D, M memories."""

    name = "modern_hopfield"
    step = 0.5
    D: int = 7
    M: int = 9

    def states(self) -> dict[str, tuple[int, ...]]:
        """The pattern z."""
        return {"z": (self.D,)}

    def draw_params(self, random: Random) -> Tensors:
        """Memories close enough to one another that a retrieval mixes them."""
        return {"X": random.normal(self.M, self.D, std=0.25)}

    def draw_clamps(self, random: Random, batch: int) -> Tensors:
        """A probe."""
        return {"probe": random.normal(batch, self.D, std=0.5)}

    def draw_targets(self, random: Random, batch: int) -> Tensors:
        """The pattern that was meant."""
        return {"stored": random.normal(batch, self.D, std=0.5)}

    def terms(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """Confinement, and the log-sum-exp over memories."""
        z = states["z"]
        return {
            "confine": half_square(z),
            "memory": -torch.logsumexp(BETA * z @ params["X"].T, dim=1) / BETA,
        }

    def start(self, params: Tensors, clamps: Tensors) -> Tensors:
        """The probe."""
        return {"z": clamps["probe"]}

    def readout(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """The retrieved pattern."""
        return {"pattern": states["z"]}

    def cost(self, params: Tensors, states: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
        """Mean squared error."""
        return (states["z"] - targets["stored"]).square().mean(1)
