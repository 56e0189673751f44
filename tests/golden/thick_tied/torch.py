"""thick_tied: Equilibrium transformer block "thick" with the output of its feed-forward tied to its input.

Made by energyc 0.1.0 from thick_tied.energy
SHA-256 of the spec: e776670e3ea23af7bfa5e8ec0f6389cc64b100fcf3640ea84ea9516705be50f0
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


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    idx: Tensor
    x: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(idx=self.idx[rows], x=self.x[rows])


class ThickTiedEquations:
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

    name = "thick_tied"
    state_shapes = {"z": (64, 128)}
    clamp_shapes = {"idx": ((64,), 65)}
    target_shapes = {"label": ((64,), 65)}
    term_names = ("input", "damping")
    readout_names = ("logits",)
    relax_steps = 150
    relax_step = (0.1,)
    relax_tolerance = 0.0001
    relax_max_steps = 600
    beta = "auto"
    nudge_steps = 20
    snapshots = 5
    force_params = ("g1", "h1", "g2", "h2", "W_q", "W_k", "W_v", "W_o", "W1", "b1", "b2")

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.tok = self._param(normal(random, (65, 128), 0.2))
        self.pos = self._param(normal(random, (64, 128), 0.2))
        self.g1 = self._param(torch.full((128,), 1.0, dtype=torch.float64))
        self.h1 = self._param(torch.full((128,), 0.0, dtype=torch.float64))
        self.g2 = self._param(torch.full((128,), 1.0, dtype=torch.float64))
        self.h2 = self._param(torch.full((128,), 0.0, dtype=torch.float64))
        self.W_q = self._param(normal(random, (4, 128, 32), 0.02))
        self.W_k = self._param(normal(random, (4, 128, 32), 0.02))
        self.W_v = self._param(normal(random, (4, 128, 32), 0.02))
        self.W_o = self._param(normal(random, (4, 32, 128), 0.02))
        self.W1 = self._param(normal(random, (128, 512), 0.02))
        self.b1 = self._param(torch.full((512,), 0.0, dtype=torch.float64))
        self.b2 = self._param(torch.full((128,), 0.0, dtype=torch.float64))
        self.W_head = self._param(normal(random, (128, 65), 0.02))
        self._constant("mask", positions(64, 0, 2, self.device) <= positions(64, 1, 2, self.device))

    def _prepare(self, idx: Tensor) -> Fixed:
        """What depends on clamps and params alone."""
        x = self.tok[idx]
        x += self.pos
        return Fixed(idx, x)

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Where the states start."""
        return [fixed.x]

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy input   = 1/2 * sum[t,d]((z[t,d] - x[t,d])^2)
        energy damping = c/2 * sum[t,d](z[t,d]^2)
        """
        (z,) = states
        total = z - fixed.x
        energy_input = 0.5 * (total * total).sum((1, 2))
        energy_damping = 0.5 * (z * z).sum((1, 2))
        return [energy_input, energy_damping]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_z[t,d] = sum[h,a](W_o[h,a,d] * sum[s](v[h,s,a] * p[h,t,s])) + sum[f](W1[d,f] * gelu_tanh(sum[e](W1[e,f] *
            n2[t,e]) + b1[f])) + b2[d] - c * z[t,d] - (z[t,d] - x[t,d])
        """
        (z,) = states
        total = z - z.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        product = total * total_2.rsqrt()[:, :, None]
        n1 = product * self.g1
        n1 += self.h1
        v = torch.einsum("Btd,hda->Bhta", n1, self.W_v)
        q = torch.einsum("Btd,hda->Bhta", n1, self.W_q)
        k = torch.einsum("Btd,hda->Bhta", n1, self.W_k)
        p = torch.einsum("Bhta,Bhsa->Bhts", q, k).mul_(0.1767766952966369).masked_fill_(
            ~self.mask.T,
            float("-inf"),
        ).softmax(3)
        n2 = product * self.g2
        n2 += self.h2
        total_3 = n2 @ self.W1
        total_3 += self.b1
        force_z = torch.einsum("Bhta,had->Btd", torch.einsum("Bhsa,Bhts->Bhta", v, p), self.W_o)
        force_z += torch.ops.aten.gelu_(total_3, approximate="tanh") @ self.W1.T
        force_z += fixed.x
        force_z.add_(z, alpha=-2)
        force_z += self.b2
        return [force_z]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The answers.

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
        level = W_head_z.logsumexp(2)
        total = level.sum(1) - W_head_z.take_along_dim(label[:, :, None], 2).squeeze(2).sum(1)
        cost = 0.015625 * total
        return [cost]

    def _cost_pullback(
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
        hit = (positions(65, 0, 2, self.device) == label[:, None, :]).to(self.dtype)
        weights = (z @ self.W_head).softmax(2)
        total = 0.015625 * weights
        total.add_(hit.transpose(1, 2), alpha=-0.015625)
        slope_z = total @ self.W_head.T
        if not params:
            return [slope_z], {}
        return [slope_z], {"W_head": torch.einsum("Btd,Btw->dw", z, total)}

    def _force_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T seeds, J = dF/dz; and <seeds, dF/dtheta> summed over the batch."""
        (z,) = states
        (seed_z,) = seeds
        total = z - z.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        power = total_2.rsqrt()
        product = total * power[:, :, None]
        n2 = product * self.g2
        n2 += self.h2
        total_3 = n2 @ self.W1
        total_3 += self.b1
        product_2 = seed_z @ self.W1 * gelu_tanh_slope(total_3)
        pull_n2 = product_2 @ self.W1.T
        n1 = product * self.g1
        n1 += self.h1
        q = torch.einsum("Btd,hda->Bhta", n1, self.W_q)
        k = torch.einsum("Btd,hda->Bhta", n1, self.W_k)
        p = torch.einsum("Bhta,Bhsa->Bhts", q, k).mul_(0.1767766952966369).masked_fill_(
            ~self.mask.T,
            float("-inf"),
        ).softmax(3)
        v = torch.einsum("Btd,hda->Bhta", n1, self.W_v)
        W_o_seed_z = torch.einsum("Btd,had->Btha", seed_z, self.W_o)
        pull_p = torch.einsum("Bhsa,Btha->Bhts", v, W_o_seed_z)
        p_pull_p = p * pull_p
        total_4 = p_pull_p - p * p_pull_p.sum(3)[:, :, :, None]
        product_3 = torch.einsum("Bhsa,Bhst->Bhta", q, total_4)
        product_4 = torch.einsum("Bhsa,Bhts->Bhta", k, total_4)
        pull_v = torch.einsum("Bhst,Bsha->Bhta", p, W_o_seed_z)
        pull_n1 = 0.1767766952966369 * torch.einsum("Bhta,hda->Btd", product_3, self.W_k)
        pull_n1.add_(torch.einsum("Bhta,hda->Btd", product_4, self.W_q), alpha=0.1767766952966369)
        pull_n1 += torch.einsum("Bhta,hda->Btd", pull_v, self.W_v)
        total_5 = total * pull_n2 @ self.g2
        total_5 += total * pull_n1 @ self.g1
        total_6 = pull_n2 * power[:, :, None] * self.g2
        total_6 += pull_n1 * power[:, :, None] * self.g1
        total_6.add_(total * (total_2 ** (-1.5) * total_5)[:, :, None], alpha=-0.0078125)
        back_z = total_6 - 2 * seed_z - total_6.mean(2)[:, :, None]
        if not params:
            return [back_z], {}
        return [back_z], {
            "tok": scatter_add(seed_z, fixed.idx, 65),
            "pos": seed_z.sum(0),
            "g1": (product * pull_n1).sum((0, 1)),
            "h1": pull_n1.sum((0, 1)),
            "g2": (product * pull_n2).sum((0, 1)),
            "h2": pull_n2.sum((0, 1)),
            "W_q": 0.1767766952966369 * torch.einsum("Bhta,Btd->hda", product_4, n1),
            "W_k": 0.1767766952966369 * torch.einsum("Bhta,Btd->hda", product_3, n1),
            "W_v": torch.einsum("Bhta,Btd->hda", pull_v, n1),
            "W_o": torch.einsum("Bhta,Btd->had", torch.einsum("Bhsa,Bhts->Bhta", v, p), seed_z),
            "W1": (
                torch.einsum("Btd,Btf->df", seed_z, F.gelu(total_3, approximate="tanh"))
                + torch.einsum("Btd,Btf->df", n2, product_2)
            ),
            "b1": product_2.sum((0, 1)),
            "b2": seed_z.sum((0, 1)),
        }

    def _start_pullback(self, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, d start> by params and clamps."""
        (seed_z,) = seeds
        return {"tok": scatter_add(seed_z, fixed.idx, 65), "pos": seed_z.sum(0)}

    def _readout_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<seeds, d readouts> by states, and by params and clamps."""
        (z,) = states
        (seed_logits,) = seeds
        back_z = seed_logits @ self.W_head.T
        return [back_z], {"W_head": torch.einsum("Btd,Btw->dw", z, seed_logits)}

    def _energy_contrast(self, plus: Tensors, minus: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta at plus less that at minus, summed over the batch.

        c_tok[w,d] = sum[t | w == idx[t]](minus_z[t,d] - plus_z[t,d])
        c_pos[t,d] = minus_z[t,d] - plus_z[t,d]
        """
        (plus_z,) = plus
        (minus_z,) = minus
        grad_pos = minus_z - plus_z
        return {"tok": scatter_add(grad_pos, fixed.idx, 65), "pos": grad_pos.sum(0)}

    def _correction(self, states: Tensors, fixed: Fixed, directions: Tensors) -> list[Tensor | None]:
        """(J_nc - J_nc^T) directions; J_nc is dF/dz of attention + ffn."""
        (z,) = states
        (v_z,) = directions
        total = z - z.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        power = total_2.rsqrt()
        product = total * power[:, :, None]
        n1 = product * self.g1
        n1 += self.h1
        q = torch.einsum("Btd,hda->Bhta", n1, self.W_q)
        k = torch.einsum("Btd,hda->Bhta", n1, self.W_k)
        p = torch.einsum("Bhta,Bhsa->Bhts", q, k).mul_(0.1767766952966369).masked_fill_(
            ~self.mask.T,
            float("-inf"),
        ).softmax(3)
        total_3 = v_z - v_z.mean(2)[:, :, None]
        product_2 = total_3 * power[:, :, None]
        power_2 = total_2 ** (-1.5)
        product_3 = total * (power_2 * (total * total_3).sum(2))[:, :, None]
        v_n1 = product_2 * self.g1
        v_n1.add_(product_3 * self.g1, alpha=-0.0078125)
        v_v = torch.einsum("Btd,hda->Bhta", v_n1, self.W_v)
        v = torch.einsum("Btd,hda->Bhta", n1, self.W_v)
        v_q = torch.einsum("Btd,hda->Bhta", v_n1, self.W_q)
        v_k = torch.einsum("Btd,hda->Bhta", v_n1, self.W_k)
        total_4 = torch.einsum("Bhsa,Bhta->Bhts", k, v_q)
        total_4 += torch.einsum("Bhta,Bhsa->Bhts", q, v_k)
        product_4 = p * total_4
        v_p = 0.1767766952966369 * product_4
        v_p.add_(p * product_4.sum(3)[:, :, :, None], alpha=-0.1767766952966369)
        total_5 = torch.einsum("Bhts,Bhsa->Bhta", p, v_v)
        total_5 += torch.einsum("Bhsa,Bhts->Bhta", v, v_p)
        n2 = product * self.g2
        n2 += self.h2
        total_6 = n2 @ self.W1
        total_6 += self.b1
        gelu_tanh_slope_2 = gelu_tanh_slope(total_6)
        v_n2 = product_2 * self.g2
        v_n2.add_(product_3 * self.g2, alpha=-0.0078125)
        pull_n2 = v_z @ self.W1 * gelu_tanh_slope_2 @ self.W1.T
        W_o_v_z = torch.einsum("Btd,had->Btha", v_z, self.W_o)
        pull_p = torch.einsum("Bhsa,Btha->Bhts", v, W_o_v_z)
        p_pull_p = p * pull_p
        total_7 = p_pull_p - p * p_pull_p.sum(3)[:, :, :, None]
        pull_v = torch.einsum("Bhst,Bsha->Bhta", p, W_o_v_z)
        pull_n1 = 0.1767766952966369 * torch.einsum(
            "Bhta,hda->Btd",
            torch.einsum("Bhsa,Bhst->Bhta", q, total_7),
            self.W_k,
        )
        pull_n1.add_(
            torch.einsum("Bhta,hda->Btd", torch.einsum("Bhsa,Bhts->Bhta", k, total_7), self.W_q),
            alpha=0.1767766952966369,
        )
        pull_n1 += torch.einsum("Bhta,hda->Btd", pull_v, self.W_v)
        total_8 = total * pull_n2 @ self.g2
        total_8 += total * pull_n1 @ self.g1
        total_9 = pull_n2 * power[:, :, None] * self.g2
        total_9 += pull_n1 * power[:, :, None] * self.g1
        total_9.add_(total * (power_2 * total_8)[:, :, None], alpha=-0.0078125)
        turn_z = torch.einsum("Bhta,had->Btd", total_5, self.W_o)
        turn_z += gelu_tanh_slope_2 * (v_n2 @ self.W1) @ self.W1.T
        turn_z -= total_9
        turn_z += total_9.mean(2)[:, :, None]
        return [turn_z]

    def _penalty(
        self, states: Tensors, fixed: Fixed, directions: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """|J_nc directions|^2 of each sample, and its slope by theta, summed over the batch."""
        (z,) = states
        (v_z,) = directions
        total = z - z.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        power = total_2.rsqrt()
        product = total * power[:, :, None]
        n1 = product * self.g1
        n1 += self.h1
        q = torch.einsum("Btd,hda->Bhta", n1, self.W_q)
        k = torch.einsum("Btd,hda->Bhta", n1, self.W_k)
        p = torch.einsum("Bhta,Bhsa->Bhts", q, k).mul_(0.1767766952966369).masked_fill_(
            ~self.mask.T,
            float("-inf"),
        ).softmax(3)
        total_3 = v_z - v_z.mean(2)[:, :, None]
        product_2 = total_3 * power[:, :, None]
        product_3 = total * (total_2 ** (-1.5) * (total * total_3).sum(2))[:, :, None]
        v_n1 = product_2 * self.g1
        v_n1.add_(product_3 * self.g1, alpha=-0.0078125)
        v_v = torch.einsum("Btd,hda->Bhta", v_n1, self.W_v)
        v = torch.einsum("Btd,hda->Bhta", n1, self.W_v)
        v_q = torch.einsum("Btd,hda->Bhta", v_n1, self.W_q)
        v_k = torch.einsum("Btd,hda->Bhta", v_n1, self.W_k)
        total_4 = torch.einsum("Bhsa,Bhta->Bhts", k, v_q)
        total_4 += torch.einsum("Bhta,Bhsa->Bhts", q, v_k)
        product_4 = p * total_4
        part = product_4.sum(3)
        v_p = 0.1767766952966369 * product_4
        v_p.add_(p * part[:, :, :, None], alpha=-0.1767766952966369)
        total_5 = torch.einsum("Bhts,Bhsa->Bhta", p, v_v)
        total_5 += torch.einsum("Bhsa,Bhts->Bhta", v, v_p)
        n2 = product * self.g2
        n2 += self.h2
        total_6 = n2 @ self.W1
        total_6 += self.b1
        gelu_tanh_slope_2 = gelu_tanh_slope(total_6)
        v_n2 = product_2 * self.g2
        v_n2.add_(product_3 * self.g2, alpha=-0.0078125)
        W1_v_n2 = v_n2 @ self.W1
        product_5 = gelu_tanh_slope_2 * W1_v_n2
        total_7 = torch.einsum("Bhta,had->Btd", total_5, self.W_o)
        total_7 += product_5 @ self.W1.T
        square = (total_7 * total_7).sum((1, 2))
        product_6 = torch.einsum("Btd,had->Btha", total_7, self.W_o)
        product_7 = torch.einsum("Bhsa,Btha->Bhts", v, product_6)
        total_8 = 2 * product_7
        total_8.add_((p * product_7).sum(3)[:, :, :, None], alpha=-2)
        product_8 = p * total_8
        product_9 = torch.einsum("Bhsa,Bhst->Bhta", q, product_8)
        product_10 = torch.einsum("Bhsa,Bhts->Bhta", k, product_8)
        product_11 = torch.einsum("Bhst,Bsha->Bhta", p, product_6)
        total_9 = 0.1767766952966369 * torch.einsum("Bhta,hda->Btd", product_9, self.W_k)
        total_9.add_(torch.einsum("Bhta,hda->Btd", product_10, self.W_q), alpha=0.1767766952966369)
        total_9.add_(torch.einsum("Bhta,hda->Btd", product_11, self.W_v), alpha=2)
        product_12 = torch.einsum("Bhst,Bsha->Bhta", v_p, product_6)
        pull_p = 0.1767766952966369 * (total_4 * total_8)
        pull_p.add_(torch.einsum("Bhsa,Btha->Bhts", v_v, product_6), alpha=2)
        pull_p.add_(product_7 * part[:, :, :, None], alpha=-0.3535533905932738)
        p_pull_p = p * pull_p
        total_10 = p_pull_p - p * p_pull_p.sum(3)[:, :, :, None]
        pull_k = 0.1767766952966369 * torch.einsum("Bhsa,Bhst->Bhta", v_q, product_8)
        pull_k.add_(torch.einsum("Bhsa,Bhst->Bhta", q, total_10), alpha=0.1767766952966369)
        pull_q = 0.1767766952966369 * torch.einsum("Bhsa,Bhts->Bhta", v_k, product_8)
        pull_q.add_(torch.einsum("Bhsa,Bhts->Bhta", k, total_10), alpha=0.1767766952966369)
        pull_n1 = 2 * torch.einsum("Bhta,hda->Btd", product_12, self.W_v)
        pull_n1 += torch.einsum("Bhta,hda->Btd", pull_k, self.W_k)
        pull_n1 += torch.einsum("Bhta,hda->Btd", pull_q, self.W_q)
        product_13 = total_7 @ self.W1
        product_14 = gelu_tanh_slope_2 * product_13
        product_15 = product_14 @ self.W1.T
        product_16 = total_6 * total_6
        total_11 = 0.26829 * product_16
        total_11 += 1
        gelu_tanh_core_2 = gelu_tanh_core(total_6)
        total_12 = 0.134145 * product_16
        total_12 += 1
        gelu_tanh_scale = math.sqrt(2 / math.pi) * total_12
        total_13 = math.sqrt(2 / math.pi) * total_11
        total_13 -= total_6 * gelu_tanh_core_2 * (gelu_tanh_scale * gelu_tanh_scale)
        total_14 = -(gelu_tanh_core_2 * gelu_tanh_core_2)
        total_14 += 1
        product_17 = W1_v_n2 * product_13 * (total_13 * total_14)
        product_18 = product_17 @ self.W1.T
        return [square], {
            "g1": (
                (product_2 * total_9).sum((0, 1))
                + (product * pull_n1).sum((0, 1))
                - 0.0078125 * (product_3 * total_9).sum((0, 1))
            ),
            "h1": pull_n1.sum((0, 1)),
            "g2": (
                2 * (product_2 * product_15).sum((0, 1))
                + 2 * (product * product_18).sum((0, 1))
                - 0.015625 * (product_3 * product_15).sum((0, 1))
            ),
            "h2": 2 * product_18.sum((0, 1)),
            "W_q": (
                0.1767766952966369 * torch.einsum("Bhta,Btd->hda", product_10, v_n1)
                + torch.einsum("Bhta,Btd->hda", pull_q, n1)
            ),
            "W_k": (
                0.1767766952966369 * torch.einsum("Bhta,Btd->hda", product_9, v_n1)
                + torch.einsum("Bhta,Btd->hda", pull_k, n1)
            ),
            "W_v": (
                2 * torch.einsum("Bhta,Btd->hda", product_12, n1)
                + 2 * torch.einsum("Bhta,Btd->hda", product_11, v_n1)
            ),
            "W_o": 2 * torch.einsum("Bhta,Btd->had", total_5, total_7),
            "W1": (
                2 * torch.einsum("Btf,Btd->df", product_5, total_7)
                + 2 * torch.einsum("Btd,Btf->df", v_n2, product_14)
                + 2 * torch.einsum("Btd,Btf->df", n2, product_17)
            ),
            "b1": 2 * product_17.sum((0, 1)),
        }

    def _ties(self) -> dict[str, Tensor]:
        """The tied names, each a view of its source."""
        return {"W2": self.W1.T.detach()}


class ThickTied(ThickTiedEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = (tracking_aep, implicit)
