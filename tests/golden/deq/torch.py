"""deq: A deep equilibrium layer (Bai, Kolter, Koltun 2019): z = tanh(W z + U x + b).

Made by energyc 0.2.0 from deq.energy
SHA-256 of the spec: f9fde5a44b4ecebd6ed2de66abac423e06f92243b696dff29e80006611b5a637
Rules: implicit
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.networks.network import EnergyNetwork
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.indexing import positions
from energyc.runtime.tensors.reductions import first_largest
from energyc.runtime.tensors.states import Tensors

I, D, K = 64, 128, 10


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    drive: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(x=self.x[rows], drive=self.drive[rows])


class DeqEquations:
    """States z[D].

    Sizes: I = 64, D = 128, K = 10.
    """

    name = "deq"
    state_shapes = {"z": (D,)}
    clamp_shapes = {"x": ((I,), None)}
    target_shapes = {"label": ((), K)}
    readout_names = ("logits",)
    metric_names = ("accuracy",)
    relax_steps = 50
    relax_step = (1.0,)
    relax_tolerance = 1e-05
    nudge_steps = 10

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.W = self._param(normal(random, (D, D), 0.044194173824159216))
        self.U = self._param(normal(random, (D, I), 0.1767766952966369))
        self.b = self._param(torch.full((D,), 0.0, dtype=torch.float64))
        self.W_out = self._param(normal(random, (K, D), 0.125))
        self.b_out = self._param(torch.full((K,), 0.0, dtype=torch.float64))

    def _prepare(self, x: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        drive = x @ self.U.T
        drive += self.b
        return Fixed(x, drive)

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        next z[d] = tanh(sum[e](W[d,e] * z[e]) + sum[i](U[d,i] * x[i]) + b[d])
        F_z[d] = tanh(b[d] + sum[e](W[d,e] * z[e]) + sum[i](x[i] * U[d,i])) - z[d]
        """
        (z,) = states
        tanh_argument = z @ self.W.T
        tanh_argument += fixed.drive
        force_z = torch.tanh_(tanh_argument)
        force_z -= z
        return [force_z]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts.

        readout logits[k] = sum[d](W_out[k,d] * z[d]) + b_out[k]
        """
        (z,) = states
        logits = (self.W_out @ z.T).T
        logits += self.b_out
        return [logits]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost ce = cross_entropy[k](logits[k], label)
        """
        (z,) = states
        (label,) = targets
        scores = (self.W_out @ z.T).T
        scores += self.b_out
        logsumexp = scores.logsumexp(1)
        cost = logsumexp - scores.take_along_dim(label[:, None], 1).squeeze(1)
        return [cost]

    def _metrics(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The metrics, which are only reported.

        metric accuracy = correct[k](logits[k], label)
        """
        (z,) = states
        (label,) = targets
        accuracy_part = (self.W_out @ z.T).T
        accuracy_part += self.b_out
        accuracy_part_2 = first_largest(accuracy_part, 1)
        accuracy = accuracy_part_2.take_along_dim(label[:, None], 1).squeeze(1)
        return [accuracy]

    def _cost_vjp(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dz[d] = sum[k](W_out[k,d] * (softmax[k](b_out[k] + sum[e](W_out[k,e] * z[e])) - where(k == label, 1, 0)))
        dC/dW_out[k,d] = z[d] * (softmax[k](b_out[k] + sum[e](W_out[k,e] * z[e])) - where(k == label, 1, 0))
        dC/db_out[k] = softmax[k](b_out[k] + sum[d](W_out[k,d] * z[d])) - where(k == label, 1, 0)
        """
        (z,) = states
        (label,) = targets
        label_one_hot = (positions(K, 0, 1, self.device) == label[:, None]).to(self.dtype)
        scores = (self.W_out @ z.T).T
        scores += self.b_out
        weights = scores.softmax(1)
        grad_b_out = weights - label_one_hot
        slope_z = grad_b_out @ self.W_out
        if not params:
            return [slope_z], {}
        return [slope_z], {"W_out": grad_b_out.T @ z, "b_out": grad_b_out.sum(0)}

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (z,) = states
        (cot_z,) = cotangents
        tanh_argument = z @ self.W.T
        tanh_argument += fixed.drive
        tanh = torch.tanh_(tanh_argument)
        grad_b_part = -(tanh * tanh)
        grad_b_part += 1
        grad_b = cot_z * grad_b_part
        back_z = grad_b @ self.W
        back_z -= cot_z
        if not params:
            return [back_z], {}
        return [back_z], {"W": grad_b.T @ z, "U": grad_b.T @ fixed.x, "b": grad_b.sum(0)}

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        (z,) = states
        (cot_z,) = cotangents
        tanh_argument = z @ self.W.T
        tanh_argument += fixed.drive
        tanh = torch.tanh_(tanh_argument)
        grad_x_part = -(tanh * tanh)
        grad_x_part += 1
        grad_x = cot_z * grad_x_part @ self.U
        return {"x": grad_x}

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (z,) = states
        (cot_logits,) = cotangents
        back_z = cot_logits @ self.W_out
        return [back_z], {"W_out": cot_logits.T @ z, "b_out": cot_logits.sum(0)}


class Deq(DeqEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"implicit": implicit}
