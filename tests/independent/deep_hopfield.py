"""Continuous Hopfield network with two hidden layers (Scellier and Bengio 2017)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from tests.independent.classes import squared_error
from tests.independent.network import Network, Random, Tensors, half_square, inner


@dataclass(frozen=True)
class DeepHopfield(Network):
    """Pixels I, hidden units J1 and J2, classes K."""

    name = "deep_hopfield"
    step = 0.5
    I: int = 12  # noqa: E741 (the dim's name)
    J1: int = 9
    J2: int = 7
    K: int = 4

    def states(self) -> dict[str, tuple[int, ...]]:
        """Hidden s1 and s2, output y."""
        return {"s1": (self.J1,), "s2": (self.J2,), "y": (self.K,)}

    def draw_params(self, random: Random) -> Tensors:
        """Weights at which some units are at rest inside the box and some on its faces."""
        return {
            "W1": random.normal(self.I, self.J1, std=0.3),
            "b1": random.normal(self.J1, mean=0.3, std=0.2),
            "W2": random.normal(self.J1, self.J2, std=0.2),
            "b2": random.normal(self.J2, mean=0.3, std=0.2),
            "W3": random.normal(self.J2, self.K, std=0.2),
            "b3": random.normal(self.K, mean=0.4, std=0.1),
        }

    def draw_clamps(self, random: Random, batch: int) -> Tensors:
        """Pixels in [0, 1]."""
        return {"x": random.uniform(batch, self.I)}

    def draw_targets(self, random: Random, batch: int) -> Tensors:
        """Labels."""
        return {"label": random.integers(batch, below=self.K)}

    def terms(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """Leak, synapses, biases: each layer is bound to the next."""
        s1, s2, y = states["s1"], states["s2"], states["y"]
        drive1, drive2, drive3 = clamps["x"] @ params["W1"], s1 @ params["W2"], s2 @ params["W3"]
        return {
            "leak": half_square(s1) + half_square(s2) + half_square(y),
            "synapses": -inner(drive1, s1) - inner(drive2, s2) - inner(drive3, y),
            "biases": -s1 @ params["b1"] - s2 @ params["b2"] - y @ params["b3"],
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
