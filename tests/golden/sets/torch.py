"""sets: Params on sets: a Hopfield network with symmetric weights, an orthonormal code and unit vectors.

Made by energyc 0.2.0 from sets.energy
SHA-256 of the spec: a85be1e73d2ad41a596ce80230e68a213184a84ed8e2ad893963252cf7d57cd4
Rules: centered-ep, implicit
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.networks.network import EnergyNetwork
from energyc.runtime.rules.centered_ep import centered_ep
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.param_sets import (
    along_orthogonal,
    along_sphere,
    mirrored,
    orthogonal,
    symmetric,
    unit,
    zero_diagonal,
)
from energyc.runtime.tensors.states import Tensors

I, N, K = 6, 5, 3


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    x_Q_part: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(x=self.x[rows], x_Q_part=self.x_Q_part[rows])


class SetsEquations:
    """States s[N].

    Sizes: I = 6, N = 5, K = 3.
    """

    name = "sets"
    state_shapes = {"s": (N,)}
    clamp_shapes = {"x": ((I,), None)}
    target_shapes = {"y": ((K,), None)}
    param_bounds = {"W": (-1.0, 1.0)}
    term_names = ("leak", "drive")
    readout_names = ("answer",)
    constrained = True
    relax_steps = 30
    relax_step = (0.5,)
    beta = 0.5
    nudge_steps = 10
    force_params = ("W",)

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.W = self._param(
            zero_diagonal(mirrored(normal(random, (N, N), 0.1), (0,), (1,)), (0,), (1,)).clamp(min=-1, max=1)
        )
        self.Q = self._param(orthogonal(normal(random, (N, I), 1), (0,), (1,)))
        self.P = self._param(unit(normal(random, (K, N), 1), (1,)))

    def _prepare(self, x: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        x_Q_part = (self.Q @ x.T).T
        return Fixed(x, x_Q_part)

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy leak = 1/2 * sum[n](s[n]^2)
        energy drive = -sum[n,i](Q[n,i] * x[i] * s[n])
        """
        (s,) = states
        energy_leak = 0.5 * (s * s).sum(1)
        energy_drive = -(s * fixed.x_Q_part).sum(1)
        return [energy_leak, energy_drive]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_s[n] = sum[m](W[n,m] * s[m]) + sum[i](x[i] * Q[n,i]) - s[n]
        """
        (s,) = states
        force_s = (self.W @ s.T).T
        force_s += fixed.x_Q_part
        force_s -= s
        return [force_s]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts.

        readout answer[k] = sum[n](P[k,n] * s[n])
        """
        (s,) = states
        answer = (self.P @ s.T).T
        return [answer]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost mse = mean[k]((answer[k] - y[k])^2)
        """
        (s,) = states
        (y,) = targets
        cost_part = (self.P @ s.T).T
        cost_part -= y
        cost = (cost_part * cost_part).mean(1)
        return [cost]

    def _cost_vjp(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/ds[n] = 2 * mean[k](P[k,n] * (sum[m](P[k,m] * s[m]) - y[k]))
        dC/dP[k,n] = 2/K * s[n] * (sum[m](P[k,m] * s[m]) - y[k])
        """
        (s,) = states
        (y,) = targets
        total = (self.P @ s.T).T
        total -= y
        slope_s = 2 / K * (self.P.T @ total.T).T
        if not params:
            return [slope_s], {}
        return [slope_s], {"P": 2 / K * (total.T @ s)}

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (s,) = states
        (cot_s,) = cotangents
        back_s = (self.W.T @ cot_s.T).T
        back_s -= cot_s
        if not params:
            return [back_s], {}
        return [back_s], {"W": cot_s.T @ s, "Q": cot_s.T @ fixed.x}

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        (cot_s,) = cotangents
        grad_x = (self.Q.T @ cot_s.T).T
        return {"x": grad_x}

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (s,) = states
        (cot_answer,) = cotangents
        back_s = (self.P.T @ cot_answer.T).T
        return [back_s], {"P": cot_answer.T @ s}

    def _energy_contrast(self, plus: Tensors, minus: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta at plus less that at minus, summed over the batch.

        c_Q[n,i] = x[i] * (minus_s[n] - plus_s[n])
        """
        (plus_s,) = plus
        (minus_s,) = minus
        grad_Q_part = minus_s - plus_s
        return {"Q": grad_Q_part.T @ fixed.x}

    def _project_(self, states: list[Tensor]) -> None:
        """Each state onto its constraint set, in place."""
        states[0].clamp_(min=-1, max=1)

    def _project_adjoint(self, at: Tensors, cotangents: Tensors) -> list[Tensor]:
        """P^T cotangents, P the derivative of the projection at a point."""
        return [torch.where((at[0] >= -1) & (at[0] <= 1), cotangents[0], 0.0)]


class Sets(SetsEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"centered-ep": centered_ep, "implicit": implicit}

    @torch.no_grad()
    def project_params(self) -> None:
        """Put params back on their sets."""
        self.W.copy_(zero_diagonal(symmetric(self.W, (0,), (1,)), (0,), (1,)))
        self.Q.copy_(orthogonal(self.Q, (0,), (1,)))
        self.P.copy_(unit(self.P, (1,)))
        super().project_params()

    @torch.no_grad()
    def project_gradients(self, gradients: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The parts of gradients along the sets of their params."""
        along = dict(gradients)
        if "W" in along:
            along["W"] = symmetric(along["W"], (0,), (1,))
            along["W"] = zero_diagonal(along["W"], (0,), (1,))
        if "Q" in along:
            along["Q"] = along_orthogonal(along["Q"], self.Q, (0,), (1,))
        if "P" in along:
            along["P"] = along_sphere(along["P"], self.P, (1,))
        return along
