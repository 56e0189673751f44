"""thick: Equilibrium transformer block "thick": character language model, not conservative.

Made by energyc 0.2.0 from thick.energy
SHA-256 of the spec: 086b1a41b9986a36fdcd3ef5fad2c24d12b34101d23bb4c5e0ddb6e6783a878c
Rules: tracking-aep, implicit
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from energyc.runtime.networks.network import EnergyNetwork
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.rules.tracking_aep import tracking_aep
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.functions import gelu_tanh_core, gelu_tanh_slope
from energyc.runtime.tensors.indexing import positions, scatter_add
from energyc.runtime.tensors.states import Tensors

T, D, H, A, F_2, V = 64, 128, 4, 32, 512, 65
scale = A ** -0.5


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    idx: Tensor
    x: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(idx=self.idx[rows], x=self.x[rows])


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


class ThickEquations:
    """States z[T, D].

    Sizes: T = 64, D = 128, H = 4, A = 32, F = 512, V = 65.

    Consts: c = 1.

    let x[t,d] = tok[idx[t], d] + pos[t,d]
    let n1[t,d]  = g1[d] * layernorm[d](z[t,d]) + h1[d]
    let q[h,t,a] = sum[d](n1[t,d] * W_q[h,d,a])
    let k[h,t,a] = sum[d](n1[t,d] * W_k[h,d,a])
    let v[h,t,a] = sum[d](n1[t,d] * W_v[h,d,a])
    let p[h,t,s] = softmax[s | s <= t](sum[a](q[h,t,a] * k[h,s,a]) / sqrt(A))
    let n2[t,d] = g2[d] * layernorm[d](z[t,d]) + h2[d]

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "thick"
    state_shapes = {"z": (T, D)}
    clamp_shapes = {"idx": ((T,), V)}
    target_shapes = {"label": ((T,), V)}
    term_names = ("input", "damping")
    readout_names = ("logits",)
    relax_steps = 150
    relax_step = (0.1,)
    relax_tolerance = 0.0001
    relax_max_steps = 600
    beta = "auto"
    nudge_steps = 20
    snapshots = 5
    force_params = ("g1", "h1", "g2", "h2", "W_q", "W_k", "W_v", "W_o", "W1", "b1", "W2", "b2")

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.tok = self._param(normal(random, (V, D), 1))
        self.pos = self._param(normal(random, (T, D), 0.1))
        self.g1 = self._param(torch.full((D,), 1.0, dtype=torch.float64))
        self.h1 = self._param(torch.full((D,), 0.0, dtype=torch.float64))
        self.g2 = self._param(torch.full((D,), 1.0, dtype=torch.float64))
        self.h2 = self._param(torch.full((D,), 0.0, dtype=torch.float64))
        self.W_q = self._param(normal(random, (H, D, A), 0.08838834764831843))
        self.W_k = self._param(normal(random, (H, D, A), 0.08838834764831843))
        self.W_v = self._param(normal(random, (H, D, A), 0.08838834764831843))
        self.W_o = self._param(normal(random, (H, A, D), 0.02))
        self.W1 = self._param(normal(random, (D, F_2), 0.08838834764831843))
        self.b1 = self._param(torch.full((F_2,), 0.0, dtype=torch.float64))
        self.W2 = self._param(normal(random, (F_2, D), 0.02))
        self.b2 = self._param(torch.full((D,), 0.0, dtype=torch.float64))
        self.W_head = self._param(normal(random, (D, V), 0.02))
        self._constant("mask", positions(T, 0, 2, self.device) <= positions(T, 1, 2, self.device))

    def _prepare(self, idx: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        x = self.tok[idx]
        x += self.pos
        return Fixed(idx, x)

    def _lets(self, states: Tensors, fixed: Fixed) -> Lets:
        """The lets, and parts of them, that _force, _force_vjp, _correction and _penalty share."""
        (z,) = states
        z_centered = z - z.mean(2)[:, :, None]
        z_variance = (z_centered * z_centered).mean(2)
        z_variance += 1e-05
        z_variance_rsqrt = z_variance.rsqrt()
        z_normalized = z_centered * z_variance_rsqrt[:, :, None]
        n1 = z_normalized * self.g1
        n1 += self.h1
        v = torch.einsum("Btd,hda->Bhta", n1, self.W_v)
        q = torch.einsum("Btd,hda->Bhta", n1, self.W_q)
        k = torch.einsum("Btd,hda->Bhta", n1, self.W_k)
        p = torch.einsum("Bhta,Bhsa->Bhts", q, k).mul_(scale).masked_fill_(~self.mask.T, float("-inf")).softmax(3)
        n2 = z_normalized * self.g2
        n2 += self.h2
        gelu_tanh_argument = n2 @ self.W1
        gelu_tanh_argument += self.b1
        return Lets(z_centered, z_variance, z_variance_rsqrt, z_normalized, n1, v, q, k, p, n2, gelu_tanh_argument)

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Where the states start."""
        return [fixed.x]

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy input   = 1/2 * sum[t,d]((z[t,d] - x[t,d])^2)
        energy damping = c/2 * sum[t,d](z[t,d]^2)
        """
        (z,) = states
        energy_input_part = z - fixed.x
        energy_input = 0.5 * (energy_input_part * energy_input_part).sum((1, 2))
        energy_damping = 0.5 * (z * z).sum((1, 2))
        return [energy_input, energy_damping]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_z[t,d] = sum[h,a](W_o[h,a,d] * sum[s](v[h,s,a] * p[h,t,s])) + sum[f](W2[f,d] * gelu_tanh(sum[e](W1[e,f] *
            n2[t,e]) + b1[f])) + b2[d] - c * z[t,d] - (z[t,d] - x[t,d])
        """
        (z,) = states
        lets = self._lets(states, fixed)
        force_z = torch.einsum("Bhta,had->Btd", torch.einsum("Bhsa,Bhts->Bhta", lets.v, lets.p), self.W_o)
        force_z += torch.ops.aten.gelu_(lets.gelu_tanh_argument, approximate="tanh") @ self.W2
        force_z += fixed.x
        force_z.add_(z, alpha=-2)
        force_z += self.b2
        return [force_z]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts.

        readout logits[t,w] = sum[d](z[t,d] * W_head[d,w])
        """
        (z,) = states
        logits = z @ self.W_head
        return [logits]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost ce = mean[t](cross_entropy[w](logits[t,w], label[t]))
        """
        (z,) = states
        (label,) = targets
        W_head_z = z @ self.W_head
        logsumexp = W_head_z.logsumexp(2)
        cost_part = logsumexp.sum(1) - W_head_z.take_along_dim(label[:, :, None], 2).squeeze(2).sum(1)
        cost = 1 / T * cost_part
        return [cost]

    def _cost_vjp(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dz[t,d] = sum[w](W_head[d,w] * (1/T * softmax[w](sum[e](W_head[e,w] * z[t,e])) - 1/T * where(w == label[t],
            1, 0)))
        dC/dW_head[d,w] = sum[t](z[t,d] * (1/T * softmax[w](sum[e](W_head[e,w] * z[t,e])) - 1/T * where(w == label[t],
            1, 0)))
        """
        (z,) = states
        (label,) = targets
        label_one_hot = (positions(V, 0, 2, self.device) == label[:, None, :]).to(self.dtype)
        weights = (z @ self.W_head).softmax(2)
        total = 1 / T * weights
        total.add_(label_one_hot.transpose(1, 2), alpha=-1 / T)
        slope_z = total @ self.W_head.T
        if not params:
            return [slope_z], {}
        return [slope_z], {"W_head": torch.einsum("Btd,Btw->dw", z, total)}

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (cot_z,) = cotangents
        lets = self._lets(states, fixed)
        product = cot_z @ self.W2.T * gelu_tanh_slope(lets.gelu_tanh_argument)
        pull_n2 = product @ self.W1.T
        W_o_cot_z = torch.einsum("Btd,had->Btha", cot_z, self.W_o)
        pull_p = torch.einsum("Bhsa,Btha->Bhts", lets.v, W_o_cot_z)
        p_pull_p = lets.p * pull_p
        pull_scores = p_pull_p - lets.p * p_pull_p.sum(3)[:, :, :, None]
        product_2 = torch.einsum("Bhsa,Bhst->Bhta", lets.q, pull_scores)
        product_3 = torch.einsum("Bhsa,Bhts->Bhta", lets.k, pull_scores)
        pull_v = torch.einsum("Bhst,Bsha->Bhta", lets.p, W_o_cot_z)
        pull_n1 = scale * torch.einsum("Bhta,hda->Btd", product_2, self.W_k)
        pull_n1.add_(torch.einsum("Bhta,hda->Btd", product_3, self.W_q), alpha=scale)
        pull_n1 += torch.einsum("Bhta,hda->Btd", pull_v, self.W_v)
        back_z_part = lets.z_centered * pull_n2 @ self.g2
        back_z_part += lets.z_centered * pull_n1 @ self.g1
        back_z_part_2 = pull_n2 * lets.z_variance_rsqrt[:, :, None] * self.g2
        back_z_part_2 += pull_n1 * lets.z_variance_rsqrt[:, :, None] * self.g1
        back_z_part_2.add_(lets.z_centered * (lets.z_variance ** -1.5 * back_z_part)[:, :, None], alpha=-1 / D)
        back_z = back_z_part_2 - 2 * cot_z - back_z_part_2.mean(2)[:, :, None]
        if not params:
            return [back_z], {}
        return [back_z], {
            "tok": scatter_add(cot_z, fixed.idx, V),
            "pos": cot_z.sum(0),
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
            "W2": torch.einsum("Btd,Btf->fd", cot_z, F.gelu(lets.gelu_tanh_argument, approximate="tanh")),
            "b2": cot_z.sum((0, 1)),
        }

    def _start_vjp(self, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, d start> by params and clamps."""
        (cot_z,) = cotangents
        return {"tok": scatter_add(cot_z, fixed.idx, V), "pos": cot_z.sum(0)}

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (z,) = states
        (cot_logits,) = cotangents
        back_z = cot_logits @ self.W_head.T
        return [back_z], {"W_head": torch.einsum("Btd,Btw->dw", z, cot_logits)}

    def _energy_contrast(self, plus: Tensors, minus: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta at plus less that at minus, summed over the batch.

        c_tok[w,d] = sum[t | w == idx[t]](minus_z[t,d] - plus_z[t,d])
        c_pos[t,d] = minus_z[t,d] - plus_z[t,d]
        """
        (plus_z,) = plus
        (minus_z,) = minus
        grad_pos = minus_z - plus_z
        return {"tok": scatter_add(grad_pos, fixed.idx, V), "pos": grad_pos.sum(0)}

    def _correction(self, states: Tensors, fixed: Fixed, directions: Tensors) -> list[Tensor | None]:
        """(J_nc - J_nc^T) directions; J_nc is dF/dz of attention + ffn."""
        (v_z,) = directions
        lets = self._lets(states, fixed)
        v_z_centered = v_z - v_z.mean(2)[:, :, None]
        product = v_z_centered * lets.z_variance_rsqrt[:, :, None]
        power = lets.z_variance ** -1.5
        product_2 = lets.z_centered * (power * (lets.z_centered * v_z_centered).sum(2))[:, :, None]
        v_n1 = product * self.g1
        v_n1.add_(product_2 * self.g1, alpha=-1 / D)
        v_v = torch.einsum("Btd,hda->Bhta", v_n1, self.W_v)
        v_q = torch.einsum("Btd,hda->Bhta", v_n1, self.W_q)
        v_k = torch.einsum("Btd,hda->Bhta", v_n1, self.W_k)
        v_p_part = torch.einsum("Bhsa,Bhta->Bhts", lets.k, v_q)
        v_p_part += torch.einsum("Bhta,Bhsa->Bhts", lets.q, v_k)
        v_p_part_2 = lets.p * v_p_part
        v_p = scale * v_p_part_2
        v_p.add_(lets.p * v_p_part_2.sum(3)[:, :, :, None], alpha=-scale)
        turn_z_part = torch.einsum("Bhts,Bhsa->Bhta", lets.p, v_v)
        turn_z_part += torch.einsum("Bhsa,Bhts->Bhta", lets.v, v_p)
        gelu_tanh_slope_2 = gelu_tanh_slope(lets.gelu_tanh_argument)
        v_n2 = product * self.g2
        v_n2.add_(product_2 * self.g2, alpha=-1 / D)
        pull_n2 = v_z @ self.W2.T * gelu_tanh_slope_2 @ self.W1.T
        W_o_v_z = torch.einsum("Btd,had->Btha", v_z, self.W_o)
        pull_p = torch.einsum("Bhsa,Btha->Bhts", lets.v, W_o_v_z)
        p_pull_p = lets.p * pull_p
        pull_scores = p_pull_p - lets.p * p_pull_p.sum(3)[:, :, :, None]
        pull_v = torch.einsum("Bhst,Bsha->Bhta", lets.p, W_o_v_z)
        pull_n1 = scale * torch.einsum(
            "Bhta,hda->Btd",
            torch.einsum("Bhsa,Bhst->Bhta", lets.q, pull_scores),
            self.W_k,
        )
        pull_n1.add_(
            torch.einsum("Bhta,hda->Btd", torch.einsum("Bhsa,Bhts->Bhta", lets.k, pull_scores), self.W_q),
            alpha=scale,
        )
        pull_n1 += torch.einsum("Bhta,hda->Btd", pull_v, self.W_v)
        turn_z_part_2 = lets.z_centered * pull_n2 @ self.g2
        turn_z_part_2 += lets.z_centered * pull_n1 @ self.g1
        turn_z_part_3 = pull_n2 * lets.z_variance_rsqrt[:, :, None] * self.g2
        turn_z_part_3 += pull_n1 * lets.z_variance_rsqrt[:, :, None] * self.g1
        turn_z_part_3.add_(lets.z_centered * (power * turn_z_part_2)[:, :, None], alpha=-1 / D)
        turn_z = torch.einsum("Bhta,had->Btd", turn_z_part, self.W_o)
        turn_z += gelu_tanh_slope_2 * (v_n2 @ self.W1) @ self.W2
        turn_z -= turn_z_part_3
        turn_z += turn_z_part_3.mean(2)[:, :, None]
        return [turn_z]

    def _penalty(
        self, states: Tensors, fixed: Fixed, directions: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """|J_nc directions|^2 of each sample, and its slope by theta, summed over the batch."""
        (v_z,) = directions
        lets = self._lets(states, fixed)
        v_z_centered = v_z - v_z.mean(2)[:, :, None]
        product = v_z_centered * lets.z_variance_rsqrt[:, :, None]
        product_2 = lets.z_centered * (
            lets.z_variance ** -1.5 * (lets.z_centered * v_z_centered).sum(2)
        )[:, :, None]
        v_n1 = product * self.g1
        v_n1.add_(product_2 * self.g1, alpha=-1 / D)
        v_v = torch.einsum("Btd,hda->Bhta", v_n1, self.W_v)
        v_q = torch.einsum("Btd,hda->Bhta", v_n1, self.W_q)
        v_k = torch.einsum("Btd,hda->Bhta", v_n1, self.W_k)
        total = torch.einsum("Bhsa,Bhta->Bhts", lets.k, v_q)
        total += torch.einsum("Bhta,Bhsa->Bhts", lets.q, v_k)
        product_3 = lets.p * total
        part = product_3.sum(3)
        v_p = scale * product_3
        v_p.add_(lets.p * part[:, :, :, None], alpha=-scale)
        total_2 = torch.einsum("Bhts,Bhsa->Bhta", lets.p, v_v)
        total_2 += torch.einsum("Bhsa,Bhts->Bhta", lets.v, v_p)
        gelu_tanh_slope_2 = gelu_tanh_slope(lets.gelu_tanh_argument)
        v_n2 = product * self.g2
        v_n2.add_(product_2 * self.g2, alpha=-1 / D)
        W1_v_n2 = v_n2 @ self.W1
        product_4 = gelu_tanh_slope_2 * W1_v_n2
        total_3 = torch.einsum("Bhta,had->Btd", total_2, self.W_o)
        total_3 += product_4 @ self.W2
        square = (total_3 * total_3).sum((1, 2))
        product_5 = torch.einsum("Btd,had->Btha", total_3, self.W_o)
        product_6 = torch.einsum("Bhsa,Btha->Bhts", lets.v, product_5)
        total_4 = 2 * product_6
        total_4.add_((lets.p * product_6).sum(3)[:, :, :, None], alpha=-2)
        product_7 = lets.p * total_4
        product_8 = torch.einsum("Bhsa,Bhst->Bhta", lets.q, product_7)
        product_9 = torch.einsum("Bhsa,Bhts->Bhta", lets.k, product_7)
        product_10 = torch.einsum("Bhst,Bsha->Bhta", lets.p, product_5)
        grad_g1_part = scale * torch.einsum("Bhta,hda->Btd", product_8, self.W_k)
        grad_g1_part.add_(torch.einsum("Bhta,hda->Btd", product_9, self.W_q), alpha=scale)
        grad_g1_part.add_(torch.einsum("Bhta,hda->Btd", product_10, self.W_v), alpha=2)
        product_11 = torch.einsum("Bhst,Bsha->Bhta", v_p, product_5)
        pull_p = scale * (total * total_4)
        pull_p.add_(torch.einsum("Bhsa,Btha->Bhts", v_v, product_5), alpha=2)
        pull_p.add_(product_6 * part[:, :, :, None], alpha=-2 * scale)
        p_pull_p = lets.p * pull_p
        pull_scores = p_pull_p - lets.p * p_pull_p.sum(3)[:, :, :, None]
        pull_k = scale * torch.einsum("Bhsa,Bhst->Bhta", v_q, product_7)
        pull_k.add_(torch.einsum("Bhsa,Bhst->Bhta", lets.q, pull_scores), alpha=scale)
        pull_q = scale * torch.einsum("Bhsa,Bhts->Bhta", v_k, product_7)
        pull_q.add_(torch.einsum("Bhsa,Bhts->Bhta", lets.k, pull_scores), alpha=scale)
        pull_n1 = 2 * torch.einsum("Bhta,hda->Btd", product_11, self.W_v)
        pull_n1 += torch.einsum("Bhta,hda->Btd", pull_k, self.W_k)
        pull_n1 += torch.einsum("Bhta,hda->Btd", pull_q, self.W_q)
        product_12 = total_3 @ self.W2.T
        product_13 = gelu_tanh_slope_2 * product_12
        grad_g2_part = product_13 @ self.W1.T
        product_14 = lets.gelu_tanh_argument * lets.gelu_tanh_argument
        gelu_tanh_scale_argument = 0.26829 * product_14
        gelu_tanh_scale_argument += 1
        gelu_tanh_core_2 = gelu_tanh_core(lets.gelu_tanh_argument)
        gelu_tanh_scale_argument_2 = 0.134145 * product_14
        gelu_tanh_scale_argument_2 += 1
        gelu_tanh_scale = math.sqrt(2 / math.pi) * gelu_tanh_scale_argument_2
        total_5 = math.sqrt(2 / math.pi) * gelu_tanh_scale_argument
        total_5 -= lets.gelu_tanh_argument * gelu_tanh_core_2 * (gelu_tanh_scale * gelu_tanh_scale)
        total_6 = -(gelu_tanh_core_2 * gelu_tanh_core_2)
        total_6 += 1
        product_15 = W1_v_n2 * product_12 * (total_5 * total_6)
        product_16 = product_15 @ self.W1.T
        return [square], {
            "g1": (
                (product * grad_g1_part).sum((0, 1))
                + (lets.z_normalized * pull_n1).sum((0, 1))
                - 1 / D * (product_2 * grad_g1_part).sum((0, 1))
            ),
            "h1": pull_n1.sum((0, 1)),
            "g2": (
                2 * (product * grad_g2_part).sum((0, 1))
                + 2 * (lets.z_normalized * product_16).sum((0, 1))
                - 2 / D * (product_2 * grad_g2_part).sum((0, 1))
            ),
            "h2": 2 * product_16.sum((0, 1)),
            "W_q": (
                scale * torch.einsum("Bhta,Btd->hda", product_9, v_n1)
                + torch.einsum("Bhta,Btd->hda", pull_q, lets.n1)
            ),
            "W_k": (
                scale * torch.einsum("Bhta,Btd->hda", product_8, v_n1)
                + torch.einsum("Bhta,Btd->hda", pull_k, lets.n1)
            ),
            "W_v": (
                2 * torch.einsum("Bhta,Btd->hda", product_11, lets.n1)
                + 2 * torch.einsum("Bhta,Btd->hda", product_10, v_n1)
            ),
            "W_o": 2 * torch.einsum("Bhta,Btd->had", total_2, total_3),
            "W1": (
                2 * torch.einsum("Btd,Btf->df", v_n2, product_13)
                + 2 * torch.einsum("Btd,Btf->df", lets.n2, product_15)
            ),
            "b1": 2 * product_15.sum((0, 1)),
            "W2": 2 * torch.einsum("Btf,Btd->fd", product_4, total_3),
        }


class Thick(ThickEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"tracking-aep": tracking_aep, "implicit": implicit}
