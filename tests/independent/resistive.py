"""Nonlinear resistive network (Kendall et al. 2020): node voltages minimise the co-content of resistors and diodes."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from tests.independent.classes import squared_error
from tests.independent.network import Network, Random, Tensors

IS, VT, LO, HI = 1e-6, 0.026, 0.0, 1.0


@dataclass(frozen=True)
class Resistive(Network):
    """Sources I, hidden nodes J, output nodes K."""

    name = "resistive"
    step = 0.5
    shifted = frozenset({"upper", "lower"})
    I: int = 10  # noqa: E741 (the dim's name)
    J: int = 6
    K: int = 4

    def states(self) -> dict[str, tuple[int, ...]]:
        """Voltages of the hidden nodes v and of the output nodes w."""
        return {"v": (self.J,), "w": (self.K,)}

    def draw_params(self, random: Random) -> Tensors:
        """Positive conductances."""
        return {
            "g1": random.uniform(self.I, self.J, low=0.001, high=0.1),
            "g2": random.uniform(self.J, self.K, low=0.001, high=0.1),
        }

    def draw_clamps(self, random: Random, batch: int) -> Tensors:
        """Sources from -1/2 to 3/2, so that some diodes conduct."""
        return {"source": random.uniform(batch, self.I, low=-0.5, high=1.5)}

    def draw_targets(self, random: Random, batch: int) -> Tensors:
        """Labels."""
        return {"label": random.integers(batch, below=self.K)}

    def draw_states(self, random: Random, batch: int) -> Tensors:
        """Voltages near the diodes' windows: their currents are exponential."""
        return {name: random.uniform(batch, *shape, low=-0.2, high=1.2) for name, shape in self.states().items()}

    def terms(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """Powers of the resistors and co-contents of the diodes."""
        v, w = states["v"], states["w"]
        across1 = v[:, None, :] - clamps["source"][:, :, None]
        across2 = w[:, None, :] - v[:, :, None]
        return {
            "input": (params["g1"] * across1.square()).sum((1, 2)) / 2,
            "output": (params["g2"] * across2.square()).sum((1, 2)) / 2,
            "upper": co_content(v - HI).sum(1),
            "lower": co_content(LO - v).sum(1),
        }

    def readout(self, params: Tensors, states: Tensors, clamps: Tensors) -> Tensors:
        """The output voltages."""
        return {"scores": states["w"]}

    def cost(self, params: Tensors, states: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
        """Squared error."""
        return squared_error(states["w"], targets["label"])


def co_content(voltage: Tensor) -> Tensor:
    """The integral of the diode's current Is (exp(v / Vt) - 1) from 0 to v."""
    return IS * (VT * (voltage / VT).expm1() - voltage)
