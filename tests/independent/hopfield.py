"""Continuous Hopfield network with one hidden layer (Scellier and Bengio 2017, equation 1; hard sigmoid = box)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from tests.independent.classes import squared_error
from tests.independent.network import Network, Random, Tensors, half_square, inner


@dataclass(frozen=True)
class Hopfield(Network):
    """Pixels I, hidden units J, classes K."""

    name = "hopfield"
    step = 0.5
    I: int = 12  # noqa: E741 (the dim's name)
    J: int = 9
    K: int = 4

    def states(self) -> dict[str, tuple[int, ...]]:
        """Hidden s, output y."""
        return {"s": (self.J,), "y": (self.K,)}

    def draw_params(self, random: Random) -> Tensors:
        """Weights at which some units are at rest inside the box and some on its faces."""
        return {
            "W1": random.normal(self.I, self.J, std=0.3),
            "b1": random.normal(self.J, mean=0.3, std=0.2),
            "W2": random.normal(self.J, self.K, std=0.3),
            "b2": random.normal(self.K, mean=0.4, std=0.1),
        }

    def draw_clamps(self, random: Random, batch: int) -> Tensors:
        """Pixels in [0, 1]."""
        return {"x": random.uniform(batch, self.I)}

    def draw_targets(self, random: Random, batch: int) -> Tensors:
        """Labels."""
        return {"label": random.integers(batch, below=self.K)}

    def terms(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """Leak, synapses, biases."""
        s, y = states["s"], states["y"]
        return {
            "leak": half_square(s) + half_square(y),
            "synapses": -inner(clamps["x"] @ params["W1"], s) - inner(s @ params["W2"], y),
            "biases": -s @ params["b1"] - y @ params["b2"],
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
