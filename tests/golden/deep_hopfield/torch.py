"""deep_hopfield: Deep Hopfield network on digits, two hidden layers (Scellier and Bengio 2017, section 5).

Made by energyc 0.2.0 from deep_hopfield.energy
SHA-256 of the spec: 2e25c7bf05a91eb33b111bc770b55c919b5a27a7b4c7687becb5076e8c8099ce
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

I, J1, J2, K = 784, 512, 512, 10


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    drive: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(x=self.x[rows], drive=self.drive[rows])


class DeepHopfieldEquations:
    """States s1[J1], s2[J2], y[K].

    Sizes: I = 784, J1 = 512, J2 = 512, K = 10.
    """

    name = "deep_hopfield"
    state_shapes = {"s1": (J1,), "s2": (J2,), "y": (K,)}
    clamp_shapes = {"x": ((I,), None)}
    target_shapes = {"label": ((), K)}
    term_names = ("leak", "synapses", "biases")
    readout_names = ("scores",)
    metric_names = ("accuracy",)
    constrained = True
    relax_steps = 30
    relax_step = (0.5, 0.5, 0.5)
    relax_tolerance = 0.0001
    beta = "auto"
    nudge_steps = 12

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.W1 = self._param(uniform(random, (I, J1), -0.06804138174397717, 0.06804138174397717))
        self.b1 = self._param(torch.full((J1,), 0.0, dtype=torch.float64))
        self.W2 = self._param(normal(random, (J1, J2), 0.011048543456039804))
        self.b2 = self._param(torch.full((J2,), 0.0, dtype=torch.float64))
        self.W3 = self._param(normal(random, (J2, K), 0.011048543456039804))
        self.b3 = self._param(torch.full((K,), 0.5, dtype=torch.float64))

    def _prepare(self, x: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        drive = x @ self.W1
        drive += self.b1
        return Fixed(x, drive)

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy leak     = 1/2 * sum[i](s1[i]^2) + 1/2 * sum[j](s2[j]^2) + 1/2 * sum[k](y[k]^2)
        energy synapses = -sum[p,i](x[p] * W1[p,i] * s1[i])
                        - sum[i,j](s1[i] * W2[i,j] * s2[j])
                        - sum[j,k](s2[j] * W3[j,k] * y[k])
        energy biases   = -sum[i](b1[i] * s1[i]) - sum[j](b2[j] * s2[j]) - sum[k](b3[k] * y[k])
        """
        s1, s2, y = states
        energy_leak = 0.5 * (s1 * s1).sum(1) + 0.5 * (s2 * s2).sum(1) + 0.5 * (y * y).sum(1)
        energy_synapses = (
            -(s1 * (fixed.x @ self.W1)).sum(1)
            - (s2 * (s1 @ self.W2)).sum(1)
            - (y * (self.W3.T @ s2.T).T).sum(1)
        )
        energy_biases = -(s1 @ self.b1) - s2 @ self.b2 - y @ self.b3
        return [energy_leak, energy_synapses, energy_biases]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_s1[i] = b1[i] - s1[i] + sum[j](W2[i,j] * s2[j]) + sum[p](x[p] * W1[p,i])
        F_s2[j] = b2[j] - s2[j] + sum[k](W3[j,k] * y[k]) + sum[i](W2[i,j] * s1[i])
        F_y[k] = b3[k] - y[k] + sum[j](W3[j,k] * s2[j])
        """
        s1, s2, y = states
        force_s1 = s2 @ self.W2.T
        force_s1 += fixed.drive
        force_s1 -= s1
        force_s2 = y @ self.W3.T
        force_s2 += s1 @ self.W2
        force_s2 -= s2
        force_s2 += self.b2
        force_y = (self.W3.T @ s2.T).T
        force_y -= y
        force_y += self.b3
        return [force_s1, force_s2, force_y]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts.

        readout scores[k] = y[k]
        """
        _, _, y = states
        return [y]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost    mse       = 1/2 * sum[k]((y[k] - where(k == label, 1, 0))^2)
        """
        _, _, y = states
        (label,) = targets
        label_one_hot = (positions(K, 0, 1, self.device) == label[:, None]).to(self.dtype)
        cost_part = y - label_one_hot
        cost = 0.5 * (cost_part * cost_part).sum(1)
        return [cost]

    def _metrics(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The metrics, which are only reported.

        metric  accuracy  = correct[k](y[k], label)
        """
        _, _, y = states
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
        _, _, y = states
        (label,) = targets
        label_one_hot = (positions(K, 0, 1, self.device) == label[:, None]).to(self.dtype)
        slope_y = y - label_one_hot
        return [None, None, slope_y], {}

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        s1, s2, y = states
        cot_s1, cot_s2, cot_y = cotangents
        back_s1 = cot_s2 @ self.W2.T
        back_s1 -= cot_s1
        back_s2 = cot_y @ self.W3.T
        back_s2 += cot_s1 @ self.W2
        back_s2 -= cot_s2
        back_y = (self.W3.T @ cot_s2.T).T
        back_y -= cot_y
        if not params:
            return [back_s1, back_s2, back_y], {}
        return [back_s1, back_s2, back_y], {
            "W1": fixed.x.T @ cot_s1,
            "b1": cot_s1.sum(0),
            "W2": s1.T @ cot_s2 + cot_s1.T @ s2,
            "b2": cot_s2.sum(0),
            "W3": (cot_y.T @ s2).T + (y.T @ cot_s2).T,
            "b3": cot_y.sum(0),
        }

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        cot_s1, _, _ = cotangents
        grad_x = cot_s1 @ self.W1.T
        return {"x": grad_x}

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (cot_scores,) = cotangents
        return [None, None, cot_scores], {}

    def _energy_contrast(self, plus: Tensors, minus: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta at plus less that at minus, summed over the batch.

        c_W1[p,i] = x[p] * (minus_s1[i] - plus_s1[i])
        c_b1[i] = minus_s1[i] - plus_s1[i]
        c_W2[i,j] = minus_s2[j] * (minus_s1[i] - plus_s1[i]) + plus_s1[i] * (minus_s2[j] - plus_s2[j])
        c_b2[j] = minus_s2[j] - plus_s2[j]
        c_W3[j,k] = minus_y[k] * (minus_s2[j] - plus_s2[j]) + plus_s2[j] * (minus_y[k] - plus_y[k])
        c_b3[k] = minus_y[k] - plus_y[k]
        """
        plus_s1, plus_s2, plus_y = plus
        minus_s1, minus_s2, minus_y = minus
        grad_b1 = minus_s1 - plus_s1
        return {
            "W1": fixed.x.T @ grad_b1,
            "b1": grad_b1.sum(0),
            "W2": grad_b1.T @ minus_s2 + plus_s1.T @ (minus_s2 - plus_s2),
            "b2": minus_s2.sum(0) - plus_s2.sum(0),
            "W3": (minus_y.T @ (minus_s2 - plus_s2)).T + ((minus_y - plus_y).T @ plus_s2).T,
            "b3": minus_y.sum(0) - plus_y.sum(0),
        }

    def _project_(self, states: list[Tensor]) -> None:
        """Each state onto its constraint set, in place."""
        states[0].clamp_(min=0, max=1)
        states[1].clamp_(min=0, max=1)
        states[2].clamp_(min=-1, max=2)

    def _project_adjoint(self, at: Tensors, cotangents: Tensors) -> list[Tensor]:
        """P^T cotangents, P the derivative of the projection at a point."""
        return [
            torch.where((at[0] >= 0) & (at[0] <= 1), cotangents[0], 0.0),
            torch.where((at[1] >= 0) & (at[1] <= 1), cotangents[1], 0.0),
            torch.where((at[2] >= -1) & (at[2] <= 2), cotangents[2], 0.0),
        ]


class DeepHopfield(DeepHopfieldEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"centered-ep": centered_ep, "implicit": implicit}
