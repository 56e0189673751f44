"""hopfield: Continuous Hopfield network on digits, one hidden layer (Scellier and Bengio 2017).

Made by energyc 0.2.0 from hopfield.energy
SHA-256 of the spec: 323c6418a5bb33e7a2802e4db5ebed468a0bbbd69a39bb78f2686c33cc564fd3
Rules: centered-ep, implicit
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.networks.network import EnergyNetwork
from energyc.runtime.rules.centered_ep import centered_ep
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import normal, uniform
from energyc.runtime.tensors.indexing import positions
from energyc.runtime.tensors.reductions import first_largest
from energyc.runtime.tensors.states import Tensors

I, J, K = 784, 512, 10


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    drive: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(x=self.x[rows], drive=self.drive[rows])


class HopfieldEquations:
    """States s[J], y[K].

    Sizes: I = 784, J = 512, K = 10.
    """

    name = "hopfield"
    state_shapes = {"s": (J,), "y": (K,)}
    clamp_shapes = {"x": ((I,), None)}
    target_shapes = {"label": ((), K)}
    term_names = ("leak", "synapses", "biases")
    readout_names = ("scores",)
    metric_names = ("accuracy",)
    constrained = True
    relax_steps = 20
    relax_step = (0.5, 0.5)
    relax_tolerance = 0.0001
    beta = "auto"
    nudge_steps = 8

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.W1 = self._param(uniform(random, (I, J), -0.06804138174397717, 0.06804138174397717))
        self.b1 = self._param(torch.full((J,), 0.0, dtype=torch.float64))
        self.W2 = self._param(normal(random, (J, K), 0.011048543456039804))
        self.b2 = self._param(torch.full((K,), 0.5, dtype=torch.float64))

    def _prepare(self, x: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        drive = x @ self.W1
        drive += self.b1
        return Fixed(x, drive)

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy leak     = 1/2 * sum[j](s[j]^2) + 1/2 * sum[k](y[k]^2)
        energy synapses = -sum[i,j](x[i] * W1[i,j] * s[j]) - sum[j,k](s[j] * W2[j,k] * y[k])
        energy biases   = -sum[j](b1[j] * s[j]) - sum[k](b2[k] * y[k])
        """
        s, y = states
        energy_leak = 0.5 * (s * s).sum(1) + 0.5 * (y * y).sum(1)
        energy_synapses = -(s * (fixed.x @ self.W1)).sum(1) - (y * (self.W2.T @ s.T).T).sum(1)
        energy_biases = -(s @ self.b1) - y @ self.b2
        return [energy_leak, energy_synapses, energy_biases]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_s[j] = b1[j] - s[j] + sum[k](W2[j,k] * y[k]) + sum[i](x[i] * W1[i,j])
        F_y[k] = b2[k] - y[k] + sum[j](W2[j,k] * s[j])
        """
        s, y = states
        force_s = y @ self.W2.T
        force_s += fixed.drive
        force_s -= s
        force_y = (self.W2.T @ s.T).T
        force_y -= y
        force_y += self.b2
        return [force_s, force_y]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts.

        readout scores[k] = y[k]
        """
        _, y = states
        return [y]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost    mse       = 1/2 * sum[k]((y[k] - where(k == label, 1, 0))^2)
        """
        _, y = states
        (label,) = targets
        label_one_hot = (positions(K, 0, 1, self.device) == label[:, None]).to(self.dtype)
        cost_part = y - label_one_hot
        cost = 0.5 * (cost_part * cost_part).sum(1)
        return [cost]

    def _metrics(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The metrics, which are only reported.

        metric  accuracy  = correct[k](y[k], label)
        """
        _, y = states
        (label,) = targets
        accuracy_part = first_largest(y, 1)
        accuracy = accuracy_part.take_along_dim(label[:, None], 1).squeeze(1)
        return [accuracy]

    def _cost_vjp(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dy[k] = y[k] - where(k == label, 1, 0)
        """
        _, y = states
        (label,) = targets
        label_one_hot = (positions(K, 0, 1, self.device) == label[:, None]).to(self.dtype)
        slope_y = y - label_one_hot
        return [None, slope_y], {}

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        s, y = states
        cot_s, cot_y = cotangents
        back_s = cot_y @ self.W2.T
        back_s -= cot_s
        back_y = (self.W2.T @ cot_s.T).T
        back_y -= cot_y
        if not params:
            return [back_s, back_y], {}
        return [back_s, back_y], {
            "W1": fixed.x.T @ cot_s,
            "b1": cot_s.sum(0),
            "W2": (cot_y.T @ s).T + (y.T @ cot_s).T,
            "b2": cot_y.sum(0),
        }

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        cot_s, _ = cotangents
        grad_x = cot_s @ self.W1.T
        return {"x": grad_x}

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (cot_scores,) = cotangents
        return [None, cot_scores], {}

    def _energy_contrast(self, plus: Tensors, minus: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta at plus less that at minus, summed over the batch.

        c_W1[i,j] = x[i] * (minus_s[j] - plus_s[j])
        c_b1[j] = minus_s[j] - plus_s[j]
        c_W2[j,k] = minus_y[k] * (minus_s[j] - plus_s[j]) + plus_s[j] * (minus_y[k] - plus_y[k])
        c_b2[k] = minus_y[k] - plus_y[k]
        """
        plus_s, plus_y = plus
        minus_s, minus_y = minus
        grad_b1 = minus_s - plus_s
        return {
            "W1": fixed.x.T @ grad_b1,
            "b1": grad_b1.sum(0),
            "W2": (minus_y.T @ grad_b1).T + ((minus_y - plus_y).T @ plus_s).T,
            "b2": minus_y.sum(0) - plus_y.sum(0),
        }

    def _project_(self, states: list[Tensor]) -> None:
        """Each state onto its constraint set, in place."""
        states[0].clamp_(min=0, max=1)
        states[1].clamp_(min=-1, max=2)

    def _project_adjoint(self, at: Tensors, cotangents: Tensors) -> list[Tensor]:
        """P^T cotangents, P the derivative of the projection at a point."""
        return [
            torch.where((at[0] >= 0) & (at[0] <= 1), cotangents[0], 0.0),
            torch.where((at[1] >= -1) & (at[1] <= 2), cotangents[1], 0.0),
        ]


class Hopfield(HopfieldEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"centered-ep": centered_ep, "implicit": implicit}
