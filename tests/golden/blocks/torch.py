"""blocks: States that move exactly in blocks: in a box, by a slope that is computed, on a kink; and one that
moves by its step.

Made by energyc 0.2.0 from blocks.energy
SHA-256 of the spec: 3f4562e836e6296b66c9746e258c26dc5c5f864327735e4aac2f71a9e57ed449
Rules: centered-ep, implicit
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.equations.proximal import ProximalEquations
from energyc.runtime.networks.network import EnergyNetwork
from energyc.runtime.rules.centered_ep import centered_ep
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import normal, uniform
from energyc.runtime.tensors.states import Tensors

I, J, K = 12, 9, 4


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    x_V_part: Tensor
    g_part: Tensor
    g_part_2: Tensor
    drive: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(x=self.x[rows], x_V_part=self.x_V_part[rows])


class NBlocksEquations:
    """States s[J], w[K], y[K], u[K].

    Sizes: I = 12, J = 9, K = 4.
    """

    name = "blocks"
    state_shapes = {"s": (J,), "w": (K,), "y": (K,), "u": (K,)}
    clamp_shapes = {"x": ((I,), None)}
    target_shapes = {"t": ((K,), None)}
    param_bounds = {"g": (0.01, 1.0), "l": (0.0, None)}
    term_names = ("leak", "current", "code", "well", "pairs")
    readout_names = ("out",)
    constrained = True
    kinked = True
    _corners = ((2, 0.0, 0, 0),)
    _norms = ()
    relax_solver = "blocks"
    relax_steps = 20
    relax_step = (0.25, 0.25, 0.25, 0.25)
    relax_tolerance = 0.0001
    blocks = ((0,), (1, 2), (3,))
    block_slopes = {0: None, 1: None, 2: 1.5}
    cost_slopes = {2: 1.0}
    relax_chunk = 2
    beta = "auto"
    nudge_steps = 8

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.V = self._param(normal(random, (I, J), 0.2))
        self.W = self._param(normal(random, (J, K), 0.2))
        self.g = self._param(uniform(random, (J, K), 0.1, 1).clamp(min=0.01, max=1))
        self.l = self._param(torch.full((), 0.01, dtype=torch.float64).clamp(min=0))

    def _prepare(self, x: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        x_V_part = (self.V.T @ x.T).T
        g_part = self.g.sum(0)
        g_part_2 = self.g.sum(1)
        drive = g_part_2 + 1
        return Fixed(x, x_V_part, g_part, g_part_2, drive)

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy leak    = 1/2 * sum[j](s[j]^2)
        energy current = 1/2 * sum[j,k](g[j,k] * (w[k] - s[j])^2)
        energy code    = 3/4 * sum[k](y[k]^2) + l * sum[k](abs(y[k]))
        energy well    = 1/2 * sum[k](u[k]^2) + 1/4 * sum[k](u[k]^4) - 1/2 * sum[k](u[k] * y[k])
        energy pairs   = -sum[i,j](x[i] * V[i,j] * s[j]) - sum[j,k](s[j] * W[j,k] * y[k])
        """
        s, w, y, u = states
        energy_leak = 0.5 * (s * s).sum(1)
        energy_current_part = w * w @ fixed.g_part + s * s @ fixed.g_part_2 - 2 * (w * (self.g.T @ s.T).T).sum(1)
        energy_current = 0.5 * energy_current_part
        energy_code = 0.75 * (y * y).sum(1) + torch.abs(y).sum(1) * self.l
        u_u = u * u
        energy_well = 0.5 * (u * u).sum(1) + 0.25 * (u_u * u_u).sum(1) - 0.5 * (y * u).sum(1)
        energy_pairs = -(s * fixed.x_V_part).sum(1) - (y * (self.W.T @ s.T).T).sum(1)
        return [energy_leak, energy_current, energy_code, energy_well, energy_pairs]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state, without that of code on y.

        F_s[j] = sum[k](g[j,k] * (w[k] - s[j])) - s[j] + sum[k](W[j,k] * y[k]) + sum[i](x[i] * V[i,j])
        F_w[k] = -sum[j](g[j,k] * (w[k] - s[j]))
        F_y[k] = 1/2 * u[k] - 3/2 * y[k] + sum[j](W[j,k] * s[j])
        F_u[k] = 1/2 * y[k] - u[k] - u[k]^3
        """
        s, w, y, u = states
        force_s = (self.W @ y.T).T
        force_s += (self.g @ w.T).T
        force_s += fixed.x_V_part
        force_s -= s * fixed.g_part_2
        force_s -= s
        force_w = (self.g.T @ s.T).T
        force_w -= w * fixed.g_part
        force_y = (self.W.T @ s.T).T
        force_y.add_(u, alpha=0.5)
        force_y.add_(y, alpha=-1.5)
        force_u = 0.5 * y
        force_u -= u * (u * u)
        force_u -= u
        return [force_s, force_w, force_y, force_u]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts.

        readout out[k] = y[k]
        """
        _, _, y, _ = states
        return [y]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost mse = 1/2 * sum[k]((y[k] - t[k])^2)
        """
        _, _, y, _ = states
        (t,) = targets
        cost_part = y - t
        cost = 0.5 * (cost_part * cost_part).sum(1)
        return [cost]

    def _cost_vjp(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dy[k] = y[k] - t[k]
        """
        _, _, y, _ = states
        (t,) = targets
        slope_y = y - t
        return [None, None, slope_y, None], {}

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        s, w, y, u = states
        cot_s, cot_w, cot_y, cot_u = cotangents
        back_s = (self.W @ cot_y.T).T
        back_s += (self.g @ cot_w.T).T
        back_s -= cot_s * fixed.g_part_2
        back_s -= cot_s
        back_w = (self.g.T @ cot_s.T).T
        back_w -= cot_w * fixed.g_part
        back_y = (self.W.T @ cot_s.T).T
        back_y.add_(cot_u, alpha=0.5)
        back_y.add_(cot_y, alpha=-1.5)
        back_u = 0.5 * cot_y
        back_u.add_(cot_u * (u * u), alpha=-3)
        back_u -= cot_u
        if not params:
            return [back_s, back_w, back_y, back_u], {}
        return [back_s, back_w, back_y, back_u], {
            "V": (cot_s.T @ fixed.x).T,
            "W": (cot_y.T @ s).T + (y.T @ cot_s).T,
            "g": (w.T @ cot_s).T + (cot_w.T @ s).T - (w * cot_w).sum(0) - (s * cot_s).sum(0)[:, None],
        }

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        cot_s, _, _, _ = cotangents
        grad_x = (self.V @ cot_s.T).T
        return {"x": grad_x}

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (cot_out,) = cotangents
        return [None, None, cot_out, None], {}

    def _weights(self, fixed: Fixed) -> list[Tensor]:
        """The weights of the kinks that move proximally."""
        return [self.l.expand(K).expand(len(fixed[0]), K)]

    def _weights_vjp(self, fixed: Fixed, pulls: Tensors) -> dict[str, Tensor]:
        """<pulls, d weights/dtheta> summed over the batch."""
        (pull_y,) = pulls
        return {"l": pull_y.sum()}

    def _energy_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta, summed over the batch, of what no single product contrasts.

        dE/dl = sum[k](abs(y[k]))
        """
        _, _, y, _ = states
        return {"l": torch.abs(y).sum()}

    def _energy_contrast(self, plus: Tensors, minus: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta at plus less that at minus, summed over the batch.

        c_V[i,j] = x[i] * (minus_s[j] - plus_s[j])
        c_W[j,k] = minus_y[k] * (minus_s[j] - plus_s[j]) + plus_s[j] * (minus_y[k] - plus_y[k])
        c_g[j,k] = 1/2 * (plus_w[k] - minus_w[k] + minus_s[j] - plus_s[j]) * (plus_w[k] - plus_s[j] + minus_w[k] -
            minus_s[j])
        """
        plus_s, plus_w, plus_y, _ = plus
        minus_s, minus_w, minus_y, _ = minus
        total = minus_s - plus_s
        grad_W_part = minus_y - plus_y
        grad_g_part = plus_w - minus_w
        grad_g_part_2 = plus_w + minus_w
        grad_g_part_3 = -plus_s
        grad_g_part_3 -= minus_s
        return {
            "V": (total.T @ fixed.x).T,
            "W": (minus_y.T @ total).T + (grad_W_part.T @ plus_s).T,
            "g": (
                0.5 * (grad_g_part.T @ grad_g_part_3).T
                + 0.5 * (grad_g_part_2.T @ total).T
                + 0.5 * (grad_g_part * grad_g_part_2).sum(0)
                + 0.5 * (total * grad_g_part_3).sum(0)[:, None]
            ),
        }

    def _force_of_block_0(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on s; D of s."""
        s, w, y, _ = states
        force_s = (self.W @ y.T).T
        force_s += (self.g @ w.T).T
        force_s += fixed.x_V_part
        force_s -= s * fixed.g_part_2
        force_s -= s
        return [force_s, fixed.drive.expand(len(states[0]), J)]

    def _force_of_block_1(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on w and y; D of w."""
        s, w, y, u = states
        force_w = (self.g.T @ s.T).T
        force_w -= w * fixed.g_part
        force_y = (self.W.T @ s.T).T
        force_y.add_(u, alpha=0.5)
        force_y.add_(y, alpha=-1.5)
        return [force_w, force_y, fixed.g_part.expand(len(states[0]), K)]

    def _force_of_block_2(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on u."""
        _, _, y, u = states
        force_u = 0.5 * y
        force_u -= u * (u * u)
        force_u -= u
        return [force_u]

    def _project_(self, states: list[Tensor]) -> None:
        """Each state onto its constraint set, in place."""
        states[0].clamp_(min=0, max=1)

    def _project_adjoint(self, at: Tensors, cotangents: Tensors) -> list[Tensor]:
        """P^T cotangents, P the derivative of the projection at a point."""
        return [
            torch.where((at[0] >= 0) & (at[0] <= 1), cotangents[0], 0.0),
            cotangents[1],
            cotangents[2],
            cotangents[3],
        ]

    def _block(self, number: int, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state of a block, then D of those for which it is not a number."""
        return [self._force_of_block_0, self._force_of_block_1, self._force_of_block_2][number](states, fixed)

    def _project_block_(self, number: int, states: list[Tensor]) -> None:
        """Each state of a block onto its constraint set, in place."""
        if number == 0:
            states[0].clamp_(min=0, max=1)


class NBlocks(ProximalEquations, NBlocksEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"centered-ep": centered_ep, "implicit": implicit}
