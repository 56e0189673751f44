"""sets: Params on sets: a Hopfield network with symmetric weights, an orthonormal code and unit vectors.

Made by energyc 0.3.0 from sets.energy
SHA-256 of the spec: a85be1e73d2ad41a596ce80230e68a213184a84ed8e2ad893963252cf7d57cd4
Rules: centered-ep, implicit
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from energyc import runtime as rt

rt.require_contract(1)

I, N, K = 6, 5, 3


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    x_Q_part: Tensor


class Sets(rt.EnergyNetwork):
    """States s[N]."""

    name = "sets"
    states = {"s": rt.Box((N,), -1, 1)}
    clamps = {"x": rt.Real((I,))}
    targets = {"y": rt.Real((K,))}
    param_bounds = {"W": (-1.0, 1.0)}
    term_names = ("leak", "drive")
    readout_names = ("answer",)
    force_params = ("W",)
    relaxation = rt.Relax(steps=30, step=(0.5,))
    nudging = rt.Nudge(beta=0.5, steps=10)
    learning_rules = (rt.centered_ep, rt.implicit)

    def _initialize(self, random: torch.Generator) -> None:
        """Params, drawn, and constants."""
        self.W = self._param(
            rt.ops.zero_diagonal(
                rt.ops.mirrored(rt.draws.normal(random, (N, N), 0.1), (0,), (1,)),
                (0,),
                (1,),
            ).clamp(min=-1, max=1)
        )
        self.Q = self._param(rt.ops.orthogonal(rt.draws.normal(random, (N, I), 1), (0,), (1,)))
        self.P = self._param(rt.ops.unit(rt.draws.normal(random, (K, N), 1), (1,)))

    def _prepare(self, x: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        x_Q_part = x @ self.Q.T
        return Fixed(x, x_Q_part)

    def _terms(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy leak = 1/2 * sum[n](s[n]^2)
        energy drive = -sum[n,i](Q[n,i] * x[i] * s[n])
        """
        (s,) = states
        energy_leak = 0.5 * (s * s).sum(1)
        energy_drive = -(s * fixed.x_Q_part).sum(1)
        return [energy_leak, energy_drive]

    def _force(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state: F_s[n] = sum[m](W[n,m] * s[m]) + sum[i](x[i] * Q[n,i]) - s[n]"""
        (s,) = states
        force_s = s @ self.W.T + fixed.x_Q_part - s
        return [force_s]

    def _readouts(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts: answer[k] = sum[n](P[k,n] * s[n])"""
        (s,) = states
        answer = s @ self.P.T
        return [answer]

    def _cost(self, states: rt.Tensors, fixed: Fixed, targets: rt.Tensors) -> list[Tensor]:
        """The cost of each sample: mse = mean[k]((answer[k] - y[k])^2)"""
        (s,) = states
        (y,) = targets
        cost_part = s @ self.P.T - y
        cost = (cost_part * cost_part).mean(1)
        return [cost]

    def _cost_vjp(self, states: rt.Tensors, fixed: Fixed, targets: rt.Tensors, params: bool = True) -> rt.Pullback:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/ds[n] = 2 * mean[k](P[k,n] * (sum[m](P[k,m] * s[m]) - y[k]))
        dC/dP[k,n] = 2/K * s[n] * (sum[m](P[k,m] * s[m]) - y[k])
        """
        (s,) = states
        (y,) = targets
        total = s @ self.P.T - y
        slope_s = 2 / K * (total @ self.P)
        if not params:
            return [slope_s], {}
        return [slope_s], {"P": 2 / K * (total.T @ s)}

    def _force_vjp(self, states: rt.Tensors, fixed: Fixed, cotangents: rt.Tensors, params: bool = True) -> rt.Pullback:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (s,) = states
        (cot_s,) = cotangents
        back_s = cot_s @ self.W - cot_s
        if not params:
            return [back_s], {}
        return [back_s], {"W": cot_s.T @ s, "Q": cot_s.T @ fixed.x}

    def _energy_contrast(self, plus: rt.Tensors, minus: rt.Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta at plus less that at minus, summed over the batch.

        c_Q[n,i] = x[i] * (minus_s[n] - plus_s[n])
        """
        (plus_s,) = plus
        (minus_s,) = minus
        grad_Q_part = minus_s - plus_s
        return {"Q": grad_Q_part.T @ fixed.x}

    @torch.no_grad()
    def project_params(self) -> None:
        """Put params back on their sets."""
        self.W.copy_(rt.ops.zero_diagonal(rt.ops.symmetric(self.W, (0,), (1,)), (0,), (1,)))
        self.Q.copy_(rt.ops.orthogonal(self.Q, (0,), (1,)))
        self.P.copy_(rt.ops.unit(self.P, (1,)))
        super().project_params()

    @torch.no_grad()
    def project_gradients(self, gradients: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The parts of gradients along the sets of their params."""
        along = dict(gradients)
        if "W" in along:
            along["W"] = rt.ops.zero_diagonal(rt.ops.symmetric(along["W"], (0,), (1,)), (0,), (1,))
        if "Q" in along:
            along["Q"] = rt.ops.along_orthogonal(along["Q"], self.Q, (0,), (1,))
        if "P" in along:
            along["P"] = rt.ops.along_sphere(along["P"], self.P, (1,))
        return along
