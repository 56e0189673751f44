"""resistive: Nonlinear resistive network (Kendall et al. 2020): node voltages minimise the co-content; diodes
bound them.

Made by energyc 0.2.0 from resistive.energy
SHA-256 of the spec: dcb53c9858c12cf9b6dd0f999ce7553c7cfba92b0b16bb7032c6ca0e64a8ca75
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

I, J, K = 784, 100, 10


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    source: Tensor
    source_g1_part: Tensor
    g1_part: Tensor
    g2_part: Tensor
    g2_part_2: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(source=self.source[rows], source_g1_part=self.source_g1_part[rows])


class ResistiveEquations:
    """States v[J], w[K].

    Sizes: I = 784, J = 100, K = 10.

    Consts: Is = 1e-06, Vt = 0.026, lo = 0, hi = 1.
    """

    name = "resistive"
    state_shapes = {"v": (J,), "w": (K,)}
    clamp_shapes = {"source": ((I,), None)}
    target_shapes = {"label": ((), K)}
    param_bounds = {"g1": (1e-05, 1.0), "g2": (1e-05, 1.0)}
    term_names = ("input", "output", "upper", "lower")
    readout_names = ("scores",)
    metric_names = ("accuracy",)
    relax_steps = 20
    relax_step = (0.02, 0.15)
    relax_tolerance = 1e-06
    beta = "auto"
    nudge_steps = 20

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.g1 = self._param(uniform(random, (I, J), 0.001, 0.1).clamp(min=1e-05, max=1))
        self.g2 = self._param(uniform(random, (J, K), 0.001, 0.1).clamp(min=1e-05, max=1))

    def _prepare(self, source: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        source_g1_part = source @ self.g1
        g1_part = self.g1.sum(0)
        g2_part = self.g2.sum(0)
        g2_part_2 = self.g2.sum(1)
        return Fixed(source, source_g1_part, g1_part, g2_part, g2_part_2)

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy input  = 1/2 * sum[i,j](g1[i,j] * (v[j] - source[i])^2)
        energy output = 1/2 * sum[j,k](g2[j,k] * (w[k] - v[j])^2)
        energy upper  = sum[j](diode(v[j] - hi))
        energy lower  = sum[j](diode(lo - v[j]))
        """
        v, w = states
        v_v_2 = v * v
        energy_input_part = (
            v_v_2 @ fixed.g1_part
            + fixed.source * fixed.source @ self.g1.sum(1)
            - 2 * (v * fixed.source_g1_part).sum(1)
        )
        energy_input = 0.5 * energy_input_part
        energy_output_part = w * w @ fixed.g2_part + v_v_2 @ fixed.g2_part_2 - 2 * (w * (self.g2.T @ v.T).T).sum(1)
        energy_output = 0.5 * energy_output_part
        energy_upper_part = v - 1
        energy_upper_part_2 = 0.026 * torch.exp_(38.46153846153846 * energy_upper_part)
        energy_upper_part_2 -= energy_upper_part
        energy_upper = 1e-06 * energy_upper_part_2.sum(1)
        energy_lower_part = 0.026 * torch.exp_(-38.46153846153846 * v)
        energy_lower_part += v
        energy_lower = 1e-06 * energy_lower_part.sum(1)
        return [energy_input, energy_output, energy_upper, energy_lower]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_v[j] = Is * (exp(-v[j] / Vt) - 1) - Is * (exp((v[j] - hi) / Vt) - 1) + sum[k](g2[j,k] * (w[k] - v[j])) -
            sum[i](g1[i,j] * (v[j] - source[i]))
        F_w[k] = -sum[j](g2[j,k] * (w[k] - v[j]))
        """
        v, w = states
        force_v_part = v - 1
        force_v = 1e-06 * torch.exp_(-38.46153846153846 * v)
        force_v += w @ self.g2.T
        force_v += fixed.source_g1_part
        force_v.add_(torch.exp_(38.46153846153846 * force_v_part), alpha=-1e-06)
        force_v -= v * fixed.g1_part
        force_v -= v * fixed.g2_part_2
        force_w = (self.g2.T @ v.T).T
        force_w -= w * fixed.g2_part
        return [force_v, force_w]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts.

        readout scores[k] = w[k]
        """
        _, w = states
        return [w]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost mse = 1/2 * sum[k]((w[k] - where(k == label, 1, 0))^2)
        """
        _, w = states
        (label,) = targets
        label_one_hot = (positions(K, 0, 1, self.device) == label[:, None]).to(self.dtype)
        cost_part = w - label_one_hot
        cost = 0.5 * (cost_part * cost_part).sum(1)
        return [cost]

    def _metrics(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The metrics, which are only reported.

        metric accuracy = correct[k](w[k], label)
        """
        _, w = states
        (label,) = targets
        accuracy_part = first_largest(w, 1)
        accuracy = accuracy_part.take_along_dim(label[:, None], 1).squeeze(1)
        return [accuracy]

    def _cost_vjp(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dw[k] = w[k] - where(k == label, 1, 0)
        """
        _, w = states
        (label,) = targets
        label_one_hot = (positions(K, 0, 1, self.device) == label[:, None]).to(self.dtype)
        slope_w = w - label_one_hot
        return [None, slope_w], {}

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        v, w = states
        cot_v, cot_w = cotangents
        back_v_part = v - 1
        back_v = cot_w @ self.g2.T
        back_v -= (cot_v[:, :, None] * self.g1.T).sum(2)
        back_v.add_(torch.exp_(38.46153846153846 * back_v_part) * cot_v, alpha=-3.8461538461538456e-05)
        back_v.add_(torch.exp_(-38.46153846153846 * v) * cot_v, alpha=-3.8461538461538456e-05)
        back_v -= cot_v * fixed.g2_part_2
        back_w = (self.g2.T @ cot_v.T).T
        back_w -= cot_w * fixed.g2_part
        if not params:
            return [back_v, back_w], {}
        return [back_v, back_w], {
            "g1": fixed.source.T @ cot_v - (v * cot_v).sum(0),
            "g2": (w.T @ cot_v).T + (cot_w.T @ v).T - (w * cot_w).sum(0) - (v * cot_v).sum(0)[:, None],
        }

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        cot_v, _ = cotangents
        grad_source = (cot_v[:, :, None] * self.g1.T).sum(1)
        return {"source": grad_source}

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (cot_scores,) = cotangents
        return [None, cot_scores], {}

    def _energy_contrast(self, plus: Tensors, minus: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta at plus less that at minus, summed over the batch.

        c_g1[i,j] = 1/2 * (plus_v[j] - minus_v[j]) * (plus_v[j] - 2 * source[i] + minus_v[j])
        c_g2[j,k] = 1/2 * (plus_w[k] - minus_w[k] + minus_v[j] - plus_v[j]) * (plus_w[k] - plus_v[j] + minus_w[k] -
            minus_v[j])
        """
        plus_v, plus_w = plus
        minus_v, minus_w = minus
        grad_g1_part = plus_v - minus_v
        grad_g1_part_2 = plus_v + minus_v
        grad_g2_part = plus_w - minus_w
        grad_g2_part_2 = plus_w + minus_w
        grad_g2_part_3 = -plus_v
        grad_g2_part_3 -= minus_v
        grad_g2_part_4 = minus_v - plus_v
        return {
            "g1": -(fixed.source.T @ grad_g1_part) + 0.5 * (grad_g1_part * grad_g1_part_2).sum(0),
            "g2": (
                0.5 * (grad_g2_part.T @ grad_g2_part_3).T
                + 0.5 * (grad_g2_part_2.T @ grad_g2_part_4).T
                + 0.5 * (grad_g2_part * grad_g2_part_2).sum(0)
                + 0.5 * (grad_g2_part_4 * grad_g2_part_3).sum(0)[:, None]
            ),
        }


class Resistive(ResistiveEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"centered-ep": centered_ep, "implicit": implicit}
