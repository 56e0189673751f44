"""blocks: States that move exactly in blocks: in a box, by a slope that is computed, on a kink; and one that
moves by its step.

Made by energyc 0.3.0 from blocks.energy
SHA-256 of the spec: 3f4562e836e6296b66c9746e258c26dc5c5f864327735e4aac2f71a9e57ed449
Rules: centered-ep, implicit
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from energyc import runtime as rt

rt.require_contract(1)

I, J, K = 12, 9, 4


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    x: Tensor
    x_V_part: Tensor
    g_part: Tensor
    g_part_2: Tensor
    drive: Tensor
    _shared = ("g_part", "g_part_2", "drive")


class Blocks(rt.ProximalEquations, rt.EnergyNetwork):
    """States s[J], w[K], y[K], u[K]."""

    name = "blocks"
    states = {"s": rt.Box((J,), 0, 1), "w": rt.Real((K,)), "y": rt.Real((K,)), "u": rt.Real((K,))}
    clamps = {"x": rt.Real((I,))}
    targets = {"t": rt.Real((K,))}
    param_bounds = {"g": (0.01, 1.0), "l": (0.0, None)}
    term_names = ("leak", "current", "code", "well", "pairs")
    readout_names = ("out",)
    kinked = True
    _corners = ((2, 0.0, 0, 0),)
    _norms = ()
    blocks = ((0,), (1, 2), (3,))
    block_slopes = {0: None, 1: None, 2: 1.5}
    cost_slopes = {2: 1.0}
    relaxation = rt.Relax(solver="blocks", steps=20, step=(0.25, 0.25, 0.25, 0.25), tolerance=0.0001, chunk=2)
    nudging = rt.Nudge(beta="auto", steps=8)
    learning_rules = (rt.centered_ep, rt.implicit)

    def _initialize(self, random: torch.Generator) -> None:
        """Params, drawn, and constants."""
        self.V = self._param(rt.draws.normal(random, (I, J), 0.2))
        self.W = self._param(rt.draws.normal(random, (J, K), 0.2))
        self.g = self._param(rt.draws.uniform(random, (J, K), 0.1, 1).clamp(min=0.01, max=1))
        self.l = self._param(torch.full((), 0.01, dtype=torch.float64).clamp(min=0))

    def _prepare(self, x: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        x_V_part = x @ self.V
        g_part = self.g.sum(0)
        g_part_2 = self.g.sum(1)
        drive = g_part_2 + 1
        return Fixed(x, x_V_part, g_part, g_part_2, drive)

    def _terms(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy leak    = 1/2 * sum[j](s[j]^2)
        energy current = 1/2 * sum[j,k](g[j,k] * (w[k] - s[j])^2)
        energy code    = 3/4 * sum[k](y[k]^2) + l * sum[k](abs(y[k]))
        energy well    = 1/2 * sum[k](u[k]^2) + 1/4 * sum[k](u[k]^4) - 1/2 * sum[k](u[k] * y[k])
        energy pairs   = -sum[i,j](x[i] * V[i,j] * s[j]) - sum[j,k](s[j] * W[j,k] * y[k])
        """
        s, w, y, u = states
        energy_leak = 0.5 * (s * s).sum(1)
        energy_current_part = w * w @ fixed.g_part + s * s @ fixed.g_part_2 - 2 * (w * (s @ self.g)).sum(1)
        energy_current = 0.5 * energy_current_part
        energy_code = 0.75 * (y * y).sum(1) + torch.abs(y).sum(1) * self.l
        u_u = u * u
        energy_well = 0.5 * (u * u).sum(1) + 0.25 * (u_u * u_u).sum(1) - 0.5 * (y * u).sum(1)
        energy_pairs = -(s * fixed.x_V_part).sum(1) - (y * (s @ self.W)).sum(1)
        return [energy_leak, energy_current, energy_code, energy_well, energy_pairs]

    def _force(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state, without that of code on y.

        F_s[j] = sum[k](g[j,k] * (w[k] - s[j])) - s[j] + sum[k](W[j,k] * y[k]) + sum[i](x[i] * V[i,j])
        F_w[k] = -sum[j](g[j,k] * (w[k] - s[j]))
        F_y[k] = 1/2 * u[k] - 3/2 * y[k] + sum[j](W[j,k] * s[j])
        F_u[k] = 1/2 * y[k] - u[k] - u[k]^3
        """
        s, w, y, u = states
        force_s = y @ self.W.T + fixed.x_V_part + w @ self.g.T - s - s * fixed.g_part_2
        force_w = s @ self.g - w * fixed.g_part
        force_y = 0.5 * u + s @ self.W - 1.5 * y
        force_u = 0.5 * y - u - u * (u * u)
        return [force_s, force_w, force_y, force_u]

    def _readouts(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts: out[k] = y[k]"""
        _, _, y, _ = states
        return [y]

    def _cost(self, states: rt.Tensors, fixed: Fixed, targets: rt.Tensors) -> list[Tensor]:
        """The cost of each sample: mse = 1/2 * sum[k]((y[k] - t[k])^2)"""
        _, _, y, _ = states
        (t,) = targets
        cost_part = y - t
        cost = 0.5 * (cost_part * cost_part).sum(1)
        return [cost]

    def _cost_vjp(self, states: rt.Tensors, fixed: Fixed, targets: rt.Tensors, params: bool = True) -> rt.Pullback:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dy[k] = y[k] - t[k]
        """
        _, _, y, _ = states
        (t,) = targets
        slope_y = y - t
        return [None, None, slope_y, None], {}

    def _force_vjp(self, states: rt.Tensors, fixed: Fixed, cotangents: rt.Tensors, params: bool = True) -> rt.Pullback:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        s, w, y, u = states
        cot_s, cot_w, cot_y, cot_u = cotangents
        back_s = cot_y @ self.W.T + cot_w @ self.g.T - cot_s - cot_s * fixed.g_part_2
        back_w = cot_s @ self.g - cot_w * fixed.g_part
        back_y = 0.5 * cot_u + cot_s @ self.W - 1.5 * cot_y
        back_u = 0.5 * cot_y - cot_u - 3 * (cot_u * (u * u))
        if not params:
            return [back_s, back_w, back_y, back_u], {}
        return [back_s, back_w, back_y, back_u], {
            "V": fixed.x.T @ cot_s,
            "W": s.T @ cot_y + cot_s.T @ y,
            "g": cot_s.T @ w + s.T @ cot_w - (w * cot_w).sum(0) - (s * cot_s).sum(0)[:, None],
        }

    def _weights(self, fixed: Fixed) -> list[Tensor]:
        """The weights of the kinks that move proximally."""
        return [self.l.expand(K).expand(len(fixed[0]), K)]

    def _weights_vjp(self, fixed: Fixed, pulls: rt.Tensors) -> dict[str, Tensor]:
        """<pulls, d weights/dtheta> summed over the batch."""
        (pull_y,) = pulls
        return {"l": pull_y.sum()}

    def _energy_gradient(self, states: rt.Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta, summed over the batch, of what no single product contrasts.

        dE/dl = sum[k](abs(y[k]))
        """
        _, _, y, _ = states
        return {"l": torch.abs(y).sum()}

    def _energy_contrast(self, plus: rt.Tensors, minus: rt.Tensors, fixed: Fixed) -> dict[str, Tensor]:
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
        grad_g_part_3 = -plus_s - minus_s
        return {
            "V": fixed.x.T @ total,
            "W": total.T @ minus_y + plus_s.T @ grad_W_part,
            "g": (
                0.5 * (grad_g_part_3.T @ grad_g_part)
                + 0.5 * (total.T @ grad_g_part_2)
                + 0.5 * (grad_g_part * grad_g_part_2).sum(0)
                + 0.5 * (total * grad_g_part_3).sum(0)[:, None]
            ),
        }

    def _force_of_block_0(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on s; D of s."""
        s, w, y, _ = states
        force_s = y @ self.W.T + fixed.x_V_part + w @ self.g.T - s - s * fixed.g_part_2
        return [force_s, fixed.drive.expand(len(states[0]), J)]

    def _force_of_block_1(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on w and y; D of w."""
        s, w, y, u = states
        force_w = s @ self.g - w * fixed.g_part
        force_y = 0.5 * u + s @ self.W - 1.5 * y
        return [force_w, force_y, fixed.g_part.expand(len(states[0]), K)]

    def _force_of_block_2(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on u."""
        _, _, y, u = states
        force_u = 0.5 * y - u - u * (u * u)
        return [force_u]

    def _block(self, number: int, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state of a block, then D of those for which it is not a number."""
        return [self._force_of_block_0, self._force_of_block_1, self._force_of_block_2][number](states, fixed)
