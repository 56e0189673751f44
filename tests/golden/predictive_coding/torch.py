"""predictive_coding: A predictive-coding network (Rao and Ballard 1999; Whittington and Bogacz 2017): energy is
squared prediction error.

Made by energyc 0.2.0 from predictive_coding.energy
SHA-256 of the spec: 34417587440ed4cdf421f9a0ec49eb8260b6519f4518c0be39d830ebbf877b46
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
from energyc.runtime.tensors.draws import uniform
from energyc.runtime.tensors.indexing import positions
from energyc.runtime.tensors.reductions import first_largest
from energyc.runtime.tensors.states import Tensors

I, J, L, K = 784, 256, 128, 10


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    m1: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(x=self.x[rows], m1=self.m1[rows])


class PredictiveCodingEquations:
    """States s1[J], s2[L], y[K].

    Sizes: I = 784, J = 256, L = 128, K = 10.

    Consts: v1 = 1, v2 = 1, v3 = 1.

    let m1[j] = sum[i](W1[j,i] * x[i]) + b1[j]
    let m2[l] = sum[j](W2[l,j] * f(s1[j])) + b2[l]
    let m3[k] = sum[l](W3[k,l] * f(s2[l])) + b3[k]
    let p2[l] = sum[j](W2[l,j] * f(m1[j])) + b2[l]

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "predictive_coding"
    state_shapes = {"s1": (J,), "s2": (L,), "y": (K,)}
    clamp_shapes = {"x": ((I,), None)}
    target_shapes = {"label": ((), K)}
    term_names = ("first", "second", "third")
    readout_names = ("scores",)
    metric_names = ("accuracy",)
    relax_steps = 10
    relax_step = (0.2, 0.2, 0.5)
    relax_tolerance = 0.0001
    beta = "auto"
    nudge_steps = 50

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.W1 = self._param(uniform(random, (J, I), -0.075955452531275, 0.075955452531275))
        self.W2 = self._param(uniform(random, (L, J), -0.125, 0.125))
        self.W3 = self._param(uniform(random, (K, L), -0.20851441405707477, 0.20851441405707477))
        self.b1 = self._param(torch.full((J,), 0.0, dtype=torch.float64))
        self.b2 = self._param(torch.full((L,), 0.0, dtype=torch.float64))
        self.b3 = self._param(torch.full((K,), 0.0, dtype=torch.float64))

    def _prepare(self, x: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        m1 = x @ self.W1.T
        m1 += self.b1
        return Fixed(x, m1)

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Where the states start."""
        p2 = torch.tanh(fixed.m1) @ self.W2.T
        p2 += self.b2
        start_y = (self.W3 @ torch.tanh(p2).T).T
        start_y += self.b3
        return [fixed.m1, p2, start_y]

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy first  = 1/(2*v1) * sum[j]((s1[j] - m1[j])^2)
        energy second = 1/(2*v2) * sum[l]((s2[l] - m2[l])^2)
        energy third  = 1/(2*v3) * sum[k]((y[k] - m3[k])^2)
        """
        s1, s2, y = states
        energy_first_part = s1 - fixed.m1
        energy_first = 0.5 * (energy_first_part * energy_first_part).sum(1)
        m2 = torch.tanh(s1) @ self.W2.T
        m2 += self.b2
        energy_second_part = s2 - m2
        energy_second = 0.5 * (energy_second_part * energy_second_part).sum(1)
        m3 = (self.W3 @ torch.tanh(s2).T).T
        m3 += self.b3
        energy_third_part = y - m3
        energy_third = 0.5 * (energy_third_part * energy_third_part).sum(1)
        return [energy_first, energy_second, energy_third]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_s1[j] = 1/v2 * sum[l](W2[l,j] * (s2[l] - m2[l])) * (1 - tanh(s1[j])^2) - (s1[j] - m1[j]) / v1
        F_s2[l] = 1/v3 * sum[k](W3[k,l] * (y[k] - m3[k])) * (1 - tanh(s2[l])^2) - (s2[l] - m2[l]) / v2
        F_y[k] = -(y[k] - m3[k]) / v3
        """
        s1, s2, y = states
        tanh = torch.tanh(s1)
        force_s1_part = -(tanh * tanh)
        force_s1_part += 1
        m2 = tanh @ self.W2.T
        m2 += self.b2
        total = s2 - m2
        force_s1 = force_s1_part * (total @ self.W2)
        force_s1 += fixed.m1
        force_s1 -= s1
        tanh_2 = torch.tanh(s2)
        force_s2_part = -(tanh_2 * tanh_2)
        force_s2_part += 1
        m3 = (self.W3 @ tanh_2.T).T
        m3 += self.b3
        total_2 = y - m3
        force_s2 = force_s2_part * (total_2 @ self.W3)
        force_s2 -= total
        pull_m3 = -total_2
        return [force_s1, force_s2, pull_m3]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts.

        readout scores[k] = y[k]
        """
        _, _, y = states
        return [y]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost mse = 1/2 * sum[k]((y[k] - where(k == label, 1, 0))^2)
        """
        _, _, y = states
        (label,) = targets
        label_one_hot = (positions(K, 0, 1, self.device) == label[:, None]).to(self.dtype)
        cost_part = y - label_one_hot
        cost = 0.5 * (cost_part * cost_part).sum(1)
        return [cost]

    def _metrics(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The metrics, which are only reported.

        metric accuracy = correct[k](y[k], label)
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
        tanh = torch.tanh(s1)
        total = -(tanh * tanh)
        total += 1
        m2 = tanh @ self.W2.T
        m2 += self.b2
        total_2 = s2 - m2
        product = total * cot_s1
        total_3 = product @ self.W2.T
        total_3 -= cot_s2
        back_s1_part = -2 * (tanh * (cot_s1 * (total_2 @ self.W2)))
        back_s1_part -= total_3 @ self.W2
        back_s1 = total * back_s1_part
        back_s1 -= cot_s1
        tanh_2 = torch.tanh(s2)
        total_4 = -(tanh_2 * tanh_2)
        total_4 += 1
        m3 = (self.W3 @ tanh_2.T).T
        m3 += self.b3
        total_5 = y - m3
        product_2 = total_4 * cot_s2
        back_y = (self.W3 @ product_2.T).T
        back_y -= cot_y
        back_s2_part = -2 * (tanh_2 * (cot_s2 * (total_5 @ self.W3)))
        back_s2_part -= back_y @ self.W3
        back_s2 = total_4 * back_s2_part
        back_s2 += total_3
        if not params:
            return [back_s1, back_s2, back_y], {}
        return [back_s1, back_s2, back_y], {
            "W1": cot_s1.T @ fixed.x,
            "W2": total_2.T @ product - total_3.T @ tanh,
            "W3": total_5.T @ product_2 - back_y.T @ tanh_2,
            "b1": cot_s1.sum(0),
            "b2": -total_3.sum(0),
            "b3": -back_y.sum(0),
        }

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        cot_s1, _, _ = cotangents
        grad_x = cot_s1 @ self.W1
        return {"x": grad_x}

    def _start_vjp(self, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, d start> by params and clamps."""
        cot_s1, cot_s2, cot_y = cotangents
        tanh = torch.tanh(fixed.m1)
        p2 = tanh @ self.W2.T
        p2 += self.b2
        tanh_2 = torch.tanh_(p2)
        pull_p2_part = -(tanh_2 * tanh_2)
        pull_p2_part += 1
        pull_p2 = cot_y @ self.W3 * pull_p2_part
        pull_p2 += cot_s2
        pull_m1_part = -(tanh * tanh)
        pull_m1_part += 1
        pull_m1 = pull_p2 @ self.W2 * pull_m1_part
        pull_m1 += cot_s1
        grad_x = pull_m1 @ self.W1
        return {
            "x": grad_x,
            "W1": pull_m1.T @ fixed.x,
            "W2": pull_p2.T @ tanh,
            "W3": cot_y.T @ tanh_2,
            "b1": pull_m1.sum(0),
            "b2": pull_p2.sum(0),
            "b3": cot_y.sum(0),
        }

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (cot_scores,) = cotangents
        return [None, None, cot_scores], {}

    def _energy_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta, summed over the batch, of what no single product contrasts.

        dE/dW2[l,j] = -1/v2 * tanh(s1[j]) * (s2[l] - m2[l])
        dE/dW3[k,l] = -1/v3 * tanh(s2[l]) * (y[k] - m3[k])
        dE/db2[l] = -(s2[l] - m2[l]) / v2
        dE/db3[k] = -(y[k] - m3[k]) / v3
        """
        s1, s2, y = states
        tanh = torch.tanh(s1)
        tanh_2 = torch.tanh(s2)
        return {
            "W2": -((s2 - tanh @ self.W2.T - self.b2).T @ tanh),
            "W3": -((y - (self.W3 @ tanh_2.T).T - self.b3).T @ tanh_2),
            "b2": -(s2.sum(0) - len(states[0]) * self.b2 - tanh.sum(0) @ self.W2.T),
            "b3": -(y.sum(0) - len(states[0]) * self.b3 - tanh_2.sum(0) @ self.W3.T),
        }

    def _energy_contrast(self, plus: Tensors, minus: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta at plus less that at minus, summed over the batch.

        c_W1[j,i] = 1/v1 * x[i] * (minus_s1[j] - plus_s1[j])
        c_b1[j] = (minus_s1[j] - plus_s1[j]) / v1
        """
        plus_s1, _, _ = plus
        minus_s1, _, _ = minus
        return {"W1": (minus_s1 - plus_s1).T @ fixed.x, "b1": minus_s1.sum(0) - plus_s1.sum(0)}


class PredictiveCoding(PredictiveCodingEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"centered-ep": centered_ep, "implicit": implicit}
