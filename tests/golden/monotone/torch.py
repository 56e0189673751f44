"""monotone: A monotone equilibrium network (Winston and Kolter 2020): z = relu(W z + U x + b), with one solution
whatever is learned.

Made by energyc 0.2.0 from monotone.energy
SHA-256 of the spec: 8c66f3ee3627c2567bbb398b6d1c3264b4fce5b311f858a0046a7acfae9af99f
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
from energyc.runtime.tensors.param_sets import norm_at_most
from energyc.runtime.tensors.reductions import first_largest
from energyc.runtime.tensors.states import Tensors

I, D, K = 64, 87, 10


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    drive: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(x=self.x[rows], drive=self.drive[rows])


class MonotoneEquations:
    """States z[D].

    Sizes: I = 64, D = 87, K = 10.

    Consts: m = 1.

    let h[c] = sum[e](A[c,e] * z[e])

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "monotone"
    state_shapes = {"z": (D,)}
    clamp_shapes = {"x": ((I,), None)}
    target_shapes = {"label": ((), K)}
    readout_names = ("logits",)
    metric_names = ("accuracy",)
    constrained = True
    relax_steps = 50
    relax_step = (0.2350780532572594,)
    relax_tolerance = 1e-05
    nudge_steps = 10

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.A = self._param(norm_at_most(normal(random, (D, D), 0.03216337604513384), (0,), (1,), 0.75))
        self.B = self._param(norm_at_most(normal(random, (D, D), 0.010721125348377948), (0,), (1,), 0.25))
        self.U = self._param(normal(random, (D, I), 0.1767766952966369))
        self.b = self._param(torch.full((D,), 0.0, dtype=torch.float64))
        self.W_out = self._param(normal(random, (K, D), 0.15161960871578067))
        self.b_out = self._param(torch.full((K,), 0.0, dtype=torch.float64))

    def _prepare(self, x: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        drive = x @ self.U.T
        drive += self.b
        return Fixed(x, drive)

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_z[d] = sum[e](B[d,e] * z[e]) - m * z[d] - sum[c](A[c,d] * h[c]) - sum[e](B[e,d] * z[e]) + b[d] + sum[i](x[i]
            * U[d,i])
        """
        (z,) = states
        h = z @ self.A.T
        force_z = z @ self.B.T
        force_z += fixed.drive
        force_z -= h @ self.A
        force_z -= z @ self.B
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

        cost    ce        = cross_entropy[k](logits[k], label)
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

        metric  accuracy  = correct[k](logits[k], label)
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
        A_cot_z = cot_z @ self.A.T
        back_z = cot_z @ self.B
        back_z -= cot_z @ self.B.T
        back_z -= A_cot_z @ self.A
        back_z -= cot_z
        if not params:
            return [back_z], {}
        h = z @ self.A.T
        return [back_z], {
            "A": -(h.T @ cot_z) - A_cot_z.T @ z,
            "B": cot_z.T @ z - z.T @ cot_z,
            "U": cot_z.T @ fixed.x,
            "b": cot_z.sum(0),
        }

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        (cot_z,) = cotangents
        grad_x = cot_z @ self.U
        return {"x": grad_x}

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (z,) = states
        (cot_logits,) = cotangents
        back_z = cot_logits @ self.W_out
        return [back_z], {"W_out": cot_logits.T @ z, "b_out": cot_logits.sum(0)}

    def _project_(self, states: list[Tensor]) -> None:
        """Each state onto its constraint set, in place."""
        states[0].clamp_(min=0)

    def _project_adjoint(self, at: Tensors, cotangents: Tensors) -> list[Tensor]:
        """P^T cotangents, P the derivative of the projection at a point."""
        return [torch.where(at[0] >= 0, cotangents[0], 0.0)]


class Monotone(MonotoneEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"implicit": implicit}

    @torch.no_grad()
    def project_params(self) -> None:
        """Put params back on their sets."""
        self.A.copy_(norm_at_most(self.A, (0,), (1,), 0.75))
        self.B.copy_(norm_at_most(self.B, (0,), (1,), 0.25))
        super().project_params()
