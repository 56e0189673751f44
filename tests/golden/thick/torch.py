"""thick: Equilibrium transformer block "thick": character language model, not conservative.

Made by energyc 0.3.0 from thick.energy
SHA-256 of the spec: e0180fd4d13dacb66eb185fa983a402a440471e731c665c5791529284c07e460
Rules: tracking-aep, implicit
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from energyc import runtime as rt

rt.require_contract(1)

T, D, H, A, F, V = 64, 128, 4, 32, 512, 65
scale = A ** -0.5


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    idx: Tensor
    drive: Tensor


class Lets(NamedTuple):
    """The lets at some states, and parts of them."""

    z_centered: Tensor
    z_variance: Tensor
    z_variance_rsqrt: Tensor
    z_normalized: Tensor
    n1: Tensor
    v: Tensor
    q: Tensor
    k: Tensor
    p: Tensor
    n2: Tensor
    gelu_tanh_argument: Tensor


class Thick(rt.EnergyNetwork):
    """States z[T, D].

    Consts: c = 1, S = 32.

    let x[t,d] = S * (tok[idx[t], d] + pos[t,d])
    let n1[t,d]  = g1[d] * layernorm[d](z[t,d]) + h1[d]
    let q[h,t,a] = sum[d](n1[t,d] * W_q[h,d,a])
    let k[h,t,a] = sum[d](n1[t,d] * W_k[h,d,a])
    let v[h,t,a] = sum[d](n1[t,d] * W_v[h,d,a])
    let p[h,t,s] = softmax[s | s <= t](sum[a](q[h,t,a] * k[h,s,a]) / sqrt(A))
    let n2[t,d] = g2[d] * layernorm[d](z[t,d]) + h2[d]

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "thick"
    states = {"z": rt.Real((T, D))}
    clamps = {"idx": rt.Index((T,), V)}
    targets = {"label": rt.Index((T,), V)}
    term_names = ("input", "damping")
    readout_names = ("logits",)
    contraction_rate = 0.8
    force_params = ("g1", "h1", "g2", "h2", "W_q", "W_k", "W_v", "W_o", "W1", "b1", "W2", "b2")
    relaxation = rt.Relax(steps=150, step=(0.1,), tolerance=0.0001, max_steps=600)
    nudging = rt.Nudge(beta="auto", steps=20, tolerance=0.01, max_steps=160, snapshots=5)
    learning_rules = (rt.tracking_aep, rt.implicit)

    def _initialize(self, random: torch.Generator) -> None:
        """Params, drawn, and constants."""
        self.tok = self._param(rt.draws.normal(random, (V, D), 0.125))
        self.pos = self._param(rt.draws.normal(random, (T, D), 0.0625))
        self.g1 = self._param(torch.ones((D,)))
        self.h1 = self._param(torch.zeros((D,)))
        self.g2 = self._param(torch.ones((D,)))
        self.h2 = self._param(torch.zeros((D,)))
        self.W_q = self._param(rt.draws.normal(random, (H, D, A), 1 / math.sqrt(D)))
        self.W_k = self._param(rt.draws.normal(random, (H, D, A), 1 / math.sqrt(D)))
        self.W_v = self._param(rt.draws.normal(random, (H, D, A), 1 / math.sqrt(D)))
        self.W_o = self._param(rt.draws.normal(random, (H, A, D), 0.02))
        self.W1 = self._param(rt.draws.normal(random, (D, F), 1 / math.sqrt(D)))
        self.b1 = self._param(torch.zeros((F,)))
        self.W2 = self._param(rt.draws.normal(random, (F, D), 0.02))
        self.b2 = self._param(torch.zeros((D,)))
        self.W_head = self._param(rt.draws.normal(random, (D, V), 0.02))
        self._constant("mask", rt.ops.positions(T, 0, 2, self.device) <= rt.ops.positions(T, 1, 2, self.device))

    def _prepare(self, idx: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        drive = self.tok[idx] + self.pos
        return Fixed(idx, drive)

    def _lets(self, states: rt.Tensors, fixed: Fixed) -> Lets:
        """The lets, and parts of them, that _force, _force_vjp, _force_jvp and _correction share."""
        (z,) = states
        z_centered = z - z.mean(2)[:, :, None]
        z_variance = (z_centered * z_centered).mean(2) + 1e-05
        z_variance_rsqrt = z_variance.rsqrt()
        z_normalized = z_centered * z_variance_rsqrt[:, :, None]
        n1 = z_normalized * self.g1 + self.h1
        v = torch.einsum("Btd,hda->Bhta", n1, self.W_v)
        q = torch.einsum("Btd,hda->Bhta", n1, self.W_q)
        k = torch.einsum("Btd,hda->Bhta", n1, self.W_k)
        p = (scale * torch.einsum("Bhta,Bhsa->Bhts", q, k)).masked_fill(~self.mask.T, float("-inf")).softmax(3)
        n2 = z_normalized * self.g2 + self.h2
        gelu_tanh_argument = n2 @ self.W1 + self.b1
        return Lets(z_centered, z_variance, z_variance_rsqrt, z_normalized, n1, v, q, k, p, n2, gelu_tanh_argument)

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Where the states start."""
        x = 32 * fixed.drive
        return [x]

    def _terms(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy input   = 1/2 * sum[t,d]((z[t,d] - x[t,d])^2)
        energy damping = c/2 * sum[t,d](z[t,d]^2)
        """
        (z,) = states
        energy_input_part = z - 32 * fixed.drive
        energy_input = 0.5 * (energy_input_part * energy_input_part).sum((1, 2))
        energy_damping = 0.5 * (z * z).sum((1, 2))
        return [energy_input, energy_damping]

    def _force(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_z[t,d] = sum[h,a](W_o[h,a,d] * sum[s](v[h,s,a] * p[h,t,s])) + sum[f](W2[f,d] * gelu_tanh(sum[e](W1[e,f] *
            n2[t,e]) + b1[f])) + b2[d] - c * z[t,d] - (z[t,d] - S * (pos[t,d] + tok[idx[t],d]))
        """
        (z,) = states
        lets = self._lets(states, fixed)
        force_z = (
            32 * fixed.drive
            + torch.einsum("Bhta,had->Btd", torch.einsum("Bhsa,Bhts->Bhta", lets.v, lets.p), self.W_o)
            + functional.gelu(lets.gelu_tanh_argument, approximate="tanh") @ self.W2
            - 2 * z
            + self.b2
        )
        return [force_z]

    def _readouts(self, states: rt.Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts: logits[t,w] = sum[d](z[t,d] * W_head[d,w])"""
        (z,) = states
        logits = z @ self.W_head
        return [logits]

    def _cost(self, states: rt.Tensors, fixed: Fixed, targets: rt.Tensors) -> list[Tensor]:
        """The cost of each sample: ce = mean[t](cross_entropy[w](logits[t,w], label[t]))"""
        (z,) = states
        (label,) = targets
        W_head_z = z @ self.W_head
        logsumexp = W_head_z.logsumexp(2)
        cost_part = logsumexp.sum(1) - W_head_z.take_along_dim(label[:, :, None], 2).squeeze(2).sum(1)
        cost = 1 / T * cost_part
        return [cost]

    def _cost_vjp(self, states: rt.Tensors, fixed: Fixed, targets: rt.Tensors, params: bool = True) -> rt.Pullback:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dz[t,d] = sum[w](W_head[d,w] * (1/T * softmax[w](sum[e](W_head[e,w] * z[t,e])) - 1/T * where(w == label[t],
            1, 0)))
        dC/dW_head[d,w] = sum[t](z[t,d] * (1/T * softmax[w](sum[e](W_head[e,w] * z[t,e])) - 1/T * where(w == label[t],
            1, 0)))
        """
        (z,) = states
        (label,) = targets
        label_one_hot = rt.ops.one_hot(label, V, 1, self.dtype)
        weights = (z @ self.W_head).softmax(2)
        total = 1 / T * weights - 1 / T * label_one_hot.transpose(1, 2)
        slope_z = total @ self.W_head.T
        if not params:
            return [slope_z], {}
        return [slope_z], {"W_head": torch.einsum("Btd,Btw->dw", z, total)}

    def _force_vjp(self, states: rt.Tensors, fixed: Fixed, cotangents: rt.Tensors, params: bool = True) -> rt.Pullback:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (cot_z,) = cotangents
        lets = self._lets(states, fixed)
        product = cot_z @ self.W2.T * rt.ops.gelu_tanh_slope(lets.gelu_tanh_argument)
        pull_n2 = product @ self.W1.T
        W_o_cot_z = torch.einsum("Btd,had->Btha", cot_z, self.W_o)
        pull_p = torch.einsum("Bhsa,Btha->Bhts", lets.v, W_o_cot_z)
        p_pull_p = lets.p * pull_p
        pull_scores = p_pull_p - lets.p * p_pull_p.sum(3)[:, :, :, None]
        product_2 = torch.einsum("Bhsa,Bhst->Bhta", lets.q, pull_scores)
        product_3 = torch.einsum("Bhsa,Bhts->Bhta", lets.k, pull_scores)
        pull_v = torch.einsum("Bhst,Bsha->Bhta", lets.p, W_o_cot_z)
        pull_n1 = (
            scale * torch.einsum("Bhta,hda->Btd", product_2, self.W_k)
            + scale * torch.einsum("Bhta,hda->Btd", product_3, self.W_q)
            + torch.einsum("Bhta,hda->Btd", pull_v, self.W_v)
        )
        back_z_part = lets.z_centered * pull_n2 @ self.g2 + lets.z_centered * pull_n1 @ self.g1
        back_z_part_2 = (
            pull_n2 * lets.z_variance_rsqrt[:, :, None] * self.g2
            + pull_n1 * lets.z_variance_rsqrt[:, :, None] * self.g1
            - 1 / D * (lets.z_centered * (lets.z_variance ** -1.5 * back_z_part)[:, :, None])
        )
        back_z = back_z_part_2 - 2 * cot_z - back_z_part_2.mean(2)[:, :, None]
        if not params:
            return [back_z], {}
        return [back_z], {
            "tok": 32 * rt.ops.scatter_add(cot_z, fixed.idx, V),
            "pos": 32 * cot_z.sum(0),
            "g1": (lets.z_normalized * pull_n1).sum((0, 1)),
            "h1": pull_n1.sum((0, 1)),
            "g2": (lets.z_normalized * pull_n2).sum((0, 1)),
            "h2": pull_n2.sum((0, 1)),
            "W_q": scale * torch.einsum("Bhta,Btd->hda", product_3, lets.n1),
            "W_k": scale * torch.einsum("Bhta,Btd->hda", product_2, lets.n1),
            "W_v": torch.einsum("Bhta,Btd->hda", pull_v, lets.n1),
            "W_o": torch.einsum("Bhta,Btd->had", torch.einsum("Bhsa,Bhts->Bhta", lets.v, lets.p), cot_z),
            "W1": torch.einsum("Btd,Btf->df", lets.n2, product),
            "b1": product.sum((0, 1)),
            "W2": torch.einsum("Btd,Btf->fd", cot_z, functional.gelu(lets.gelu_tanh_argument, approximate="tanh")),
            "b2": cot_z.sum((0, 1)),
        }

    def _energy_contrast(self, plus: rt.Tensors, minus: rt.Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta at plus less that at minus, summed over the batch.

        c_tok[w,d] = S * sum[t | w == idx[t]](minus_z[t,d] - plus_z[t,d])
        c_pos[t,d] = S * (minus_z[t,d] - plus_z[t,d])
        """
        (plus_z,) = plus
        (minus_z,) = minus
        return {
            "tok": 32 * rt.ops.scatter_add(minus_z - plus_z, fixed.idx, V),
            "pos": 32 * (minus_z.sum(0) - plus_z.sum(0)),
        }

    def _force_jvp(self, states: rt.Tensors, fixed: Fixed, directions: rt.Tensors) -> list[Tensor]:
        """J directions, J = dF/dz."""
        (v_z,) = directions
        lets = self._lets(states, fixed)
        v_z_centered = v_z - v_z.mean(2)[:, :, None]
        product = v_z_centered * lets.z_variance_rsqrt[:, :, None]
        product_2 = lets.z_centered * (lets.z_variance ** -1.5 * (lets.z_centered * v_z_centered).sum(2))[:, :, None]
        v_n1 = product * self.g1 - 1 / D * (product_2 * self.g1)
        v_v = torch.einsum("Btd,hda->Bhta", v_n1, self.W_v)
        v_q = torch.einsum("Btd,hda->Bhta", v_n1, self.W_q)
        v_k = torch.einsum("Btd,hda->Bhta", v_n1, self.W_k)
        v_p_part = torch.einsum("Bhsa,Bhta->Bhts", lets.k, v_q) + torch.einsum("Bhta,Bhsa->Bhts", lets.q, v_k)
        v_p_part_2 = lets.p * v_p_part
        v_p = scale * v_p_part_2 - scale * (lets.p * v_p_part_2.sum(3)[:, :, :, None])
        push_z_part = torch.einsum("Bhts,Bhsa->Bhta", lets.p, v_v) + torch.einsum("Bhsa,Bhts->Bhta", lets.v, v_p)
        v_n2 = product * self.g2 - 1 / D * (product_2 * self.g2)
        push_z = (
            torch.einsum("Bhta,had->Btd", push_z_part, self.W_o)
            + rt.ops.gelu_tanh_slope(lets.gelu_tanh_argument) * (v_n2 @ self.W1) @ self.W2
            - 2 * v_z
        )
        return [push_z]

    def _correction(self, states: rt.Tensors, fixed: Fixed, directions: rt.Tensors) -> list[Tensor | None]:
        """(J_nc - J_nc^T) directions; J_nc is dF/dz of attention + ffn."""
        (v_z,) = directions
        lets = self._lets(states, fixed)
        v_z_centered = v_z - v_z.mean(2)[:, :, None]
        product = v_z_centered * lets.z_variance_rsqrt[:, :, None]
        power = lets.z_variance ** -1.5
        product_2 = lets.z_centered * (power * (lets.z_centered * v_z_centered).sum(2))[:, :, None]
        v_n1 = product * self.g1 - 1 / D * (product_2 * self.g1)
        v_v = torch.einsum("Btd,hda->Bhta", v_n1, self.W_v)
        v_q = torch.einsum("Btd,hda->Bhta", v_n1, self.W_q)
        v_k = torch.einsum("Btd,hda->Bhta", v_n1, self.W_k)
        v_p_part = torch.einsum("Bhsa,Bhta->Bhts", lets.k, v_q) + torch.einsum("Bhta,Bhsa->Bhts", lets.q, v_k)
        v_p_part_2 = lets.p * v_p_part
        v_p = scale * v_p_part_2 - scale * (lets.p * v_p_part_2.sum(3)[:, :, :, None])
        turn_z_part = torch.einsum("Bhts,Bhsa->Bhta", lets.p, v_v) + torch.einsum("Bhsa,Bhts->Bhta", lets.v, v_p)
        gelu_tanh_slope = rt.ops.gelu_tanh_slope(lets.gelu_tanh_argument)
        v_n2 = product * self.g2 - 1 / D * (product_2 * self.g2)
        pull_n2 = v_z @ self.W2.T * gelu_tanh_slope @ self.W1.T
        W_o_v_z = torch.einsum("Btd,had->Btha", v_z, self.W_o)
        pull_p = torch.einsum("Bhsa,Btha->Bhts", lets.v, W_o_v_z)
        p_pull_p = lets.p * pull_p
        pull_scores = p_pull_p - lets.p * p_pull_p.sum(3)[:, :, :, None]
        pull_v = torch.einsum("Bhst,Bsha->Bhta", lets.p, W_o_v_z)
        pull_n1 = (
            scale * torch.einsum("Bhta,hda->Btd", torch.einsum("Bhsa,Bhst->Bhta", lets.q, pull_scores), self.W_k)
            + scale * torch.einsum("Bhta,hda->Btd", torch.einsum("Bhsa,Bhts->Bhta", lets.k, pull_scores), self.W_q)
            + torch.einsum("Bhta,hda->Btd", pull_v, self.W_v)
        )
        turn_z_part_2 = lets.z_centered * pull_n2 @ self.g2 + lets.z_centered * pull_n1 @ self.g1
        turn_z_part_3 = (
            pull_n2 * lets.z_variance_rsqrt[:, :, None] * self.g2
            + pull_n1 * lets.z_variance_rsqrt[:, :, None] * self.g1
            - 1 / D * (lets.z_centered * (power * turn_z_part_2)[:, :, None])
        )
        turn_z = (
            torch.einsum("Bhta,had->Btd", turn_z_part, self.W_o)
            + gelu_tanh_slope * (v_n2 @ self.W1) @ self.W2
            - turn_z_part_3
            + turn_z_part_3.mean(2)[:, :, None]
        )
        return [turn_z]
