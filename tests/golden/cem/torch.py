"""cem: Causal Energy Minimization: a language model of CEM blocks (algorithm 1, equations 12, 13, appendix B).

Made by energyc 0.2.0 from cem.energy
SHA-256 of the spec: dfdb3039eba0b445f59bcd5ffe8d7adeaa4358ea58a39c032f1010a853b23655
Rules: bptt, implicit
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from energyc.runtime.networks.layers import EnergyLayer, LayeredNetwork, Visit
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.functions import silu_integral, silu_slope, softplus
from energyc.runtime.tensors.indexing import positions
from energyc.runtime.tensors.states import Tensors

J, D, K, R, M, Ra, Rm, L = 256, 512, 8, 64, 1408, 4, 16, 6
Z = 65
scale = D ** 0.5


class AttentionFixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    n1: Tensor
    key: Tensor
    P: Tensor
    drive: Tensor
    alibi: Tensor
    diag_n1_part: Tensor

    def rows(self, rows: Tensor) -> AttentionFixed:
        """The same for some of the samples."""
        return self._replace(n1=self.n1[rows], key=self.key[rows], diag_n1_part=self.diag_n1_part[rows])


class AttentionEquations:
    """The layer `attention`: states x[J, D].

    Sizes: J = 256, D = 512, K = 8, R = 64, M = 1408, Ra = 4, Rm = 16, L = 6, Z = 65.

    Consts: tau = 22.6274.

    let u[k in K, i, d] = g_u[d] * rms[d](x[i,d])
    let q[k,i,r]   = sum[d](W_q[k,r,d] * u[k,i,d])
    let key[k,j,r] = sum[d](W_k[k,r,d] * n1[j,d])
    let alibi[k in K, i in J, j in J] = -2^(-k - 1) * abs(i - j) + where(i == j, b_self, b_other)
    let s[k,i,j] = (sum[r](key[k,j,r] * q[k,i,r]) + sum[d](diag[d] * u[k,i,d] * n1[j,d])) / tau + alibi[k,i,j]
    let P[k,d,e] = where(d == e, softplus(sqrt(D) * P_p[k,d]), 0)
                     + sum[r](P_u[k,d,r] * P_v[k,e,r] + P_v[k,d,r] * P_u[k,e,r])

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "attention"
    state_shapes = {"x": (J, D)}
    clamp_shapes = {"n1": ((J, D), None)}
    term_names = ("att",)
    readout_names = ("x",)
    relax_steps = 2
    relax_step = (1.0,)
    summed = ("n1",)
    param_names = ("g_u", "W_q", "W_k", "diag", "b_self", "b_other", "P_p", "P_u", "P_v")

    def __init__(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> None:
        super().__init__(device, dtype)
        self._constant("position", (-positions(K, 0, 1, self.device) - 1).to(self.dtype))
        self._constant(
            "position_2",
            (positions(J, 0, 2, self.device) - positions(J, 1, 2, self.device)).to(self.dtype),
        )
        self._constant("mask", positions(J, 0, 2, self.device) == positions(J, 1, 2, self.device))
        self._constant("mask_2", positions(J, 0, 2, self.device) != positions(J, 1, 2, self.device))
        self._constant("mask_3", positions(D, 0, 2, self.device) == positions(D, 1, 2, self.device))
        self._constant("mask_4", positions(J, 0, 2, self.device) <= positions(J, 1, 2, self.device))

    def _prepare(self, n1: Tensor) -> AttentionFixed:
        """The quantities that depend on clamps and params alone."""
        key = torch.einsum("Bid,krd->Bkir", n1, self.W_k)
        P = torch.einsum("kdr,ker->kde", self.P_u, self.P_v)
        P += torch.einsum("ker,kdr->kde", self.P_u, self.P_v)
        P += softplus(scale * self.P_p)[:, :, None] * self.mask_3.to(self.dtype)
        drive = torch.sigmoid_(scale * self.P_p)
        exp = torch.exp_(self.position * torch.log(torch.full((), 2, device=self.device, dtype=self.dtype)))
        alibi = -(torch.abs(self.position_2) * exp[:, None, None])
        alibi += self.mask.to(self.dtype) * self.b_self
        alibi += self.mask_2.to(self.dtype) * self.b_other
        diag_n1_part = n1 * self.diag
        return AttentionFixed(n1, key, P, drive, alibi, diag_n1_part)

    def _start(self, fixed: AttentionFixed) -> list[Tensor]:
        """Where the states start."""
        return [fixed.n1]

    def _terms(self, states: Tensors, fixed: AttentionFixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy att = -tau * sum[k,i](logsumexp[j | j <= i](s[k,i,j]))
        """
        (x,) = states
        total = (x * x).mean(2)
        total += 1e-06
        product = x * total.rsqrt()[:, :, None] * self.g_u
        q = torch.einsum("Bid,krd->Bkir", product, self.W_q)
        s = 0.044194173824159216 * torch.einsum("Bkjr,Bkir->Bkij", fixed.key, q)
        s += fixed.alibi
        s.add_(torch.einsum("Bid,Bjd->Bij", product, fixed.diag_n1_part)[:, None], alpha=0.044194173824159216)
        logsumexp = s.masked_fill(~self.mask_4.T, float("-inf")).logsumexp(3)
        energy_att = -22.627416997969522 * logsumexp.sum((1, 2))
        return [energy_att]

    def _force(self, states: Tensors, fixed: AttentionFixed) -> list[Tensor]:
        """The force on each state.

        flow x[i,d] = -sum[k,e](P[k,d,e] * grad(att, u[k,i,e]))
        F_x[i,d] = -sum[k,e](P[k,d,e] * (-sum[r](W_q[k,r,e] * sum[j](key[k,j,r] * softmax[j | j <= i](s[k,i,j]))) -
            diag[e] * sum[j](n1[j,e] * softmax[j | j <= i](s[k,i,j]))))
        """
        (x,) = states
        total = (x * x).mean(2)
        total += 1e-06
        product = x * total.rsqrt()[:, :, None] * self.g_u
        q = torch.einsum("Bid,krd->Bkir", product, self.W_q)
        s = 0.044194173824159216 * torch.einsum("Bkjr,Bkir->Bkij", fixed.key, q)
        s += fixed.alibi
        s.add_(torch.einsum("Bid,Bjd->Bij", product, fixed.diag_n1_part)[:, None], alpha=0.044194173824159216)
        weights = s.masked_fill(~self.mask_4.T, float("-inf")).softmax(3)
        force_x_part = -torch.einsum(
            "Bkir,krd->Bkid",
            torch.einsum("Bkjr,Bkij->Bkir", fixed.key, weights),
            self.W_q,
        )
        force_x_part -= torch.einsum("Bkij,Bjd->Bkid", weights, fixed.diag_n1_part)
        force_x = -torch.einsum("Bkie,kde->Bid", force_x_part, fixed.P)
        return [force_x]

    def _readouts(self, states: Tensors, fixed: AttentionFixed) -> list[Tensor]:
        """The readouts.

        x
        """
        (x,) = states
        return [x]

    def _force_vjp(
        self, states: Tensors, fixed: AttentionFixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (x,) = states
        (cot_x_2,) = cotangents
        total = (x * x).mean(2)
        total += 1e-06
        total_rsqrt = total.rsqrt()
        product = x * total_rsqrt[:, :, None]
        product_2 = product * self.g_u
        q = torch.einsum("Bid,krd->Bkir", product_2, self.W_q)
        s = 0.044194173824159216 * torch.einsum("Bkjr,Bkir->Bkij", fixed.key, q)
        s += fixed.alibi
        s.add_(torch.einsum("Bid,Bjd->Bij", product_2, fixed.diag_n1_part)[:, None], alpha=0.044194173824159216)
        weights = s.masked_fill(~self.mask_4.T, float("-inf")).softmax(3)
        P_cot_x_2 = torch.einsum("Bie,ked->Bikd", cot_x_2, fixed.P)
        product_3 = torch.einsum("Bikd,krd->Bikr", P_cot_x_2, self.W_q)
        pull_s_part = torch.einsum("Bikd,Bjd->Bkij", P_cot_x_2, fixed.diag_n1_part)
        pull_s_part += torch.einsum("Bkjr,Bikr->Bkij", fixed.key, product_3)
        pull_s_part_2 = weights * pull_s_part
        pull_s = pull_s_part_2 - weights * pull_s_part_2.sum(3)[:, :, :, None]
        key_pull_s = torch.einsum("Bkjr,Bkij->Bkir", fixed.key, pull_s)
        pull_u = 0.044194173824159216 * torch.einsum("Bkir,krd->Bkid", key_pull_s, self.W_q)
        pull_u.add_(torch.einsum("Bkij,Bjd->Bkid", pull_s, fixed.diag_n1_part), alpha=0.044194173824159216)
        part = pull_u.sum(1).transpose(1, 2)
        back_x_part = total ** -1.5 * (x * part.transpose(1, 2) @ self.g_u)
        back_x = part.transpose(1, 2) * total_rsqrt[:, :, None] * self.g_u
        back_x.add_(x * back_x_part[:, :, None], alpha=-1 / D)
        if not params:
            return [back_x], {}
        product_4 = torch.einsum("Bkjr,Bkij->Bkir", fixed.key, weights)
        pull_key = torch.einsum("Bkji,Bjkr->Bkir", weights, product_3)
        pull_key.add_(torch.einsum("Bkjr,Bkji->Bkir", q, pull_s), alpha=0.044194173824159216)
        part_2 = pull_s.sum(1)
        total_2 = -torch.einsum("Bkir,krd->Bkid", product_4, self.W_q)
        total_2 -= torch.einsum("Bkij,Bjd->Bkid", weights, fixed.diag_n1_part)
        product_5 = torch.einsum("Bkie,Bid->Bkde", total_2, cot_x_2)
        return [back_x], {
            "g_u": (product * part.transpose(1, 2)).sum((0, 1)),
            "W_q": (
                torch.einsum("Bkir,Bikd->krd", product_4, P_cot_x_2)
                + 0.044194173824159216 * torch.einsum("Bkir,Bid->krd", key_pull_s, product_2)
            ),
            "W_k": torch.einsum("Bkir,Bid->krd", pull_key, fixed.n1),
            "diag": (
                (fixed.n1 * torch.einsum("Bkji,Bjkd->Bid", weights, P_cot_x_2)).sum((0, 1))
                + 0.044194173824159216 * torch.einsum(
                    "Bij,Bidj->d",
                    pull_s.sum(1),
                    fixed.n1.transpose(1, 2)[:, None] * product_2[:, :, :, None],
                )
            ),
            "b_self": torch.einsum("Bii->Bi", part_2).sum(1).sum(0),
            "b_other": (part_2.sum(0) * self.mask_2.to(self.dtype)).sum(),
            "P_p": -scale * torch.einsum("Bkdd,kd->kd", product_5, fixed.drive),
            "P_u": (
                -torch.einsum("ked,ker->kdr", product_5.sum(0), self.P_v)
                - torch.einsum("kde,ker->kdr", product_5.sum(0), self.P_v)
            ),
            "P_v": (
                -torch.einsum("kde,ker->kdr", product_5.sum(0), self.P_u)
                - torch.einsum("ked,ker->kdr", product_5.sum(0), self.P_u)
            ),
        }

    def _clamp_gradient(self, states: Tensors, fixed: AttentionFixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        (x,) = states
        (cot_x_2,) = cotangents
        total = (x * x).mean(2)
        total += 1e-06
        product = x * total.rsqrt()[:, :, None] * self.g_u
        q = torch.einsum("Bid,krd->Bkir", product, self.W_q)
        s = 0.044194173824159216 * torch.einsum("Bkjr,Bkir->Bkij", fixed.key, q)
        s += fixed.alibi
        s.add_(torch.einsum("Bid,Bjd->Bij", product, fixed.diag_n1_part)[:, None], alpha=0.044194173824159216)
        weights = s.masked_fill(~self.mask_4.T, float("-inf")).softmax(3)
        P_cot_x_2 = torch.einsum("Bie,ked->Bikd", cot_x_2, fixed.P)
        product_2 = torch.einsum("Bikd,krd->Bikr", P_cot_x_2, self.W_q)
        pull_s_part = torch.einsum("Bikd,Bjd->Bkij", P_cot_x_2, fixed.diag_n1_part)
        pull_s_part += torch.einsum("Bkjr,Bikr->Bkij", fixed.key, product_2)
        pull_s_part_2 = weights * pull_s_part
        pull_s = pull_s_part_2 - weights * pull_s_part_2.sum(3)[:, :, :, None]
        pull_key = torch.einsum("Bkji,Bjkr->Bkir", weights, product_2)
        pull_key.add_(torch.einsum("Bkjr,Bkji->Bkir", q, pull_s), alpha=0.044194173824159216)
        grad_n1 = torch.einsum("Bkji,Bjkd->Bid", weights, P_cot_x_2 * self.diag)
        grad_n1.add_(torch.einsum("Bji,Bjd->Bid", pull_s.sum(1), product * self.diag), alpha=0.044194173824159216)
        grad_n1 += torch.einsum("Bkir,krd->Bid", pull_key, self.W_k)
        return {"n1": grad_n1}

    def _start_vjp(self, fixed: AttentionFixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, d start> by params and clamps."""
        (cot_x_2,) = cotangents
        return {"n1": cot_x_2}

    def _readout_vjp(
        self, states: Tensors, fixed: AttentionFixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (cot_x_2,) = cotangents
        return [cot_x_2], {}

    def _step_vjp(
        self, states: Tensors, fixed: AttentionFixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, and what is added up over steps; <cotangents, dF/dtheta> of the others, summed."""
        (x,) = states
        (cot_x_2,) = cotangents
        total = (x * x).mean(2)
        total += 1e-06
        total_rsqrt = total.rsqrt()
        product = x * total_rsqrt[:, :, None]
        product_2 = product * self.g_u
        q = torch.einsum("Bid,krd->Bkir", product_2, self.W_q)
        s = 0.044194173824159216 * torch.einsum("Bkjr,Bkir->Bkij", fixed.key, q)
        s += fixed.alibi
        s.add_(torch.einsum("Bid,Bjd->Bij", product_2, fixed.diag_n1_part)[:, None], alpha=0.044194173824159216)
        weights = s.masked_fill(~self.mask_4.T, float("-inf")).softmax(3)
        P_cot_x_2 = torch.einsum("Bie,ked->Bikd", cot_x_2, fixed.P)
        product_3 = torch.einsum("Bikd,krd->Bikr", P_cot_x_2, self.W_q)
        pull_s_part = torch.einsum("Bikd,Bjd->Bkij", P_cot_x_2, fixed.diag_n1_part)
        pull_s_part += torch.einsum("Bkjr,Bikr->Bkij", fixed.key, product_3)
        pull_s_part_2 = weights * pull_s_part
        pull_s = pull_s_part_2 - weights * pull_s_part_2.sum(3)[:, :, :, None]
        key_pull_s = torch.einsum("Bkjr,Bkij->Bkir", fixed.key, pull_s)
        pull_u = 0.044194173824159216 * torch.einsum("Bkir,krd->Bkid", key_pull_s, self.W_q)
        pull_u.add_(torch.einsum("Bkij,Bjd->Bkid", pull_s, fixed.diag_n1_part), alpha=0.044194173824159216)
        part = pull_u.sum(1).transpose(1, 2)
        back_x_part = total ** -1.5 * (x * part.transpose(1, 2) @ self.g_u)
        back_x = part.transpose(1, 2) * total_rsqrt[:, :, None] * self.g_u
        back_x.add_(x * back_x_part[:, :, None], alpha=-1 / D)
        pull_key = torch.einsum("Bkji,Bjkr->Bkir", weights, product_3)
        pull_key.add_(torch.einsum("Bkjr,Bkji->Bkir", q, pull_s), alpha=0.044194173824159216)
        part_2 = torch.einsum("Bkji,Bjkd->Bid", weights, P_cot_x_2 * self.diag)
        part_2.add_(torch.einsum("Bji,Bjd->Bid", pull_s.sum(1), product_2 * self.diag), alpha=0.044194173824159216)
        part_2 += torch.einsum("Bkir,krd->Bid", pull_key, self.W_k)
        product_4 = torch.einsum("Bkjr,Bkij->Bkir", fixed.key, weights)
        part_3 = pull_s.sum(1)
        total_2 = -torch.einsum("Bkir,krd->Bkid", product_4, self.W_q)
        total_2 -= torch.einsum("Bkij,Bjd->Bkid", weights, fixed.diag_n1_part)
        product_5 = torch.einsum("Bkie,Bid->Bkde", total_2, cot_x_2)
        return [back_x, pull_key, part_2], {
            "g_u": (product * part.transpose(1, 2)).sum((0, 1)),
            "W_q": (
                torch.einsum("Bkir,Bikd->krd", product_4, P_cot_x_2)
                + 0.044194173824159216 * torch.einsum("Bkir,Bid->krd", key_pull_s, product_2)
            ),
            "diag": (
                (fixed.n1 * torch.einsum("Bkji,Bjkd->Bid", weights, P_cot_x_2)).sum((0, 1))
                + 0.044194173824159216 * torch.einsum(
                    "Bij,Bidj->d",
                    pull_s.sum(1),
                    fixed.n1.transpose(1, 2)[:, None] * product_2[:, :, :, None],
                )
            ),
            "b_self": torch.einsum("Bii->Bi", part_3).sum(1).sum(0),
            "b_other": (part_3.sum(0) * self.mask_2.to(self.dtype)).sum(),
            "P_p": -scale * torch.einsum("Bkdd,kd->kd", product_5, fixed.drive),
            "P_u": (
                -torch.einsum("ked,ker->kdr", product_5.sum(0), self.P_v)
                - torch.einsum("kde,ker->kdr", product_5.sum(0), self.P_v)
            ),
            "P_v": (
                -torch.einsum("kde,ker->kdr", product_5.sum(0), self.P_u)
                - torch.einsum("ked,ker->kdr", product_5.sum(0), self.P_u)
            ),
        }

    def _sums_gradient(self, fixed: AttentionFixed, sums: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dtheta> summed over batch and steps."""
        sum_pull_key, _ = sums
        return {"W_k": torch.einsum("Bkir,Bid->krd", sum_pull_key, fixed.n1)}

    def _sums_clamp_gradient(self, fixed: AttentionFixed, sums: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for real clamps, summed over steps."""
        _, sum_part = sums
        return {"n1": sum_part}


class MlpFixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    n2: Tensor
    gate: Tensor
    P: Tensor
    drive: Tensor

    def rows(self, rows: Tensor) -> MlpFixed:
        """The same for some of the samples."""
        return self._replace(n2=self.n2[rows], gate=self.gate[rows])


class MlpEquations:
    """The layer `mlp`: states x[J, D].

    Sizes: J = 256, D = 512, K = 8, R = 64, M = 1408, Ra = 4, Rm = 16, L = 6, Z = 65.

    Consts: tau = 22.6274.

    let u[i,d]     = g_u[d] * rms[d](x[i,d])
    let gate[i,m]  = sum[d](W[m,d] * n2[i,d])
    let P[d,e] = where(d == e, softplus(sqrt(D) * P_p[d]), 0) + sum[r](P_u[d,r] * P_v[e,r] + P_v[d,r] * P_u[e,r])

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "mlp"
    state_shapes = {"x": (J, D)}
    clamp_shapes = {"n2": ((J, D), None)}
    term_names = ("element",)
    readout_names = ("x",)
    relax_steps = 2
    relax_step = (1.0,)
    summed = ("n2",)
    param_names = ("g_u", "W", "V", "P_p", "P_u", "P_v")

    def __init__(self, device: torch.device | str | None = None, dtype: torch.dtype | None = None) -> None:
        super().__init__(device, dtype)
        self._constant("mask", positions(D, 0, 2, self.device) == positions(D, 1, 2, self.device))

    def _prepare(self, n2: Tensor) -> MlpFixed:
        """The quantities that depend on clamps and params alone."""
        gate = n2 @ self.W.T
        P = self.mask.to(self.dtype) * softplus(scale * self.P_p)[:, None]
        P += self.P_u @ self.P_v.T
        P += self.P_v @ self.P_u.T
        drive = torch.sigmoid_(scale * self.P_p)
        return MlpFixed(n2, gate, P, drive)

    def _start(self, fixed: MlpFixed) -> list[Tensor]:
        """Where the states start."""
        return [fixed.n2]

    def _terms(self, states: Tensors, fixed: MlpFixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy element = -sum[i,m](gate[i,m] * phi(sum[d](V[m,d] * u[i,d])))
        """
        (x,) = states
        u_part = (x * x).mean(2)
        u_part += 1e-06
        u = x * u_part.rsqrt()[:, :, None] * self.g_u
        energy_element_part = (fixed.gate * silu_integral(u @ self.V.T)).sum((1, 2))
        energy_element = -energy_element_part
        return [energy_element]

    def _force(self, states: Tensors, fixed: MlpFixed) -> list[Tensor]:
        """The force on each state.

        flow x[i,d] = -sum[e](P[d,e] * grad(element, u[i,e]))
        F_x[i,d] = sum[e](P[d,e] * sum[m](V[m,e] * gate[i,m] * silu(sum[d2](V[m,d2] * u[i,d2]))))
        """
        (x,) = states
        u_part = (x * x).mean(2)
        u_part += 1e-06
        u = x * u_part.rsqrt()[:, :, None] * self.g_u
        force_x_part = fixed.gate.transpose(1, 2) * F.silu(u @ self.V.T, inplace=True).transpose(1, 2)
        force_x = torch.einsum("Bmi,md->Bid", force_x_part, self.V) @ fixed.P.T
        return [force_x]

    def _readouts(self, states: Tensors, fixed: MlpFixed) -> list[Tensor]:
        """The readouts.

        x
        """
        (x,) = states
        return [x]

    def _force_vjp(
        self, states: Tensors, fixed: MlpFixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (x,) = states
        (cot_x_2,) = cotangents
        total = (x * x).mean(2)
        total += 1e-06
        total_rsqrt = total.rsqrt()
        P_cot_x_2 = cot_x_2 @ fixed.P
        product = P_cot_x_2 @ self.V.T
        product_2 = x * total_rsqrt[:, :, None]
        u = product_2 * self.g_u
        V_u = u @ self.V.T
        product_3 = fixed.gate.transpose(1, 2) * product.transpose(1, 2) * silu_slope(V_u).transpose(1, 2)
        pull_u = torch.einsum("Bmi,md->Bid", product_3, self.V)
        back_x_part = total ** -1.5 * (x * pull_u @ self.g_u)
        back_x = pull_u * total_rsqrt[:, :, None] * self.g_u
        back_x.add_(x * back_x_part[:, :, None], alpha=-1 / D)
        if not params:
            return [back_x], {}
        silu = F.silu(V_u)
        pull_gate = silu * product
        product_4 = fixed.gate.transpose(1, 2) * silu.transpose(1, 2)
        pull_P = torch.einsum("Bid,Bie->Bde", cot_x_2, torch.einsum("Bmi,md->Bid", product_4, self.V))
        return [back_x], {
            "g_u": (product_2 * pull_u).sum((0, 1)),
            "W": torch.einsum("Bid,Bim->md", fixed.n2, pull_gate),
            "V": torch.einsum("Bmi,Bid->md", product_4, P_cot_x_2) + torch.einsum("Bid,Bmi->md", u, product_3),
            "P_p": scale * torch.einsum("Bdd,d->d", pull_P, fixed.drive),
            "P_u": pull_P.sum(0).T @ self.P_v + pull_P.sum(0) @ self.P_v,
            "P_v": pull_P.sum(0) @ self.P_u + pull_P.sum(0).T @ self.P_u,
        }

    def _clamp_gradient(self, states: Tensors, fixed: MlpFixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        (x,) = states
        (cot_x_2,) = cotangents
        u_part = (x * x).mean(2)
        u_part += 1e-06
        u = x * u_part.rsqrt()[:, :, None] * self.g_u
        pull_gate = F.silu(u @ self.V.T, inplace=True) * (cot_x_2 @ fixed.P @ self.V.T)
        grad_n2 = pull_gate @ self.W
        return {"n2": grad_n2}

    def _start_vjp(self, fixed: MlpFixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, d start> by params and clamps."""
        (cot_x_2,) = cotangents
        return {"n2": cot_x_2}

    def _readout_vjp(
        self, states: Tensors, fixed: MlpFixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (cot_x_2,) = cotangents
        return [cot_x_2], {}

    def _step_vjp(
        self, states: Tensors, fixed: MlpFixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, and what is added up over steps; <cotangents, dF/dtheta> of the others, summed."""
        (x,) = states
        (cot_x_2,) = cotangents
        total = (x * x).mean(2)
        total += 1e-06
        total_rsqrt = total.rsqrt()
        P_cot_x_2 = cot_x_2 @ fixed.P
        product = P_cot_x_2 @ self.V.T
        product_2 = x * total_rsqrt[:, :, None]
        u = product_2 * self.g_u
        V_u = u @ self.V.T
        product_3 = fixed.gate.transpose(1, 2) * product.transpose(1, 2) * silu_slope(V_u).transpose(1, 2)
        pull_u = torch.einsum("Bmi,md->Bid", product_3, self.V)
        back_x_part = total ** -1.5 * (x * pull_u @ self.g_u)
        back_x = pull_u * total_rsqrt[:, :, None] * self.g_u
        back_x.add_(x * back_x_part[:, :, None], alpha=-1 / D)
        silu = F.silu(V_u)
        pull_gate = silu * product
        part = pull_gate @ self.W
        product_4 = fixed.gate.transpose(1, 2) * silu.transpose(1, 2)
        pull_P = torch.einsum("Bid,Bie->Bde", cot_x_2, torch.einsum("Bmi,md->Bid", product_4, self.V))
        return [back_x, part], {
            "g_u": (product_2 * pull_u).sum((0, 1)),
            "W": torch.einsum("Bid,Bim->md", fixed.n2, pull_gate),
            "V": torch.einsum("Bmi,Bid->md", product_4, P_cot_x_2) + torch.einsum("Bid,Bmi->md", u, product_3),
            "P_p": scale * torch.einsum("Bdd,d->d", pull_P, fixed.drive),
            "P_u": pull_P.sum(0).T @ self.P_v + pull_P.sum(0) @ self.P_v,
            "P_v": pull_P.sum(0) @ self.P_u + pull_P.sum(0).T @ self.P_u,
        }

    def _sums_clamp_gradient(self, fixed: MlpFixed, sums: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for real clamps, summed over steps."""
        (sum_part,) = sums
        return {"n2": sum_part}


class CemFixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    idx: Tensor

    def rows(self, rows: Tensor) -> CemFixed:
        """The same for some of the samples."""
        return self._replace(idx=self.idx[rows])


class CemEquations:
    """The equations around the layers attention, mlp.

    Sizes: J = 256, D = 512, K = 8, R = 64, M = 1408, Ra = 4, Rm = 16, L = 6, Z = 65.

    Consts: tau = 22.6274.

    let n1[i,d] = g1[d] * rms[d](h[i,d])
    let n2[i,d] = g2[d] * rms[d](attention.x[i,d])
    """

    name = "cem"
    state_shapes = {"attention.x": (L, J, D), "mlp.x": (L, J, D)}
    clamp_shapes = {"idx": ((J,), Z)}
    target_shapes = {"label": ((J,), Z)}
    param_attributes = {
        "attention.g_u": "attention_g_u",
        "attention.W_q": "attention_W_q",
        "attention.W_k": "attention_W_k",
        "attention.diag": "attention_diag",
        "attention.b_self": "attention_b_self",
        "attention.b_other": "attention_b_other",
        "attention.P_p": "attention_P_p",
        "attention.P_u": "attention_P_u",
        "attention.P_v": "attention_P_v",
        "mlp.g_u": "mlp_g_u",
        "mlp.W": "mlp_W",
        "mlp.V": "mlp_V",
        "mlp.P_p": "mlp_P_p",
        "mlp.P_u": "mlp_P_u",
        "mlp.P_v": "mlp_P_v",
    }
    readout_names = ("logits",)
    copies = {"attention": 6, "mlp": 6}
    layer_attributes = {"attention": "attention", "mlp": "mlp"}

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.tok = self._param(normal(random, (Z, D), 0.02))
        self.W_head = self._param(normal(random, (Z, D), 0.02))
        self.g_out = self._param(torch.full((D,), 1.0, dtype=torch.float64))
        self.g1 = self._param(torch.full((L, D), 1.0, dtype=torch.float64))
        self.g2 = self._param(torch.full((L, D), 1.0, dtype=torch.float64))
        self.attention_g_u = self._param(torch.full((L, D), 1.0, dtype=torch.float64))
        self.attention_W_q = self._param(normal(random, (L, K, R, D), 0.02))
        self.attention_W_k = self._param(normal(random, (L, K, R, D), 0.02))
        self.attention_diag = self._param(torch.full((L, D), 0.0, dtype=torch.float64))
        self.attention_b_self = self._param(torch.full((L,), 0.0, dtype=torch.float64))
        self.attention_b_other = self._param(torch.full((L,), 0.0, dtype=torch.float64))
        self.attention_P_p = self._param(torch.full((L, K, D), 0.04419417382415922, dtype=torch.float64))
        self.attention_P_u = self._param(normal(random, (L, K, D, Ra), 0.02))
        self.attention_P_v = self._param(torch.full((L, K, D, Ra), 0.0, dtype=torch.float64))
        self.mlp_g_u = self._param(torch.full((L, D), 1.0, dtype=torch.float64))
        self.mlp_W = self._param(normal(random, (L, M, D), 0.02))
        self.mlp_V = self._param(normal(random, (L, M, D), 0.02))
        self.mlp_P_p = self._param(torch.full((L, D), 0.04419417382415922, dtype=torch.float64))
        self.mlp_P_u = self._param(normal(random, (L, D, Rm), 0.02))
        self.mlp_P_v = self._param(torch.full((L, D, Rm), 0.0, dtype=torch.float64))
        self.attention = Attention(device, dtype)
        self.mlp = Mlp(device, dtype)

    def _prepare(self, idx: Tensor) -> CemFixed:
        """The quantities that depend on clamps and params alone."""
        return CemFixed(idx)

    def _blocks(self, fixed: CemFixed, visit: Visit) -> list[Tensor]:
        """The blocks in a row; ``visit`` relaxes a layer. Returns what the answers read of them.

        next h[i,d] = mlp.x[i,d]
        """
        h = self.tok[fixed.idx]
        for number in range(L):
            total = (h * h).mean(2) + 1e-06
            n1 = h * total.rsqrt()[:, :, None] * self.g1[number]
            (attention_x,) = visit(
                self.attention,
                number,
                [n1],
                [
                    self.attention_g_u[number],
                    self.attention_W_q[number],
                    self.attention_W_k[number],
                    self.attention_diag[number],
                    self.attention_b_self[number],
                    self.attention_b_other[number],
                    self.attention_P_p[number],
                    self.attention_P_u[number],
                    self.attention_P_v[number],
                ],
            )
            total_2 = (attention_x * attention_x).mean(2) + 1e-06
            n2 = attention_x * total_2.rsqrt()[:, :, None] * self.g2[number]
            (mlp_x,) = visit(
                self.mlp,
                number,
                [n2],
                [
                    self.mlp_g_u[number],
                    self.mlp_W[number],
                    self.mlp_V[number],
                    self.mlp_P_p[number],
                    self.mlp_P_u[number],
                    self.mlp_P_v[number],
                ],
            )
            h = mlp_x
        return [h]

    def _readouts(self, states: Tensors, fixed: CemFixed) -> list[Tensor]:
        """The readouts.

        readout logits[i,z] = sum[d](g_out[d] * rms[d](h[i,d]) * W_head[z,d])
        """
        (h,) = states
        logits_part = (h * h).mean(2) + 1e-06
        logits = h * logits_part.rsqrt()[:, :, None] @ (self.W_head * self.g_out).T
        return [logits]

    def _cost(self, states: Tensors, fixed: CemFixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost ce = mean[i](cross_entropy[z](logits[i,z], label[i]))
        """
        (h,) = states
        (label,) = targets
        cost_part = (h * h).mean(2) + 1e-06
        cost_part_2 = h * cost_part.rsqrt()[:, :, None] @ (self.W_head * self.g_out).T
        logsumexp = cost_part_2.logsumexp(2)
        cost_part_3 = logsumexp.sum(1) - cost_part_2.take_along_dim(label[:, :, None], 2).squeeze(2).sum(1)
        cost = 1 / J * cost_part_3
        return [cost]


class Attention(AttentionEquations, EnergyLayer):
    """The layer `attention`, relaxed."""


class Mlp(MlpEquations, EnergyLayer):
    """The layer `mlp`, relaxed."""


class Cem(CemEquations, LayeredNetwork):
    """The network: its layers in a row, relaxed and learned."""
