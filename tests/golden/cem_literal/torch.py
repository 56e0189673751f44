"""cem_literal: CEM attention exactly as Algorithm 1 prints it: the diagonal enters the logits and not the
values,
so the step is not the gradient of the printed energy; the compiler says so.

Made by energyc 0.2.0 from cem_literal.energy
SHA-256 of the spec: 595595486144c89b28bdaa677814fcc6991bb2f97c357e34abbf7b88093584db
Rules: bptt, implicit
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.networks.network import EnergyNetwork
from energyc.runtime.rules.bptt import bptt
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.indexing import positions
from energyc.runtime.tensors.states import Tensors

J, D, K, R = 16, 32, 2, 8


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    h: Tensor
    c: Tensor
    v: Tensor
    diag_h_part: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(h=self.h[rows], c=self.c[rows], v=self.v[rows], diag_h_part=self.diag_h_part[rows])


class CemLiteralEquations:
    """States x[J, D].

    Sizes: J = 16, D = 32, K = 2, R = 8.

    Consts: tau = 5.65685.

    let u[i,d]   = rms[d](x[i,d])
    let c[j,d]   = rms[d](h[j,d])
    let q[k,i,r] = sum[d](W_q[k,r,d] * u[i,d])
    let v[k,j,r] = sum[d](W_k[k,r,d] * c[j,d])
    let p[k,i,j] = softmax[j | j <= i]((sum[r](v[k,j,r] * q[k,i,r]) + sum[d](diag[d] * u[i,d] * c[j,d])) / tau)

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "cem_literal"
    state_shapes = {"x": (J, D)}
    clamp_shapes = {"h": ((J, D), None)}
    target_shapes = {"t": ((J, D), None)}
    readout_names = ("y",)
    relax_steps = 2
    relax_step = (1.0,)
    summed = ("h",)
    nudge_steps = 10

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.W_q = self._param(normal(random, (K, R, D), 0.02))
        self.W_k = self._param(normal(random, (K, R, D), 0.02))
        self.diag = self._param(torch.full((D,), 1.0, dtype=torch.float64))
        self._constant("mask", positions(J, 0, 2, self.device) <= positions(J, 1, 2, self.device))

    def _prepare(self, h: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        total = (h * h).mean(2)
        total += 1e-06
        c = h * total.rsqrt()[:, :, None]
        v = torch.einsum("Bid,krd->Bkir", c, self.W_k)
        diag_h_part = c * self.diag
        return Fixed(h, c, v, diag_h_part)

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Where the states start."""
        return [fixed.c]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        flow x[i,d] = sum[k,r](W_q[k,r,d] * sum[j | j <= i](p[k,i,j] * v[k,j,r]))
        F_x[i,d] = sum[k,r](W_q[k,r,d] * sum[j](v[k,j,r] * p[k,i,j]))
        """
        (x,) = states
        u_part = (x * x).mean(2)
        u_part += 1e-06
        u = x * u_part.rsqrt()[:, :, None]
        q = torch.einsum("Bid,krd->Bkir", u, self.W_q)
        p_part = torch.einsum("Bkjr,Bkir->Bkij", q, fixed.v)
        p_part += torch.einsum("Bid,Bjd->Bij", u, fixed.diag_h_part).transpose(1, 2)[:, None]
        p = (0.17677669529663687 * p_part.transpose(2, 3)).masked_fill_(~self.mask.T, float("-inf")).softmax(3)
        force_x = torch.einsum("Bkir,krd->Bid", torch.einsum("Bkjr,Bkij->Bkir", fixed.v, p), self.W_q)
        return [force_x]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts.

        readout y[i,d] = x[i,d]
        """
        (x,) = states
        return [x]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost mse = mean[i,d]((y[i,d] - t[i,d])^2)
        """
        (x,) = states
        (t,) = targets
        cost_part = x - t
        cost = (cost_part * cost_part).mean((1, 2))
        return [cost]

    def _cost_vjp(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dx[i,d] = 2/(D*J) * (x[i,d] - t[i,d])
        """
        (x,) = states
        (t,) = targets
        slope_x_part = x - t
        slope_x = 2 / (D * J) * slope_x_part
        return [slope_x], {}

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (x,) = states
        (cot_x,) = cotangents
        total = (x * x).mean(2)
        total += 1e-06
        total_rsqrt = total.rsqrt()
        u = x * total_rsqrt[:, :, None]
        q = torch.einsum("Bid,krd->Bkir", u, self.W_q)
        p_part = torch.einsum("Bkjr,Bkir->Bkij", q, fixed.v)
        p_part += torch.einsum("Bid,Bjd->Bij", u, fixed.diag_h_part).transpose(1, 2)[:, None]
        p = (0.17677669529663687 * p_part.transpose(2, 3)).masked_fill_(~self.mask.T, float("-inf")).softmax(3)
        W_q_cot_x = torch.einsum("Bid,krd->Bikr", cot_x, self.W_q)
        pull_p = torch.einsum("Bkjr,Bikr->Bkij", fixed.v, W_q_cot_x)
        p_pull_p = p * pull_p
        pull_scores = p_pull_p - p * p_pull_p.sum(3)[:, :, :, None]
        part = pull_scores.sum(1)
        product = torch.einsum("Bkjr,Bkij->Bkir", fixed.v, pull_scores)
        pull_u = 0.17677669529663687 * torch.einsum("Bjd,Bij->Bid", fixed.diag_h_part, part)
        pull_u.add_(torch.einsum("Bkir,krd->Bid", product, self.W_q), alpha=0.17677669529663687)
        back_x = pull_u * total_rsqrt[:, :, None]
        back_x.add_(x * (total ** -1.5 * (x * pull_u).sum(2))[:, :, None], alpha=-1 / D)
        if not params:
            return [back_x], {}
        pull_v = torch.einsum("Bkji,Bjkr->Bkir", p, W_q_cot_x)
        pull_v.add_(torch.einsum("Bkjr,Bkji->Bkir", q, pull_scores), alpha=0.17677669529663687)
        return [back_x], {
            "W_q": (
                torch.einsum("Bkir,Bid->krd", torch.einsum("Bkjr,Bkij->Bkir", fixed.v, p), cot_x)
                + 0.17677669529663687 * torch.einsum("Bkir,Bid->krd", product, u)
            ),
            "W_k": torch.einsum("Bkir,Bid->krd", pull_v, fixed.c),
            "diag": 0.17677669529663687 * (
                fixed.c * torch.einsum("Bjd,Bji->Bdi", u, part).transpose(1, 2)
            ).sum((0, 1)),
        }

    def _clamp_gradient(self, states: Tensors, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        (x,) = states
        (cot_x,) = cotangents
        total = (fixed.h * fixed.h).mean(2)
        total += 1e-06
        u_part = (x * x).mean(2)
        u_part += 1e-06
        u = x * u_part.rsqrt()[:, :, None]
        q = torch.einsum("Bid,krd->Bkir", u, self.W_q)
        p_part = torch.einsum("Bkjr,Bkir->Bkij", q, fixed.v)
        p_part += torch.einsum("Bid,Bjd->Bij", u, fixed.diag_h_part).transpose(1, 2)[:, None]
        p = (0.17677669529663687 * p_part.transpose(2, 3)).masked_fill_(~self.mask.T, float("-inf")).softmax(3)
        W_q_cot_x = torch.einsum("Bid,krd->Bikr", cot_x, self.W_q)
        pull_p = torch.einsum("Bkjr,Bikr->Bkij", fixed.v, W_q_cot_x)
        p_pull_p = p * pull_p
        pull_scores = p_pull_p - p * p_pull_p.sum(3)[:, :, :, None]
        pull_v = torch.einsum("Bkji,Bjkr->Bkir", p, W_q_cot_x)
        pull_v.add_(torch.einsum("Bkjr,Bkji->Bkir", q, pull_scores), alpha=0.17677669529663687)
        pull_c = 0.17677669529663687 * torch.einsum("Bji,Bjd->Bid", pull_scores.sum(1), u * self.diag)
        pull_c += torch.einsum("Bkir,krd->Bid", pull_v, self.W_k)
        grad_h = pull_c * total.rsqrt()[:, :, None]
        grad_h.add_(fixed.h * (total ** -1.5 * (fixed.h * pull_c).sum(2))[:, :, None], alpha=-1 / D)
        return {"h": grad_h}

    def _start_vjp(self, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, d start> by params and clamps."""
        (cot_x,) = cotangents
        grad_h_part = (fixed.h * fixed.h).mean(2)
        grad_h_part += 1e-06
        grad_h = cot_x * grad_h_part.rsqrt()[:, :, None]
        grad_h.add_(fixed.h * (grad_h_part ** -1.5 * (fixed.h * cot_x).sum(2))[:, :, None], alpha=-1 / D)
        return {"h": grad_h}

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (cot_y,) = cotangents
        return [cot_y], {}

    def _step_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, and what is added up over steps; <cotangents, dF/dtheta> of the others, summed."""
        (x,) = states
        (cot_x,) = cotangents
        total = (x * x).mean(2)
        total += 1e-06
        total_rsqrt = total.rsqrt()
        u = x * total_rsqrt[:, :, None]
        q = torch.einsum("Bid,krd->Bkir", u, self.W_q)
        p_part = torch.einsum("Bkjr,Bkir->Bkij", q, fixed.v)
        p_part += torch.einsum("Bid,Bjd->Bij", u, fixed.diag_h_part).transpose(1, 2)[:, None]
        p = (0.17677669529663687 * p_part.transpose(2, 3)).masked_fill_(~self.mask.T, float("-inf")).softmax(3)
        W_q_cot_x = torch.einsum("Bid,krd->Bikr", cot_x, self.W_q)
        pull_p = torch.einsum("Bkjr,Bikr->Bkij", fixed.v, W_q_cot_x)
        p_pull_p = p * pull_p
        pull_scores = p_pull_p - p * p_pull_p.sum(3)[:, :, :, None]
        part = pull_scores.sum(1)
        product = torch.einsum("Bkjr,Bkij->Bkir", fixed.v, pull_scores)
        pull_u = 0.17677669529663687 * torch.einsum("Bjd,Bij->Bid", fixed.diag_h_part, part)
        pull_u.add_(torch.einsum("Bkir,krd->Bid", product, self.W_q), alpha=0.17677669529663687)
        back_x = pull_u * total_rsqrt[:, :, None]
        back_x.add_(x * (total ** -1.5 * (x * pull_u).sum(2))[:, :, None], alpha=-1 / D)
        pull_v = torch.einsum("Bkji,Bjkr->Bkir", p, W_q_cot_x)
        pull_v.add_(torch.einsum("Bkjr,Bkji->Bkir", q, pull_scores), alpha=0.17677669529663687)
        part_2 = 0.17677669529663687 * torch.einsum("Bji,Bjd->Bid", part, u * self.diag)
        return [back_x, pull_v, part_2], {
            "W_q": (
                torch.einsum("Bkir,Bid->krd", torch.einsum("Bkjr,Bkij->Bkir", fixed.v, p), cot_x)
                + 0.17677669529663687 * torch.einsum("Bkir,Bid->krd", product, u)
            ),
            "diag": 0.17677669529663687 * (
                fixed.c * torch.einsum("Bjd,Bji->Bdi", u, part).transpose(1, 2)
            ).sum((0, 1)),
        }

    def _sums_gradient(self, fixed: Fixed, sums: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dtheta> summed over batch and steps."""
        sum_pull_v, _ = sums
        return {"W_k": torch.einsum("Bkir,Bid->krd", sum_pull_v, fixed.c)}

    def _sums_clamp_gradient(self, fixed: Fixed, sums: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for real clamps, summed over steps."""
        sum_pull_v, sum_part = sums
        grad_h_part = (fixed.h * fixed.h).mean(2)
        grad_h_part += 1e-06
        grad_h_part_2 = torch.einsum("Bkir,krd->Bid", sum_pull_v, self.W_k)
        grad_h_part_2 += sum_part
        grad_h = grad_h_part_2 * grad_h_part.rsqrt()[:, :, None]
        grad_h.add_(fixed.h * (grad_h_part ** -1.5 * (fixed.h * grad_h_part_2).sum(2))[:, :, None], alpha=-1 / D)
        return {"h": grad_h}


class CemLiteral(CemLiteralEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"bptt": bptt, "implicit": implicit}
