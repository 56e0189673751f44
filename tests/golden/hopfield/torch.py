"""hopfield: Continuous Hopfield network on digits, one hidden layer (Scellier and Bengio 2017).

Made by energyc 0.3.0 from hopfield.energy
SHA-256 of the spec: 323c6418a5bb33e7a2802e4db5ebed468a0bbbd69a39bb78f2686c33cc564fd3
Rules: centered-ep, implicit
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor

from energyc import runtime as rt

rt.require_contract(1)

I, J, K = 784, 512, 10


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    drive: Tensor


class Hopfield(rt.EnergyNetwork):
    """States s[J], y[K]."""

    name = "hopfield"
    states = {"s": rt.Box((J,), 0, 1), "y": rt.Box((K,), -1, 2)}
    clamps = {"x": rt.Real((I,))}
    targets = {"label": rt.Index((), K)}
    term_names = ("leak", "synapses", "biases")
    readout_names = ("scores",)
    metric_names = ("accuracy",)
    relaxation = rt.Relax(steps=20, step=(0.5, 0.5), tolerance=0.0001)
    nudging = rt.Nudge(beta="auto", steps=8)
    learning_rules = (rt.centered_ep, rt.implicit)

    def _initialize(self, random: torch.Generator) -> None:
        """Params, drawn, and constants."""
        self.W1 = self._param(rt.draws.glorot(random, (I, J)))
        self.b1 = self._param(torch.zeros((J,)))
        self.W2 = self._param(rt.draws.normal(random, (J, K), 0.25 / math.sqrt(J)))
        self.b2 = self._param(torch.full((K,), 0.5, dtype=torch.float64))

    def _prepare(self, x: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        drive = x @ self.W1 + self.b1
        return Fixed(x, drive)

    def _terms(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy leak     = 1/2 * sum[j](s[j]^2) + 1/2 * sum[k](y[k]^2)
        energy synapses = -sum[i,j](x[i] * W1[i,j] * s[j]) - sum[j,k](s[j] * W2[j,k] * y[k])
        energy biases   = -sum[j](b1[j] * s[j]) - sum[k](b2[k] * y[k])
        """
        s, y = states
        energy_leak = 0.5 * (s * s).sum(1) + 0.5 * (y * y).sum(1)
        energy_synapses = -(s * (fixed.x @ self.W1)).sum(1) - (y * (s @ self.W2)).sum(1)
        energy_biases = -(s @ self.b1) - y @ self.b2
        return [energy_leak, energy_synapses, energy_biases]

    def _force(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_s[j] = b1[j] - s[j] + sum[k](W2[j,k] * y[k]) + sum[i](x[i] * W1[i,j])
        F_y[k] = b2[k] - y[k] + sum[j](W2[j,k] * s[j])
        """
        s, y = states
        force_s = y @ self.W2.T + fixed.drive - s
        force_y = s @ self.W2 - y + self.b2
        return [force_s, force_y]

    def _readouts(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts: scores[k] = y[k]"""
        _, y = states
        return [y]

    def _cost(self, states: rt.Tensors, fixed: Fixed, targets: rt.Tensors) -> list[Tensor]:
        """The cost of each sample: mse = 1/2 * sum[k]((y[k] - where(k == label, 1, 0))^2)"""
        _, y = states
        (label,) = targets
        label_one_hot = rt.ops.one_hot(label, K, 1, self.dtype)
        cost_part = y - label_one_hot
        cost = 0.5 * (cost_part * cost_part).sum(1)
        return [cost]

    def _metrics(self, states: rt.Tensors, fixed: Fixed, targets: rt.Tensors) -> list[Tensor]:
        """The metrics, which are only reported: accuracy = correct[k](y[k], label)"""
        _, y = states
        (label,) = targets
        accuracy_part = rt.ops.first_largest(y, 1)
        accuracy = accuracy_part.take_along_dim(label[:, None], 1).squeeze(1)
        return [accuracy]

    def _cost_vjp(self, states: rt.Tensors, fixed: Fixed, targets: rt.Tensors, params: bool = True) -> rt.Pullback:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dy[k] = y[k] - where(k == label, 1, 0)
        """
        _, y = states
        (label,) = targets
        label_one_hot = rt.ops.one_hot(label, K, 1, self.dtype)
        slope_y = y - label_one_hot
        return [None, slope_y], {}

    def _force_vjp(self, states: rt.Tensors, fixed: Fixed, cotangents: rt.Tensors, params: bool = True) -> rt.Pullback:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        s, y = states
        cot_s, cot_y = cotangents
        back_s = cot_y @ self.W2.T - cot_s
        back_y = cot_s @ self.W2 - cot_y
        if not params:
            return [back_s, back_y], {}
        return [back_s, back_y], {
            "W1": fixed.x.T @ cot_s,
            "b1": cot_s.sum(0),
            "W2": s.T @ cot_y + cot_s.T @ y,
            "b2": cot_y.sum(0),
        }

    def _energy_contrast(self, plus: rt.Tensors, minus: rt.Tensors, fixed: Fixed) -> dict[str, Tensor]:
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
            "W2": grad_b1.T @ minus_y + plus_s.T @ (minus_y - plus_y),
            "b2": minus_y.sum(0) - plus_y.sum(0),
        }
