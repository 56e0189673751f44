"""A predictive-coding network (Whittington and Bogacz 2017, equation 2.4): energy is squared prediction error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from tests.independent.classes import squared_error
from tests.independent.network import Network, Random, Tensors, half_square


@dataclass(frozen=True)
class PredictiveCoding(Network):
    """Pixels I, hidden units J and L, classes K; all variances 1."""

    name = "predictive_coding"
    step = 0.1
    step_of: ClassVar = {"y": 0.5}
    I: int = 12  # noqa: E741 (the dim's name)
    J: int = 8
    L: int = 6
    K: int = 4

    def states(self) -> dict[str, tuple[int, ...]]:
        """Hidden s1 and s2, output y."""
        return {"s1": (self.J,), "s2": (self.L,), "y": (self.K,)}

    def draw_params(self, random: Random) -> Tensors:
        """Weights that keep tanh between its linear part and its bounds."""
        return {
            "W1": random.normal(self.J, self.I, std=0.4),
            "b1": random.normal(self.J, std=0.3),
            "W2": random.normal(self.L, self.J, std=0.5),
            "b2": random.normal(self.L, std=0.3),
            "W3": random.normal(self.K, self.L, std=0.5),
            "b3": random.normal(self.K, std=0.3),
        }

    def draw_clamps(self, random: Random, batch: int) -> Tensors:
        """Pixels in [0, 1]."""
        return {"x": random.uniform(batch, self.I)}

    def draw_targets(self, random: Random, batch: int) -> Tensors:
        """Labels."""
        return {"label": random.integers(batch, below=self.K)}

    def terms(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """The three prediction errors."""
        s1, s2, y = states["s1"], states["s2"], states["y"]
        return {
            "first": half_square(s1 - F.linear(clamps["x"], params["W1"], params["b1"])),
            "second": half_square(s2 - F.linear(s1.tanh(), params["W2"], params["b2"])),
            "third": half_square(y - F.linear(s2.tanh(), params["W3"], params["b3"])),
        }

    def start(self, params: Tensors, clamps: Tensors) -> Tensors:
        """Every layer at its prediction: the free equilibrium."""
        first = F.linear(clamps["x"], params["W1"], params["b1"])
        second = F.linear(first.tanh(), params["W2"], params["b2"])
        return {"s1": first, "s2": second, "y": F.linear(second.tanh(), params["W3"], params["b3"])}

    def readout(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """The output units."""
        return {"scores": states["y"]}

    def cost(self, params: Tensors, states: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
        """Squared error."""
        return squared_error(states["y"], targets["label"])
