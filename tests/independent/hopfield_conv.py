"""Deep convolutional Hopfield network with max pooling (Laborieux et al. 2021, section 2.5)."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor

from tests.independent.classes import squared_error
from tests.independent.network import Network, Random, Tensors, half_square, inner


@dataclass(frozen=True)
class HopfieldConv(Network):
    """Colours C, side S, channels C1 and C2, classes K; kernels 3 and 4 wide, pooling windows of 2."""

    name = "hopfield_conv"
    step = 0.5
    C: int = 2
    S: int = 16
    C1: int = 3
    C2: int = 4
    K: int = 5

    @property
    def sides(self) -> tuple[int, int]:
        """Sides of the two pooled layers."""
        first = (self.S - 2) // 2
        return first, (first - 3) // 2

    def states(self) -> dict[str, tuple[int, ...]]:
        """Pooled layers s1 and s2, output y."""
        first, second = self.sides
        return {"s1": (self.C1, first, first), "s2": (self.C2, second, second), "y": (self.K,)}

    def draw_params(self, random: Random) -> Tensors:
        """Weights at which some units are at rest inside the box and some on its faces."""
        second = self.sides[1]
        return {
            "W1": random.normal(self.C1, self.C, 3, 3, std=0.25),
            "b1": random.normal(self.C1, std=0.2),
            "W2": random.normal(self.C2, self.C1, 4, 4, std=0.12),
            "b2": random.normal(self.C2, std=0.2),
            "W3": random.normal(self.K, self.C2, second, second, std=0.1),
            "b3": random.normal(self.K, mean=0.4, std=0.1),
        }

    def draw_clamps(self, random: Random, batch: int) -> Tensors:
        """Pictures in [0, 1]."""
        return {"x": random.uniform(batch, self.C, self.S, self.S)}

    def draw_targets(self, random: Random, batch: int) -> Tensors:
        """Labels."""
        return {"label": random.integers(batch, below=self.K)}

    def terms(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """Leak, two pooled convolutions, and the linear output."""
        s1, s2, y = states["s1"], states["s2"], states["y"]
        pooled1 = F.max_pool2d(F.conv2d(clamps["x"], params["W1"], params["b1"]), 2)
        pooled2 = F.max_pool2d(F.conv2d(s1, params["W2"], params["b2"]), 2)
        return {
            "leak": half_square(s1) + half_square(s2) + half_square(y),
            "conv1": -inner(s1, pooled1),
            "conv2": -inner(s2, pooled2),
            "full": -inner(y, F.linear(s2.flatten(1), params["W3"].flatten(1), params["b3"])),
        }

    def project(self, states: Tensors) -> Tensors:
        """Hidden units into the box [0, 1], outputs into [-1, 2]."""
        return {name: state.clamp(-1, 2) if name == "y" else state.clamp(0, 1) for name, state in states.items()}

    def readout(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """The output units."""
        return {"scores": states["y"]}

    def cost(self, params: Tensors, states: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
        """Squared error."""
        return squared_error(states["y"], targets["label"])
