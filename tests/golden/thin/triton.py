"""thin: Equilibrium transformer block "thin": character language model, not conservative.

Made by energyc 0.1.0 from thin.energy
SHA-256 of the spec: 8c5e7c113948a484f24a434b9e04a634fe9a707375700ca5e7c0fd7e3c0493ff
Rules: tracking-aep, implicit
Passes: hoist, share, separate, segments, inplace
Kernels: free, nudged, tracking
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.kernels.kernels import KernelNetwork
from energyc.runtime.kernels.triton_functions import block_relu, jit
from energyc.runtime.kernels.triton_kernels import PhaseStep, TritonKernels, cdiv, matrix, put_einsum, put_product, room
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.rules.tracking_aep import tracking_aep
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.functions import step
from energyc.runtime.tensors.indexing import positions, scatter_add
from energyc.runtime.tensors.states import Tensors

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    idx: Tensor
    x: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(idx=self.idx[rows], x=self.x[rows])


class ThinEquations:
    """States z[T, D].

    Sizes: T = 64, D = 128, H = 4, A = 32, M = 512, V = 65.

    Consts: c = 1.

    let x[t,d] = tok[idx[t], d] + pos[t,d]
    let n1[t,d]  = g1[d] * layernorm[d](z[t,d]) + h1[d]
    let q[h,t,a] = sum[d](n1[t,d] * W_q[h,d,a])
    let k[h,t,a] = sum[d](n1[t,d] * W_k[h,d,a])
    let v[h,t,a] = sum[d](n1[t,d] * W_v[h,d,a])
    let p[h,t,s] = softmax[s | s <= t](sum[a](q[h,t,a] * k[h,s,a]) / sqrt(A))

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "thin"
    state_shapes = {"z": (64, 128)}
    clamp_shapes = {"idx": ((64,), 65)}
    target_shapes = {"label": ((64,), 65)}
    term_names = ("input", "damping", "mem")
    readout_names = ("logits",)
    relax_steps = 150
    relax_step = (0.1,)
    relax_tolerance = 0.0001
    relax_max_steps = 600
    beta = "auto"
    nudge_steps = 20
    snapshots = 5
    force_params = ("g1", "h1", "W_q", "W_k", "W_v", "W_o")

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.tok = self._param(normal(random, (65, 128), 0.2))
        self.pos = self._param(normal(random, (64, 128), 0.2))
        self.g1 = self._param(torch.full((128,), 1.0, dtype=torch.float64))
        self.h1 = self._param(torch.full((128,), 0.0, dtype=torch.float64))
        self.W_q = self._param(normal(random, (4, 128, 32), 0.02))
        self.W_k = self._param(normal(random, (4, 128, 32), 0.02))
        self.W_v = self._param(normal(random, (4, 128, 32), 0.02))
        self.W_o = self._param(normal(random, (4, 32, 128), 0.02))
        self.W_mem = self._param(normal(random, (128, 512), 0.02))
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
        energy mem = -sum[t,m](relu(sum[d](z[t,d] * W_mem[d,m]))^2)
        """
        (z,) = states
        total = z - fixed.x
        energy_input = 0.5 * (total * total).sum((1, 2))
        energy_damping = 0.5 * (z * z).sum((1, 2))
        relu = torch.relu_(z @ self.W_mem)
        energy_mem = -(relu * relu).sum((1, 2))
        return [energy_input, energy_damping, energy_mem]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_z[t,d] = sum[h,a](W_o[h,a,d] * sum[s](v[h,s,a] * p[h,t,s])) + 2 * sum[m](W_mem[d,m] *
            relu(sum[d2](W_mem[d2,m] * z[t,d2]))) - c * z[t,d] - (z[t,d] - x[t,d])
        """
        (z,) = states
        total = z - z.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        n1 = total * total_2.rsqrt()[:, :, None] * self.g1
        n1 += self.h1
        v = torch.einsum("Btd,hda->Bhta", n1, self.W_v)
        q = torch.einsum("Btd,hda->Bhta", n1, self.W_q)
        k = torch.einsum("Btd,hda->Bhta", n1, self.W_k)
        p = torch.einsum("Bhta,Bhsa->Bhts", q, k).mul_(0.1767766952966369).masked_fill_(
            ~self.mask.T,
            float("-inf"),
        ).softmax(3)
        force_z = torch.einsum("Bhta,had->Btd", torch.einsum("Bhsa,Bhts->Bhta", v, p), self.W_o)
        force_z.add_(torch.relu_(z @ self.W_mem) @ self.W_mem.T, alpha=2)
        force_z += fixed.x
        force_z.add_(z, alpha=-2)
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

        dC/dz[t,d] = sum[w](W_head[d,w] * (1/T * softmax[w](sum[d2](W_head[d2,w] * z[t,d2])) - 1/T * where(w ==
            label[t], 1, 0)))
        dC/dW_head[d,w] = sum[t](z[t,d] * (1/T * softmax[w](sum[d2](W_head[d2,w] * z[t,d2])) - 1/T * where(w ==
            label[t], 1, 0)))
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
        W_mem_z = z @ self.W_mem
        product = step(W_mem_z) * (seed_z @ self.W_mem)
        total = z - z.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        power = total_2.rsqrt()
        product_2 = total * power[:, :, None]
        n1 = product_2 * self.g1
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
        total_3 = p_pull_p - p * p_pull_p.sum(3)[:, :, :, None]
        product_3 = torch.einsum("Bhsa,Bhst->Bhta", q, total_3)
        product_4 = torch.einsum("Bhsa,Bhts->Bhta", k, total_3)
        pull_v = torch.einsum("Bhst,Bsha->Bhta", p, W_o_seed_z)
        pull_n1 = 0.1767766952966369 * torch.einsum("Bhta,hda->Btd", product_3, self.W_k)
        pull_n1.add_(torch.einsum("Bhta,hda->Btd", product_4, self.W_q), alpha=0.1767766952966369)
        pull_n1 += torch.einsum("Bhta,hda->Btd", pull_v, self.W_v)
        total_4 = pull_n1 * power[:, :, None] * self.g1
        total_4.add_(total * (total_2 ** (-1.5) * (total * pull_n1 @ self.g1))[:, :, None], alpha=-0.0078125)
        back_z = 2 * (product @ self.W_mem.T)
        back_z += total_4
        back_z.add_(seed_z, alpha=-2)
        back_z -= total_4.mean(2)[:, :, None]
        if not params:
            return [back_z], {}
        return [back_z], {
            "tok": scatter_add(seed_z, fixed.idx, 65),
            "pos": seed_z.sum(0),
            "g1": (product_2 * pull_n1).sum((0, 1)),
            "h1": pull_n1.sum((0, 1)),
            "W_q": 0.1767766952966369 * torch.einsum("Bhta,Btd->hda", product_4, n1),
            "W_k": 0.1767766952966369 * torch.einsum("Bhta,Btd->hda", product_3, n1),
            "W_v": torch.einsum("Bhta,Btd->hda", pull_v, n1),
            "W_o": torch.einsum("Bhta,Btd->had", torch.einsum("Bhsa,Bhts->Bhta", v, p), seed_z),
            "W_mem": (
                2 * torch.einsum("Btm,Btd->dm", torch.relu(W_mem_z), seed_z)
                + 2 * torch.einsum("Btd,Btm->dm", z, product)
            ),
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

    def _energy_gradient(self, states: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta, summed over the batch, of what no single product contrasts.

        dE/dW_mem[d,m] = -2 * sum[t](z[t,d] * relu(sum[d2](W_mem[d2,m] * z[t,d2])))
        """
        (z,) = states
        return {"W_mem": -2 * torch.einsum("Btd,Btm->dm", z, torch.relu_(z @ self.W_mem))}

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
        """(J_nc - J_nc^T) directions; J_nc is dF/dz of attention."""
        (z,) = states
        (v_z,) = directions
        total = z - z.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        power = total_2.rsqrt()
        n1 = total * power[:, :, None] * self.g1
        n1 += self.h1
        q = torch.einsum("Btd,hda->Bhta", n1, self.W_q)
        k = torch.einsum("Btd,hda->Bhta", n1, self.W_k)
        p = torch.einsum("Bhta,Bhsa->Bhts", q, k).mul_(0.1767766952966369).masked_fill_(
            ~self.mask.T,
            float("-inf"),
        ).softmax(3)
        total_3 = v_z - v_z.mean(2)[:, :, None]
        power_2 = total_2 ** (-1.5)
        v_n1 = total_3 * power[:, :, None] * self.g1
        v_n1.add_(total * (power_2 * (total * total_3).sum(2))[:, :, None] * self.g1, alpha=-0.0078125)
        v_v = torch.einsum("Btd,hda->Bhta", v_n1, self.W_v)
        v = torch.einsum("Btd,hda->Bhta", n1, self.W_v)
        v_q = torch.einsum("Btd,hda->Bhta", v_n1, self.W_q)
        v_k = torch.einsum("Btd,hda->Bhta", v_n1, self.W_k)
        total_4 = torch.einsum("Bhsa,Bhta->Bhts", k, v_q)
        total_4 += torch.einsum("Bhta,Bhsa->Bhts", q, v_k)
        product = p * total_4
        v_p = 0.1767766952966369 * product
        v_p.add_(p * product.sum(3)[:, :, :, None], alpha=-0.1767766952966369)
        total_5 = torch.einsum("Bhts,Bhsa->Bhta", p, v_v)
        total_5 += torch.einsum("Bhsa,Bhts->Bhta", v, v_p)
        W_o_v_z = torch.einsum("Btd,had->Btha", v_z, self.W_o)
        pull_p = torch.einsum("Bhsa,Btha->Bhts", v, W_o_v_z)
        p_pull_p = p * pull_p
        total_6 = p_pull_p - p * p_pull_p.sum(3)[:, :, :, None]
        pull_v = torch.einsum("Bhst,Bsha->Bhta", p, W_o_v_z)
        pull_n1 = 0.1767766952966369 * torch.einsum(
            "Bhta,hda->Btd",
            torch.einsum("Bhsa,Bhst->Bhta", q, total_6),
            self.W_k,
        )
        pull_n1.add_(
            torch.einsum("Bhta,hda->Btd", torch.einsum("Bhsa,Bhts->Bhta", k, total_6), self.W_q),
            alpha=0.1767766952966369,
        )
        pull_n1 += torch.einsum("Bhta,hda->Btd", pull_v, self.W_v)
        total_7 = pull_n1 * power[:, :, None] * self.g1
        total_7.add_(total * (power_2 * (total * pull_n1 @ self.g1))[:, :, None], alpha=-0.0078125)
        turn_z = torch.einsum("Bhta,had->Btd", total_5, self.W_o)
        turn_z -= total_7
        turn_z += total_7.mean(2)[:, :, None]
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
        product_5 = torch.einsum("Bhta,had->Btd", total_5, self.W_o)
        square = (product_5 * product_5).sum((1, 2))
        product_6 = torch.einsum("Btd,had->Btha", product_5, self.W_o)
        product_7 = torch.einsum("Bhsa,Btha->Bhts", v, product_6)
        total_6 = 2 * product_7
        total_6.add_((p * product_7).sum(3)[:, :, :, None], alpha=-2)
        product_8 = p * total_6
        product_9 = torch.einsum("Bhsa,Bhst->Bhta", q, product_8)
        product_10 = torch.einsum("Bhsa,Bhts->Bhta", k, product_8)
        product_11 = torch.einsum("Bhst,Bsha->Bhta", p, product_6)
        total_7 = 0.1767766952966369 * torch.einsum("Bhta,hda->Btd", product_9, self.W_k)
        total_7.add_(torch.einsum("Bhta,hda->Btd", product_10, self.W_q), alpha=0.1767766952966369)
        total_7.add_(torch.einsum("Bhta,hda->Btd", product_11, self.W_v), alpha=2)
        product_12 = torch.einsum("Bhst,Bsha->Bhta", v_p, product_6)
        pull_p = 0.1767766952966369 * (total_4 * total_6)
        pull_p.add_(torch.einsum("Bhsa,Btha->Bhts", v_v, product_6), alpha=2)
        pull_p.add_(product_7 * part[:, :, :, None], alpha=-0.3535533905932738)
        p_pull_p = p * pull_p
        total_8 = p_pull_p - p * p_pull_p.sum(3)[:, :, :, None]
        pull_k = 0.1767766952966369 * torch.einsum("Bhsa,Bhst->Bhta", v_q, product_8)
        pull_k.add_(torch.einsum("Bhsa,Bhst->Bhta", q, total_8), alpha=0.1767766952966369)
        pull_q = 0.1767766952966369 * torch.einsum("Bhsa,Bhts->Bhta", v_k, product_8)
        pull_q.add_(torch.einsum("Bhsa,Bhts->Bhta", k, total_8), alpha=0.1767766952966369)
        pull_n1 = 2 * torch.einsum("Bhta,hda->Btd", product_12, self.W_v)
        pull_n1 += torch.einsum("Bhta,hda->Btd", pull_k, self.W_k)
        pull_n1 += torch.einsum("Bhta,hda->Btd", pull_q, self.W_q)
        return [square], {
            "g1": (
                (product_2 * total_7).sum((0, 1))
                + (product * pull_n1).sum((0, 1))
                - 0.0078125 * (product_3 * total_7).sum((0, 1))
            ),
            "h1": pull_n1.sum((0, 1)),
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
            "W_o": 2 * torch.einsum("Bhta,Btd->had", total_5, product_5),
        }

    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "free":
            return [self.W_o, self.W_v, self.h1, self.g1, self.W_q, self.W_k, fixed.x, self.W_mem]
        if name == "nudged":
            return [
                self.W_o,
                self.W_v,
                self.h1,
                self.g1,
                self.W_q,
                self.W_k,
                fixed.x,
                self.W_mem,
                self.W_head,
                targets[0],
            ]
        if name == "tracking":
            return [
                self.W_o,
                self.W_q,
                self.h1,
                self.g1,
                self.W_k,
                self.W_v,
                fixed.x,
                self.W_mem,
                self.W_head,
                targets[0],
            ]
        raise KeyError(name)


@jit
def free_group_1(z, h1, g1, n1, samples):
    """n1."""
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 128)[None, :]
    # sum[d](z[t,d])
    z_here = tl.load(z + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    total = tl.sum(z_here, 1, keep_dims=True)
    # z[t,d] - mean[d2](z[t,d2])
    total_2 = z_here + (-0.0078125 * total)
    # sum[d]((z[t,d] - mean[d2](z[t,d2]))^2)
    total_3 = tl.sum(total_2 * total_2, 1, keep_dims=True)
    # n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
    h1_here = tl.load(h1 + r)
    g1_here = tl.load(g1 + r)
    n1_here = h1_here + g1_here * (total_2 * (1.0 / (tl.sqrt(0.0078125 * total_3 + 1e-05 * 1.0))))
    tl.store(n1 + 8192 * sample + 128 * i + r, n1_here, mask=inside)


@jit
def free_group_2(product, p, samples):
    """p."""
    real = tl.float32 if p.dtype.element_ty == tl.bfloat16 else p.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place // 64 % 4
    j = place % 64
    r = tl.arange(0, 64)[None, :]
    product_here = tl.load(
        product + 16384 * sample + 4096 * i + 64 * j + r,
        mask=inside & (r <= j),
        other=0.0,
    ).to(real)
    largest_2 = tl.max(tl.where(r <= j, 0.1767766952966369 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.where(r <= j, tl.exp((0.1767766952966369 * product_here) - largest_2), 0.0)
    whole = tl.sum(power, 1, keep_dims=True)
    # p[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) *
    #   sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A))
    p_here = tl.where(whole == 0.0, 0.0, power / whole)
    tl.store(p + 16384 * sample + 4096 * i + 64 * j + r, p_here, mask=inside)


@jit
def free_group_3(product, image, samples):
    """image."""
    real = tl.float32 if image.dtype.element_ty == tl.bfloat16 else image.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 512)[None, :]
    # relu(sum[d](W_mem[d,m] * z[t,d]))
    product_here = tl.load(product + 32768 * sample + 512 * i + r, mask=inside, other=0.0).to(real)
    image_here = block_relu(product_here)
    tl.store(image + 32768 * sample + 512 * i + r, image_here, mask=inside)


@jit
def free_group_4(z, product, x, product_2, next_z, scalars, samples):
    """next_z."""
    real = next_z.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    step_z = tl.load(scalars)
    r = tl.arange(0, 128)[None, :]
    z_here = tl.load(z + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    product_here = tl.load(product + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    x_here = tl.load(x + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    product_2_here = tl.load(product_2 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    next_z_here = z_here + step_z * (product_here + (-z_here - (z_here - x_here) + product_2_here))
    tl.store(next_z + 8192 * sample + 128 * i + r, next_z_here, mask=inside)


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    z, = now
    next_z, = then
    W_o, W_v, h1, g1, W_q, W_k, x, W_mem = given
    n = len(z)
    n1 = room(memory, n, 0, 8192)
    v = room(memory, n, 8192, 8192)
    q = room(memory, n, 16384, 8192)
    k = room(memory, n, 24576, 8192)
    product = room(memory, n, 32768, 16384)
    p = room(memory, n, 16384, 16384)
    product_2 = room(memory, n, 0, 8192)
    product_3 = room(memory, n, 8192, 8192)
    product_4 = room(memory, n, 16384, 32768)
    image = room(memory, n, 49152, 32768)
    product_5 = room(memory, n, 0, 8192)
    free_group_1[(cdiv(64 * n, 8),)](z, h1, g1, n1, n)
    # v[h,t,a] = sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(v, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_v, (4, 32, 128), (4096, 1, 32)),
    )
    # q[h,t,a] = sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(q, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_q, (4, 32, 128), (4096, 1, 32)),
    )
    # k[h,t,a] = sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(k, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_k, (4, 32, 128), (4096, 1, 32)),
    )
    # sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))))
    put_product(
        matrix(product, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(q, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(k, (4 * n, 32, 64), (2048, 1, 32)),
    )
    free_group_2[(cdiv(256 * n, 16),)](product, p, n)
    # sum[s](sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * softmax[s | s <=
    #   t](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a2] * (h1[d] +
    #   g1[d] * layernorm[d](z[s,d])))) / sqrt(A)))
    put_product(
        matrix(product_2, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(p, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(v, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # sum[h,a](W_o[h,a,d] * sum[s](sum[d2](W_v[h,d2,a] * (h1[d2] + g1[d2] * layernorm[d2](z[s,d2]))) * softmax[s | s
    #   <= t](sum[a2](sum[d2](W_q[h,d2,a2] * (h1[d2] + g1[d2] * layernorm[d2](z[t,d2]))) * sum[d2](W_k[h,d2,a2] *
    #   (h1[d2] + g1[d2] * layernorm[d2](z[s,d2])))) / sqrt(A))))
    put_einsum(
        matrix(product_3, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(product_2, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_o, (128, 4, 32), (1, 4096, 128)),
    )
    # sum[d](W_mem[d,m] * z[t,d])
    put_product(
        matrix(product_4, (64 * n, 512), (512, 1)),
        matrix(z, (64 * n, 128), (128, 1)),
        matrix(W_mem, (128, 512), (512, 1)),
    )
    free_group_3[(cdiv(64 * n, 2),)](product_4, image, n)
    # sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[t,d2])))
    put_product(
        matrix(product_5, (64 * n, 128), (128, 1)),
        matrix(image, (64 * n, 512), (512, 1)),
        matrix(W_mem, (512, 128), (1, 512)),
        factor=2.0,
    )
    free_group_4[(cdiv(64 * n, 8),)](z, product_3, x, product_5, next_z, scalars, n)


@jit
def nudged_group_1(z, h1, g1, n1, samples):
    """n1."""
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 128)[None, :]
    # sum[d](z[t,d])
    z_here = tl.load(z + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    total = tl.sum(z_here, 1, keep_dims=True)
    # z[t,d] - mean[d2](z[t,d2])
    total_2 = z_here + (-0.0078125 * total)
    # sum[d]((z[t,d] - mean[d2](z[t,d2]))^2)
    total_3 = tl.sum(total_2 * total_2, 1, keep_dims=True)
    # n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
    h1_here = tl.load(h1 + r)
    g1_here = tl.load(g1 + r)
    n1_here = h1_here + g1_here * (total_2 * (1.0 / (tl.sqrt(0.0078125 * total_3 + 1e-05 * 1.0))))
    tl.store(n1 + 8192 * sample + 128 * i + r, n1_here, mask=inside)


@jit
def nudged_group_2(product, p, samples):
    """p."""
    real = tl.float32 if p.dtype.element_ty == tl.bfloat16 else p.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place // 64 % 4
    j = place % 64
    r = tl.arange(0, 64)[None, :]
    product_here = tl.load(
        product + 16384 * sample + 4096 * i + 64 * j + r,
        mask=inside & (r <= j),
        other=0.0,
    ).to(real)
    largest_2 = tl.max(tl.where(r <= j, 0.1767766952966369 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.where(r <= j, tl.exp((0.1767766952966369 * product_here) - largest_2), 0.0)
    whole = tl.sum(power, 1, keep_dims=True)
    # p[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) *
    #   sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A))
    p_here = tl.where(whole == 0.0, 0.0, power / whole)
    tl.store(p + 16384 * sample + 4096 * i + 64 * j + r, p_here, mask=inside)


@jit
def nudged_group_3(product, image, samples):
    """image."""
    real = tl.float32 if image.dtype.element_ty == tl.bfloat16 else image.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 512)[None, :]
    # relu(sum[d](W_mem[d,m] * z[t,d]))
    product_here = tl.load(product + 32768 * sample + 512 * i + r, mask=inside, other=0.0).to(real)
    image_here = block_relu(product_here)
    tl.store(image + 32768 * sample + 512 * i + r, image_here, mask=inside)


@jit
def nudged_group_4(product, label, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 128)[None, :]
    product_here = tl.load(product + 4160 * sample + 65 * i + r, mask=inside & (r < 65), other=0.0).to(real)
    largest_2 = tl.max(tl.where(inside & (r < 65), product_here, float("-inf")), 1, keep_dims=True)
    power = tl.exp(product_here - largest_2)
    whole = tl.sum(tl.where(inside & (r < 65), power, 0.0), 1, keep_dims=True)
    # softmax[w](sum[d](W_head[d,w] * z[t,d]))
    weights = power / whole
    # 1/T * softmax[w](sum[d](W_head[d,w] * z[t,d])) - 1/T * where(w == label[t], 1, 0)
    label_here = tl.load(label + 64 * sample + i, mask=inside, other=0)
    total_here = tl.where(r == label_here, tl.full((1, 1), -0.015625, real), 0.0) + 0.015625 * weights
    tl.store(total + 4160 * sample + 65 * i + r, total_here, mask=inside & (r < 65))


@jit
def nudged_group_5(z, product, x, product_2, product_3, next_z, scalars, samples):
    """next_z."""
    real = next_z.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    beta = tl.load(scalars) * tl.where(sample < tl.load(scalars + 2), 1.0, -1.0)
    step_z = tl.load(scalars + 1)
    r = tl.arange(0, 128)[None, :]
    z_here = tl.load(z + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    product_here = tl.load(product + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    x_here = tl.load(x + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    product_2_here = tl.load(product_2 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    product_3_here = tl.load(product_3 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    next_z_here = (
        z_here
        + step_z * ((product_here + (-z_here - (z_here - x_here) + product_2_here)) - beta * product_3_here)
    )
    tl.store(next_z + 8192 * sample + 128 * i + r, next_z_here, mask=inside)


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase."""
    z, = now
    next_z, = then
    W_o, W_v, h1, g1, W_q, W_k, x, W_mem, W_head, label = given
    n = len(z)
    n1 = room(memory, n, 0, 8192)
    v = room(memory, n, 8192, 8192)
    q = room(memory, n, 16384, 8192)
    k = room(memory, n, 24576, 8192)
    product = room(memory, n, 32768, 16384)
    p = room(memory, n, 16384, 16384)
    product_2 = room(memory, n, 0, 8192)
    product_3 = room(memory, n, 8192, 8192)
    product_4 = room(memory, n, 16384, 32768)
    image = room(memory, n, 49152, 32768)
    product_5 = room(memory, n, 0, 8192)
    product_6 = room(memory, n, 16384, 4160)
    total = room(memory, n, 20544, 4160)
    product_7 = room(memory, n, 24704, 8192)
    nudged_group_1[(cdiv(64 * n, 8),)](z, h1, g1, n1, n)
    # v[h,t,a] = sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(v, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_v, (4, 32, 128), (4096, 1, 32)),
    )
    # q[h,t,a] = sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(q, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_q, (4, 32, 128), (4096, 1, 32)),
    )
    # k[h,t,a] = sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(k, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_k, (4, 32, 128), (4096, 1, 32)),
    )
    # sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))))
    put_product(
        matrix(product, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(q, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(k, (4 * n, 32, 64), (2048, 1, 32)),
    )
    nudged_group_2[(cdiv(256 * n, 16),)](product, p, n)
    # sum[s](sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * softmax[s | s <=
    #   t](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a2] * (h1[d] +
    #   g1[d] * layernorm[d](z[s,d])))) / sqrt(A)))
    put_product(
        matrix(product_2, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(p, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(v, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # sum[h,a](W_o[h,a,d] * sum[s](sum[d2](W_v[h,d2,a] * (h1[d2] + g1[d2] * layernorm[d2](z[s,d2]))) * softmax[s | s
    #   <= t](sum[a2](sum[d2](W_q[h,d2,a2] * (h1[d2] + g1[d2] * layernorm[d2](z[t,d2]))) * sum[d2](W_k[h,d2,a2] *
    #   (h1[d2] + g1[d2] * layernorm[d2](z[s,d2])))) / sqrt(A))))
    put_einsum(
        matrix(product_3, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(product_2, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_o, (128, 4, 32), (1, 4096, 128)),
    )
    # sum[d](W_mem[d,m] * z[t,d])
    put_product(
        matrix(product_4, (64 * n, 512), (512, 1)),
        matrix(z, (64 * n, 128), (128, 1)),
        matrix(W_mem, (128, 512), (512, 1)),
    )
    nudged_group_3[(cdiv(64 * n, 2),)](product_4, image, n)
    # sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[t,d2])))
    put_product(
        matrix(product_5, (64 * n, 128), (128, 1)),
        matrix(image, (64 * n, 512), (512, 1)),
        matrix(W_mem, (512, 128), (1, 512)),
        factor=2.0,
    )
    # sum[d](W_head[d,w] * z[t,d])
    put_product(
        matrix(product_6, (64 * n, 65), (65, 1)),
        matrix(z, (64 * n, 128), (128, 1)),
        matrix(W_head, (128, 65), (65, 1)),
    )
    nudged_group_4[(cdiv(64 * n, 8),)](product_6, label, total, n)
    # sum[w](W_head[d,w] * (1/T * softmax[w](sum[d2](W_head[d2,w] * z[t,d2])) - 1/T * where(w == label[t], 1, 0)))
    put_product(
        matrix(product_7, (64 * n, 128), (128, 1)),
        matrix(total, (64 * n, 65), (65, 1)),
        matrix(W_head, (65, 128), (1, 65)),
    )
    nudged_group_5[(cdiv(64 * n, 8),)](z, product_3, x, product_5, product_7, next_z, scalars, n)


@jit
def tracking_group_1(z_plus, z_minus, h1, g1, z_half, total, image, n1, image_2, v_n1, n1_2, n1_3, samples):
    """z_half, total, image, n1, v_n1."""
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 128)[None, :]
    z_plus_here = tl.load(z_plus + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    z_minus_here = tl.load(z_minus + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    z_middle = 0.5 * z_plus_here + 0.5 * z_minus_here
    z_half_here = 0.5 * z_plus_here - 0.5 * z_minus_here
    tl.store(z_half + 8192 * sample + 128 * i + r, z_half_here, mask=inside)
    # sum[d](z[t,d])
    total_2 = tl.sum(z_middle, 1, keep_dims=True)
    # z[t,d] - mean[d2](z[t,d2])
    total_here = z_middle + (-0.0078125 * total_2)
    tl.store(total + 8192 * sample + 128 * i + r, total_here, mask=inside)
    # sum[d]((z[t,d] - mean[d2](z[t,d2]))^2)
    total_3 = tl.sum(total_here * total_here, 1, keep_dims=True)
    # mean[d]((z[t,d] - mean[d2](z[t,d2]))^2) + 1e-5
    total_4 = 0.0078125 * total_3 + 1e-05 * 1.0
    # 1 / sqrt(mean[d]((z[t,d] - mean[d2](z[t,d2]))^2) + 1e-5)
    image_here = 1.0 / (tl.sqrt(total_4))
    tl.store(image + 64 * sample + i, image_here, mask=inside)
    # n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
    h1_here = tl.load(h1 + r)
    g1_here = tl.load(g1 + r)
    n1_here = h1_here + g1_here * (total_here * image_here)
    tl.store(n1 + 8192 * sample + 128 * i + r, n1_here, mask=inside)
    # sum[d](v_z[t,d])
    total_5 = tl.sum(z_half_here, 1, keep_dims=True)
    # v_z[t,d] - mean[d2](v_z[t,d2])
    total_6 = z_half_here + (-0.0078125 * total_5)
    # 1 / (mean[d]((z[t,d] - mean[d2](z[t,d2]))^2) + 1e-5)^(3/2)
    image_here_2 = 1.0 / (total_4 * tl.sqrt(total_4))
    tl.store(image_2 + 64 * sample + i, image_here_2, mask=inside)
    # sum[d]((z[t,d] - mean[d2](z[t,d2])) * (v_z[t,d] - mean[d2](v_z[t,d2])))
    total_7 = tl.sum(total_here * total_6, 1, keep_dims=True)
    # v_n1[t,d] = g1[d] * (v_z[t,d] - mean[d2](v_z[t,d2])) / sqrt(mean[d2]((z[t,d2] - mean[d3](z[t,d3]))^2) + 1e-5)
    #   - g1[d] * (z[t,d] - mean[d2](z[t,d2])) * mean[d2]((z[t,d2] - mean[d3](z[t,d3])) * (v_z[t,d2] -
    #   mean[d3](v_z[t,d3]))) / (mean[d2]((z[t,d2] - mean[d3](z[t,d3]))^2) + 1e-5)^(3/2)
    v_n1_here = g1_here * (image_here * total_6) - 0.0078125 * (g1_here * (total_here * (image_here_2 * total_7)))
    tl.store(v_n1 + 8192 * sample + 128 * i + r, v_n1_here, mask=inside)
    # sum[d](z[t,d])
    total_8 = tl.sum(z_plus_here, 1, keep_dims=True)
    # z[t,d] - mean[d2](z[t,d2])
    total_9 = z_plus_here + (-0.0078125 * total_8)
    # sum[d]((z[t,d] - mean[d2](z[t,d2]))^2)
    total_10 = tl.sum(total_9 * total_9, 1, keep_dims=True)
    # n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
    n1_here_2 = h1_here + g1_here * (total_9 * (1.0 / (tl.sqrt(0.0078125 * total_10 + 1e-05 * 1.0))))
    tl.store(n1_2 + 8192 * sample + 128 * i + r, n1_here_2, mask=inside)
    # sum[d](z[t,d])
    total_11 = tl.sum(z_minus_here, 1, keep_dims=True)
    # z[t,d] - mean[d2](z[t,d2])
    total_12 = z_minus_here + (-0.0078125 * total_11)
    # sum[d]((z[t,d] - mean[d2](z[t,d2]))^2)
    total_13 = tl.sum(total_12 * total_12, 1, keep_dims=True)
    # n1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d])
    n1_here_3 = h1_here + g1_here * (total_12 * (1.0 / (tl.sqrt(0.0078125 * total_13 + 1e-05 * 1.0))))
    tl.store(n1_3 + 8192 * sample + 128 * i + r, n1_here_3, mask=inside)


@jit
def tracking_group_2(product, p, samples):
    """p."""
    real = tl.float32 if p.dtype.element_ty == tl.bfloat16 else p.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place // 64 % 4
    j = place % 64
    r = tl.arange(0, 64)[None, :]
    product_here = tl.load(
        product + 16384 * sample + 4096 * i + 64 * j + r,
        mask=inside & (r <= j),
        other=0.0,
    ).to(real)
    largest_2 = tl.max(tl.where(r <= j, 0.1767766952966369 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.where(r <= j, tl.exp((0.1767766952966369 * product_here) - largest_2), 0.0)
    whole = tl.sum(power, 1, keep_dims=True)
    # p[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) *
    #   sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A))
    p_here = tl.where(whole == 0.0, 0.0, power / whole)
    tl.store(p + 16384 * sample + 4096 * i + 64 * j + r, p_here, mask=inside)


@jit
def tracking_group_3(p, product, v_p, samples):
    """v_p."""
    real = tl.float32 if v_p.dtype.element_ty == tl.bfloat16 else v_p.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place // 64 % 4
    j = place % 64
    r = tl.arange(0, 64)[None, :]
    # softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] *
    #   (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A)) * (sum[a](sum[d](W_k[h,d,a] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))) * sum[d](W_q[h,d,a] * (g1[d] * (v_z[t,d] - mean[d2](v_z[t,d2])) /
    #   sqrt(mean[d2]((z[t,d2] - mean[d3](z[t,d3]))^2) + 1e-5) - g1[d] * (z[t,d] - mean[d2](z[t,d2])) *
    #   mean[d2]((z[t,d2] - mean[d3](z[t,d3])) * (v_z[t,d2] - mean[d3](v_z[t,d3]))) / (mean[d2]((z[t,d2] -
    #   mean[d3](z[t,d3]))^2) + 1e-5)^(3/2)))) + sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    #   * sum[d](W_k[h,d,a] * (g1[d] * (v_z[s,d] - mean[d2](v_z[s,d2])) / sqrt(mean[d2]((z[s,d2] -
    #   mean[d3](z[s,d3]))^2) + 1e-5) - g1[d] * (z[s,d] - mean[d2](z[s,d2])) * mean[d2]((z[s,d2] -
    #   mean[d3](z[s,d3])) * (v_z[s,d2] - mean[d3](v_z[s,d3]))) / (mean[d2]((z[s,d2] - mean[d3](z[s,d3]))^2) +
    #   1e-5)^(3/2)))))
    p_here = tl.load(p + 16384 * sample + 4096 * i + 64 * j + r, mask=inside, other=0.0).to(real)
    product_here = tl.load(product + 16384 * sample + 4096 * i + 64 * j + r, mask=inside, other=0.0).to(real)
    total = p_here * product_here
    # sum[s](softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) *
    #   sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A)) * (sum[a](sum[d](W_k[h,d,a] * (h1[d]
    #   + g1[d] * layernorm[d](z[s,d]))) * sum[d](W_q[h,d,a] * (g1[d] * (v_z[t,d] - mean[d2](v_z[t,d2])) /
    #   sqrt(mean[d2]((z[t,d2] - mean[d3](z[t,d3]))^2) + 1e-5) - g1[d] * (z[t,d] - mean[d2](z[t,d2])) *
    #   mean[d2]((z[t,d2] - mean[d3](z[t,d3])) * (v_z[t,d2] - mean[d3](v_z[t,d3]))) / (mean[d2]((z[t,d2] -
    #   mean[d3](z[t,d3]))^2) + 1e-5)^(3/2)))) + sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    #   * sum[d](W_k[h,d,a] * (g1[d] * (v_z[s,d] - mean[d2](v_z[s,d2])) / sqrt(mean[d2]((z[s,d2] -
    #   mean[d3](z[s,d3]))^2) + 1e-5) - g1[d] * (z[s,d] - mean[d2](z[s,d2])) * mean[d2]((z[s,d2] -
    #   mean[d3](z[s,d3])) * (v_z[s,d2] - mean[d3](v_z[s,d3]))) / (mean[d2]((z[s,d2] - mean[d3](z[s,d3]))^2) +
    #   1e-5)^(3/2))))))
    total_2 = tl.sum(total, 1, keep_dims=True)
    # v_p[h,t,s] = product1[h,t,s] / sqrt(A) - weights1[h,t,s] * sum[t2](product1[h,t,t2]) / sqrt(A), where part1[t]
    #   = mean[d]((z[t,d] - mean[d2](z[t,d2]))^2) + 1e-5, part2[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d]),
    #   weights1[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] *
    #   part2[s,d])) / sqrt(A)), part3[t,d] = g1[d] * (v_z[t,d] - mean[d2](v_z[t,d2])) / sqrt(part1[t]) - g1[d] *
    #   (z[t,d] - mean[d2](z[t,d2])) * mean[d2]((z[t,d2] - mean[d3](z[t,d3])) * (v_z[t,d2] - mean[d3](v_z[t,d3]))) /
    #   part1[t]^(3/2), product1[h,t,s] = weights1[h,t,s] * (sum[a](sum[d](W_k[h,d,a] * part2[s,d]) *
    #   sum[d](W_q[h,d,a] * part3[t,d])) + sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] *
    #   part3[s,d])))
    v_p_here = 0.1767766952966369 * total - 0.1767766952966369 * (p_here * total_2)
    tl.store(v_p + 16384 * sample + 4096 * i + 64 * j + r, v_p_here, mask=inside)


@jit
def tracking_group_4(product, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 32 + tl.arange(0, 32)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place // 64 % 4
    j = place % 64
    r = tl.arange(0, 32)[None, :]
    # sum[s](weights1[h,t,s] * sum[d](W_v[h,d,a] * part3[s,d])) + sum[s](sum[d](W_v[h,d,a] * part2[s,d]) *
    #   (product1[h,t,s] / sqrt(A) - weights1[h,t,s] * sum[t2](product1[h,t,t2]) / sqrt(A))), where part1[t] =
    #   mean[d]((z[t,d] - mean[d2](z[t,d2]))^2) + 1e-5, part2[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d]),
    #   weights1[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] *
    #   part2[s,d])) / sqrt(A)), part3[t,d] = g1[d] * (v_z[t,d] - mean[d2](v_z[t,d2])) / sqrt(part1[t]) - g1[d] *
    #   (z[t,d] - mean[d2](z[t,d2])) * mean[d2]((z[t,d2] - mean[d3](z[t,d3])) * (v_z[t,d2] - mean[d3](v_z[t,d3]))) /
    #   part1[t]^(3/2), product1[h,t,s] = weights1[h,t,s] * (sum[a](sum[d](W_k[h,d,a] * part2[s,d]) *
    #   sum[d](W_q[h,d,a] * part3[t,d])) + sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] *
    #   part3[s,d])))
    product_here = tl.load(product + 8192 * sample + 2048 * i + 32 * j + r, mask=inside, other=0.0).to(real)
    total_here = product_here
    tl.store(total + 8192 * sample + 2048 * i + 32 * j + r, total_here, mask=inside)


@jit
def tracking_group_5(p, pull_p, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place // 64 % 4
    j = place % 64
    r = tl.arange(0, 64)[None, :]
    # softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] *
    #   (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A)) * sum[a](sum[d](W_v[h,d,a] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))) * sum[d](W_o[h,a,d] * v_z[t,d]))
    p_here = tl.load(p + 16384 * sample + 4096 * i + 64 * j + r, mask=inside, other=0.0).to(real)
    pull_p_here = tl.load(pull_p + 16384 * sample + 4096 * i + 64 * j + r, mask=inside, other=0.0).to(real)
    total_2 = p_here * pull_p_here
    # sum[s](softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) *
    #   sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A)) * sum[a](sum[d](W_v[h,d,a] * (h1[d]
    #   + g1[d] * layernorm[d](z[s,d]))) * sum[d](W_o[h,a,d] * v_z[t,d])))
    total_3 = tl.sum(total_2, 1, keep_dims=True)
    # softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] *
    #   (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A)) * sum[a](sum[d](W_v[h,d,a] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))) * sum[d](W_o[h,a,d] * v_z[t,d])) - softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] *
    #   (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) /
    #   sqrt(A)) * sum[t2](softmax[t2 | t2 <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    #   * sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t2,d])))) / sqrt(A)) * sum[a](sum[d](W_v[h,d,a] *
    #   (h1[d] + g1[d] * layernorm[d](z[t2,d]))) * sum[d](W_o[h,a,d] * v_z[t,d])))
    total_here = total_2 - p_here * total_3
    tl.store(total + 16384 * sample + 4096 * i + 64 * j + r, total_here, mask=inside)


@jit
def tracking_group_6(product, total, pull_n1, total_2, samples):
    """pull_n1, total."""
    real = tl.float32 if total_2.dtype.element_ty == tl.bfloat16 else total_2.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 128)[None, :]
    # pull_n1[t,d] = sum[h,a](W_k[h,d,a] * sum[s](sum[d2](W_q[h,d2,a] * part1[s,d2]) * (product1[h,s,t] -
    #   weights1[h,s,t] * sum[t2](product1[h,s,t2])))) / sqrt(A) + sum[h,a](W_q[h,d,a] * sum[s](sum[d2](W_k[h,d2,a]
    #   * part1[s,d2]) * (product1[h,t,s] - weights1[h,t,s] * sum[t2](product1[h,t,t2])))) / sqrt(A) +
    #   sum[h,a](W_v[h,d,a] * sum[s](weights1[h,s,t] * sum[d2](W_o[h,a,d2] * v_z[s,d2]))), where part1[t,d] = h1[d]
    #   + g1[d] * layernorm[d](z[t,d]), weights1[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * part1[t,d])
    #   * sum[d](W_k[h,d,a] * part1[s,d])) / sqrt(A)), product1[h,t,s] = weights1[h,t,s] * sum[a](sum[d](W_v[h,d,a]
    #   * part1[s,d]) * sum[d](W_o[h,a,d] * v_z[t,d]))
    product_here = tl.load(product + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    pull_n1_here = product_here
    tl.store(pull_n1 + 8192 * sample + 128 * i + r, pull_n1_here, mask=inside)
    # (z[t,d] - mean[d2](z[t,d2])) * (sum[h,a](W_k[h,d,a] * sum[s](sum[d2](W_q[h,d2,a] * part1[s,d2]) *
    #   (product1[h,s,t] - weights1[h,s,t] * sum[t2](product1[h,s,t2])))) / sqrt(A) + sum[h,a](W_q[h,d,a] *
    #   sum[s](sum[d2](W_k[h,d2,a] * part1[s,d2]) * (product1[h,t,s] - weights1[h,t,s] *
    #   sum[t2](product1[h,t,t2])))) / sqrt(A) + sum[h,a](W_v[h,d,a] * sum[s](weights1[h,s,t] * sum[d2](W_o[h,a,d2]
    #   * v_z[s,d2])))), where part1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d]), weights1[h,t,s] = softmax[s | s <=
    #   t](sum[a](sum[d](W_q[h,d,a] * part1[t,d]) * sum[d](W_k[h,d,a] * part1[s,d])) / sqrt(A)), product1[h,t,s] =
    #   weights1[h,t,s] * sum[a](sum[d](W_v[h,d,a] * part1[s,d]) * sum[d](W_o[h,a,d] * v_z[t,d]))
    total_here = tl.load(total + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    total_here_2 = total_here * pull_n1_here
    tl.store(total_2 + 8192 * sample + 128 * i + r, total_here_2, mask=inside)


@jit
def tracking_group_7(g1, image, pull_n1, total, image_2, product, product_2, turn_z, samples):
    """turn_z."""
    real = g1.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 128)[None, :]
    # g1[d] * part3[t,d] / sqrt(part1[t]) - (z[t,d] - mean[d2](z[t,d2])) * mean[d2](g1[d2] * (z[t,d2] -
    #   mean[d3](z[t,d3])) * part3[t,d2]) / part1[t]^(3/2), where part1[t] = mean[d]((z[t,d] - mean[d2](z[t,d2]))^2)
    #   + 1e-5, part2[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d]), weights1[h,t,s] = softmax[s | s <=
    #   t](sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] * part2[s,d])) / sqrt(A)), product1[h,t,s] =
    #   weights1[h,t,s] * sum[a](sum[d](W_v[h,d,a] * part2[s,d]) * sum[d](W_o[h,a,d] * v_z[t,d])), part3[t,d] =
    #   sum[h,a](W_k[h,d,a] * sum[s](sum[d2](W_q[h,d2,a] * part2[s,d2]) * (product1[h,s,t] - weights1[h,s,t] *
    #   sum[t2](product1[h,s,t2])))) / sqrt(A) + sum[h,a](W_q[h,d,a] * sum[s](sum[d2](W_k[h,d2,a] * part2[s,d2]) *
    #   (product1[h,t,s] - weights1[h,t,s] * sum[t2](product1[h,t,t2])))) / sqrt(A) + sum[h,a](W_v[h,d,a] *
    #   sum[s](weights1[h,s,t] * sum[d2](W_o[h,a,d2] * v_z[s,d2])))
    g1_here = tl.load(g1 + r)
    image_here = tl.load(image + 64 * sample + i, mask=inside, other=0.0).to(real)
    pull_n1_here = tl.load(pull_n1 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    total_here = tl.load(total + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    image_2_here = tl.load(image_2 + 64 * sample + i, mask=inside, other=0.0).to(real)
    product_here = tl.load(product + 64 * sample + i, mask=inside, other=0.0).to(real)
    total_2 = g1_here * (image_here * pull_n1_here) - 0.0078125 * (total_here * (image_2_here * product_here))
    # sum[d](g1[d] * part3[t,d] / sqrt(part1[t]) - (z[t,d] - mean[d2](z[t,d2])) * mean[d2](g1[d2] * (z[t,d2] -
    #   mean[d3](z[t,d3])) * part3[t,d2]) / part1[t]^(3/2)), where part1[t] = mean[d]((z[t,d] -
    #   mean[d2](z[t,d2]))^2) + 1e-5, part2[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d]), weights1[h,t,s] = softmax[s
    #   | s <= t](sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] * part2[s,d])) / sqrt(A)),
    #   product1[h,t,s] = weights1[h,t,s] * sum[a](sum[d](W_v[h,d,a] * part2[s,d]) * sum[d](W_o[h,a,d] * v_z[t,d])),
    #   part3[t,d] = sum[h,a](W_k[h,d,a] * sum[s](sum[d2](W_q[h,d2,a] * part2[s,d2]) * (product1[h,s,t] -
    #   weights1[h,s,t] * sum[t2](product1[h,s,t2])))) / sqrt(A) + sum[h,a](W_q[h,d,a] * sum[s](sum[d2](W_k[h,d2,a]
    #   * part2[s,d2]) * (product1[h,t,s] - weights1[h,t,s] * sum[t2](product1[h,t,t2])))) / sqrt(A) +
    #   sum[h,a](W_v[h,d,a] * sum[s](weights1[h,s,t] * sum[d2](W_o[h,a,d2] * v_z[s,d2])))
    total_3 = tl.sum(total_2, 1, keep_dims=True)
    product_2_here = tl.load(product_2 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    turn_z_here = product_2_here - (total_2 + (-0.0078125 * total_3))
    tl.store(turn_z + 8192 * sample + 128 * i + r, turn_z_here, mask=inside)


@jit
def tracking_group_8(product, p, samples):
    """p."""
    real = tl.float32 if p.dtype.element_ty == tl.bfloat16 else p.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place // 64 % 4
    j = place % 64
    r = tl.arange(0, 64)[None, :]
    product_here = tl.load(
        product + 16384 * sample + 4096 * i + 64 * j + r,
        mask=inside & (r <= j),
        other=0.0,
    ).to(real)
    largest_2 = tl.max(tl.where(r <= j, 0.1767766952966369 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.where(r <= j, tl.exp((0.1767766952966369 * product_here) - largest_2), 0.0)
    whole = tl.sum(power, 1, keep_dims=True)
    # p[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) *
    #   sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A))
    p_here = tl.where(whole == 0.0, 0.0, power / whole)
    tl.store(p + 16384 * sample + 4096 * i + 64 * j + r, p_here, mask=inside)


@jit
def tracking_group_9(product, image, samples):
    """image."""
    real = tl.float32 if image.dtype.element_ty == tl.bfloat16 else image.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 512)[None, :]
    # relu(sum[d](W_mem[d,m] * z[t,d]))
    product_here = tl.load(product + 32768 * sample + 512 * i + r, mask=inside, other=0.0).to(real)
    image_here = block_relu(product_here)
    tl.store(image + 32768 * sample + 512 * i + r, image_here, mask=inside)


@jit
def tracking_group_10(product, label, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 128)[None, :]
    product_here = tl.load(product + 4160 * sample + 65 * i + r, mask=inside & (r < 65), other=0.0).to(real)
    largest_2 = tl.max(tl.where(inside & (r < 65), product_here, float("-inf")), 1, keep_dims=True)
    power = tl.exp(product_here - largest_2)
    whole = tl.sum(tl.where(inside & (r < 65), power, 0.0), 1, keep_dims=True)
    # softmax[w](sum[d](W_head[d,w] * z[t,d]))
    weights = power / whole
    # 1/T * softmax[w](sum[d](W_head[d,w] * z[t,d])) - 1/T * where(w == label[t], 1, 0)
    label_here = tl.load(label + 64 * sample + i, mask=inside, other=0)
    total_here = tl.where(r == label_here, tl.full((1, 1), -0.015625, real), 0.0) + 0.015625 * weights
    tl.store(total + 4160 * sample + 65 * i + r, total_here, mask=inside & (r < 65))


@jit
def tracking_group_11(z_plus, product, x, product_2, product_3, turn_z, next_z_plus, scalars, samples):
    """next_z_plus."""
    real = next_z_plus.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    beta = tl.load(scalars)
    step_z = tl.load(scalars + 1)
    r = tl.arange(0, 128)[None, :]
    z_plus_here = tl.load(z_plus + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    product_here = tl.load(product + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    x_here = tl.load(x + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    product_2_here = tl.load(product_2 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    product_3_here = tl.load(product_3 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    turn_z_here = tl.load(turn_z + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    next_z_plus_here = (
        z_plus_here
        + step_z * (
            (
                product_here + (-z_plus_here - (z_plus_here - x_here) + product_2_here)
            ) - beta * product_3_here - turn_z_here
        )
    )
    tl.store(next_z_plus + 8192 * sample + 128 * i + r, next_z_plus_here, mask=inside)


@jit
def tracking_group_12(product, p, samples):
    """p."""
    real = tl.float32 if p.dtype.element_ty == tl.bfloat16 else p.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 16 + tl.arange(0, 16)[:, None]
    inside = place < 256 * samples
    sample = place // 256
    i = place // 64 % 4
    j = place % 64
    r = tl.arange(0, 64)[None, :]
    product_here = tl.load(
        product + 16384 * sample + 4096 * i + 64 * j + r,
        mask=inside & (r <= j),
        other=0.0,
    ).to(real)
    largest_2 = tl.max(tl.where(r <= j, 0.1767766952966369 * product_here, float("-inf")), 1, keep_dims=True)
    power = tl.where(r <= j, tl.exp((0.1767766952966369 * product_here) - largest_2), 0.0)
    whole = tl.sum(power, 1, keep_dims=True)
    # p[h,t,s] = softmax[s | s <= t](sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) *
    #   sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A))
    p_here = tl.where(whole == 0.0, 0.0, power / whole)
    tl.store(p + 16384 * sample + 4096 * i + 64 * j + r, p_here, mask=inside)


@jit
def tracking_group_13(product, image, samples):
    """image."""
    real = tl.float32 if image.dtype.element_ty == tl.bfloat16 else image.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 512)[None, :]
    # relu(sum[d](W_mem[d,m] * z[t,d]))
    product_here = tl.load(product + 32768 * sample + 512 * i + r, mask=inside, other=0.0).to(real)
    image_here = block_relu(product_here)
    tl.store(image + 32768 * sample + 512 * i + r, image_here, mask=inside)


@jit
def tracking_group_14(product, label, total, samples):
    """total."""
    real = tl.float32 if total.dtype.element_ty == tl.bfloat16 else total.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    r = tl.arange(0, 128)[None, :]
    product_here = tl.load(product + 4160 * sample + 65 * i + r, mask=inside & (r < 65), other=0.0).to(real)
    largest_2 = tl.max(tl.where(inside & (r < 65), product_here, float("-inf")), 1, keep_dims=True)
    power = tl.exp(product_here - largest_2)
    whole = tl.sum(tl.where(inside & (r < 65), power, 0.0), 1, keep_dims=True)
    # softmax[w](sum[d](W_head[d,w] * z[t,d]))
    weights = power / whole
    # 1/T * softmax[w](sum[d](W_head[d,w] * z[t,d])) - 1/T * where(w == label[t], 1, 0)
    label_here = tl.load(label + 64 * sample + i, mask=inside, other=0)
    total_here = tl.where(r == label_here, tl.full((1, 1), -0.015625, real), 0.0) + 0.015625 * weights
    tl.store(total + 4160 * sample + 65 * i + r, total_here, mask=inside & (r < 65))


@jit
def tracking_group_15(z_minus, product, x, product_2, product_3, turn_z, next_z_minus, scalars, samples):
    """next_z_minus."""
    real = next_z_minus.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    beta = tl.load(scalars)
    step_z = tl.load(scalars + 1)
    r = tl.arange(0, 128)[None, :]
    z_minus_here = tl.load(z_minus + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    product_here = tl.load(product + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    x_here = tl.load(x + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    product_2_here = tl.load(product_2 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    product_3_here = tl.load(product_3 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    turn_z_here = tl.load(turn_z + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    next_z_minus_here = (
        z_minus_here
        + step_z * (
            (
                product_here + (-z_minus_here - (z_minus_here - x_here) + product_2_here)
            ) + beta * product_3_here + turn_z_here
        )
    )
    tl.store(next_z_minus + 8192 * sample + 128 * i + r, next_z_minus_here, mask=inside)


def tracking_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of two nudged phases that track the free one."""
    z_plus, z_minus = now
    next_z_plus, next_z_minus = then
    W_o, W_q, h1, g1, W_k, W_v, x, W_mem, W_head, label = given
    n = len(z_plus)
    z_half = room(memory, n, 0, 8192)
    total = room(memory, n, 8192, 8192)
    image = room(memory, n, 16384, 64)
    n1 = room(memory, n, 16448, 8192)
    image_2 = room(memory, n, 24640, 64)
    v_n1 = room(memory, n, 24704, 8192)
    n1_2 = room(memory, n, 32896, 8192)
    n1_3 = room(memory, n, 41088, 8192)
    q = room(memory, n, 49280, 8192)
    k = room(memory, n, 57472, 8192)
    product = room(memory, n, 65664, 16384)
    p = room(memory, n, 82048, 16384)
    v_v = room(memory, n, 65664, 8192)
    product_2 = room(memory, n, 73856, 8192)
    v = room(memory, n, 65664, 8192)
    v_q = room(memory, n, 16448, 8192)
    product_3 = room(memory, n, 98432, 16384)
    v_k = room(memory, n, 16448, 8192)
    v_p = room(memory, n, 114816, 16384)
    total_2 = room(memory, n, 16448, 8192)
    product_4 = room(memory, n, 24704, 8192)
    product_5 = room(memory, n, 16448, 8192)
    pull_p = room(memory, n, 98432, 16384)
    total_3 = room(memory, n, 65664, 16384)
    product_6 = room(memory, n, 0, 8192)
    product_7 = room(memory, n, 49280, 8192)
    product_8 = room(memory, n, 0, 8192)
    pull_v = room(memory, n, 0, 8192)
    pull_n1 = room(memory, n, 0, 8192)
    total_4 = room(memory, n, 16448, 8192)
    product_9 = room(memory, n, 49280, 64)
    turn_z = room(memory, n, 16448, 8192)
    v_2 = room(memory, n, 0, 8192)
    q_2 = room(memory, n, 8192, 8192)
    k_2 = room(memory, n, 24640, 8192)
    product_10 = room(memory, n, 49280, 16384)
    p_2 = room(memory, n, 24640, 16384)
    product_11 = room(memory, n, 8192, 8192)
    product_12 = room(memory, n, 0, 8192)
    product_13 = room(memory, n, 49280, 32768)
    image_3 = room(memory, n, 82048, 32768)
    product_14 = room(memory, n, 8192, 8192)
    product_15 = room(memory, n, 24640, 4160)
    total_5 = room(memory, n, 28800, 4160)
    product_16 = room(memory, n, 49280, 8192)
    v_3 = room(memory, n, 0, 8192)
    q_3 = room(memory, n, 8192, 8192)
    k_3 = room(memory, n, 24640, 8192)
    product_17 = room(memory, n, 32832, 16384)
    p_3 = room(memory, n, 49216, 16384)
    product_18 = room(memory, n, 8192, 8192)
    product_19 = room(memory, n, 0, 8192)
    product_20 = room(memory, n, 24640, 32768)
    image_4 = room(memory, n, 57408, 32768)
    product_21 = room(memory, n, 8192, 8192)
    product_22 = room(memory, n, 24640, 4160)
    total_6 = room(memory, n, 28800, 4160)
    product_23 = room(memory, n, 32960, 8192)
    tracking_group_1[(cdiv(64 * n, 8),)](
        z_plus,
        z_minus,
        h1,
        g1,
        z_half,
        total,
        image,
        n1,
        image_2,
        v_n1,
        n1_2,
        n1_3,
        n,
    )
    # q[h,t,a] = sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(q, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_q, (4, 32, 128), (4096, 1, 32)),
    )
    # k[h,t,a] = sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(k, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_k, (4, 32, 128), (4096, 1, 32)),
    )
    # sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))))
    put_product(
        matrix(product, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(q, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(k, (4 * n, 32, 64), (2048, 1, 32)),
    )
    tracking_group_2[(cdiv(256 * n, 16),)](product, p, n)
    # v_v[h,t,a] = sum[d](W_v[h,d,a] * (g1[d] * (v_z[t,d] - mean[d2](v_z[t,d2])) / sqrt(mean[d2]((z[t,d2] -
    #   mean[d3](z[t,d3]))^2) + 1e-5) - g1[d] * (z[t,d] - mean[d2](z[t,d2])) * mean[d2]((z[t,d2] -
    #   mean[d3](z[t,d3])) * (v_z[t,d2] - mean[d3](v_z[t,d3]))) / (mean[d2]((z[t,d2] - mean[d3](z[t,d3]))^2) +
    #   1e-5)^(3/2)))
    put_einsum(
        matrix(v_v, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(v_n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_v, (4, 32, 128), (4096, 1, 32)),
    )
    # sum[s](softmax[s | s <= t](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) *
    #   sum[d](W_k[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) / sqrt(A)) * sum[d](W_v[h,d,a] * (g1[d] *
    #   (v_z[s,d] - mean[d2](v_z[s,d2])) / sqrt(mean[d2]((z[s,d2] - mean[d3](z[s,d3]))^2) + 1e-5) - g1[d] * (z[s,d]
    #   - mean[d2](z[s,d2])) * mean[d2]((z[s,d2] - mean[d3](z[s,d3])) * (v_z[s,d2] - mean[d3](v_z[s,d3]))) /
    #   (mean[d2]((z[s,d2] - mean[d3](z[s,d3]))^2) + 1e-5)^(3/2))))
    put_product(
        matrix(product_2, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(p, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(v_v, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # v[h,t,a] = sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(v, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_v, (4, 32, 128), (4096, 1, 32)),
    )
    # v_q[h,t,a] = sum[d](W_q[h,d,a] * (g1[d] * (v_z[t,d] - mean[d2](v_z[t,d2])) / sqrt(mean[d2]((z[t,d2] -
    #   mean[d3](z[t,d3]))^2) + 1e-5) - g1[d] * (z[t,d] - mean[d2](z[t,d2])) * mean[d2]((z[t,d2] -
    #   mean[d3](z[t,d3])) * (v_z[t,d2] - mean[d3](v_z[t,d3]))) / (mean[d2]((z[t,d2] - mean[d3](z[t,d3]))^2) +
    #   1e-5)^(3/2)))
    put_einsum(
        matrix(v_q, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(v_n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_q, (4, 32, 128), (4096, 1, 32)),
    )
    # sum[a](sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * sum[d](W_q[h,d,a] * (g1[d] * (v_z[t,d] -
    #   mean[d2](v_z[t,d2])) / sqrt(mean[d2]((z[t,d2] - mean[d3](z[t,d3]))^2) + 1e-5) - g1[d] * (z[t,d] -
    #   mean[d2](z[t,d2])) * mean[d2]((z[t,d2] - mean[d3](z[t,d3])) * (v_z[t,d2] - mean[d3](v_z[t,d3]))) /
    #   (mean[d2]((z[t,d2] - mean[d3](z[t,d3]))^2) + 1e-5)^(3/2))))
    put_product(
        matrix(product_3, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(v_q, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(k, (4 * n, 32, 64), (2048, 1, 32)),
    )
    # v_k[h,t,a] = sum[d](W_k[h,d,a] * (g1[d] * (v_z[t,d] - mean[d2](v_z[t,d2])) / sqrt(mean[d2]((z[t,d2] -
    #   mean[d3](z[t,d3]))^2) + 1e-5) - g1[d] * (z[t,d] - mean[d2](z[t,d2])) * mean[d2]((z[t,d2] -
    #   mean[d3](z[t,d3])) * (v_z[t,d2] - mean[d3](v_z[t,d3]))) / (mean[d2]((z[t,d2] - mean[d3](z[t,d3]))^2) +
    #   1e-5)^(3/2)))
    put_einsum(
        matrix(v_k, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(v_n1, (n, 64, 128), (8192, 128, 1)),
        matrix(W_k, (4, 32, 128), (4096, 1, 32)),
    )
    # sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] * (g1[d] * (v_z[s,d] -
    #   mean[d2](v_z[s,d2])) / sqrt(mean[d2]((z[s,d2] - mean[d3](z[s,d3]))^2) + 1e-5) - g1[d] * (z[s,d] -
    #   mean[d2](z[s,d2])) * mean[d2]((z[s,d2] - mean[d3](z[s,d3])) * (v_z[s,d2] - mean[d3](v_z[s,d3]))) /
    #   (mean[d2]((z[s,d2] - mean[d3](z[s,d3]))^2) + 1e-5)^(3/2))))
    put_product(
        matrix(product_3, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(q, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(v_k, (4 * n, 32, 64), (2048, 1, 32)),
        adds=True,
    )
    tracking_group_3[(cdiv(256 * n, 16),)](p, product_3, v_p, n)
    # sum[s](sum[d](W_v[h,d,a] * part2[s,d]) * (product1[h,t,s] / sqrt(A) - weights1[h,t,s] *
    #   sum[t2](product1[h,t,t2]) / sqrt(A))), where part1[t] = mean[d]((z[t,d] - mean[d2](z[t,d2]))^2) + 1e-5,
    #   part2[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d]), weights1[h,t,s] = softmax[s | s <=
    #   t](sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] * part2[s,d])) / sqrt(A)), part3[t,d] = g1[d]
    #   * (v_z[t,d] - mean[d2](v_z[t,d2])) / sqrt(part1[t]) - g1[d] * (z[t,d] - mean[d2](z[t,d2])) *
    #   mean[d2]((z[t,d2] - mean[d3](z[t,d3])) * (v_z[t,d2] - mean[d3](v_z[t,d3]))) / part1[t]^(3/2),
    #   product1[h,t,s] = weights1[h,t,s] * (sum[a](sum[d](W_k[h,d,a] * part2[s,d]) * sum[d](W_q[h,d,a] *
    #   part3[t,d])) + sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] * part3[s,d])))
    put_product(
        matrix(product_2, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(v_p, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(v, (4 * n, 64, 32), (2048, 32, 1)),
        adds=True,
    )
    tracking_group_4[(cdiv(256 * n, 32),)](product_2, total_2, n)
    # sum[h,a](W_o[h,a,d] * (sum[s](weights1[h,t,s] * sum[d2](W_v[h,d2,a] * part3[s,d2])) +
    #   sum[s](sum[d2](W_v[h,d2,a] * part2[s,d2]) * (product1[h,t,s] / sqrt(A) - weights1[h,t,s] *
    #   sum[t2](product1[h,t,t2]) / sqrt(A))))), where part1[t] = mean[d]((z[t,d] - mean[d2](z[t,d2]))^2) + 1e-5,
    #   part2[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d]), weights1[h,t,s] = softmax[s | s <=
    #   t](sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] * part2[s,d])) / sqrt(A)), part3[t,d] = g1[d]
    #   * (v_z[t,d] - mean[d2](v_z[t,d2])) / sqrt(part1[t]) - g1[d] * (z[t,d] - mean[d2](z[t,d2])) *
    #   mean[d2]((z[t,d2] - mean[d3](z[t,d3])) * (v_z[t,d2] - mean[d3](v_z[t,d3]))) / part1[t]^(3/2),
    #   product1[h,t,s] = weights1[h,t,s] * (sum[a](sum[d](W_k[h,d,a] * part2[s,d]) * sum[d](W_q[h,d,a] *
    #   part3[t,d])) + sum[a](sum[d](W_q[h,d,a] * part2[t,d]) * sum[d](W_k[h,d,a] * part3[s,d])))
    put_einsum(
        matrix(product_4, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(total_2, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_o, (128, 4, 32), (1, 4096, 128)),
    )
    # sum[d](W_o[h,a,d] * v_z[t,d])
    put_product(
        matrix(product_5, (64 * n, 128), (128, 1)),
        matrix(z_half, (64 * n, 128), (128, 1)),
        matrix(W_o, (128, 128), (1, 128)),
    )
    # pull_p[h,t,s] = sum[a](sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * sum[d](W_o[h,a,d] *
    #   v_z[t,d]))
    put_einsum(
        matrix(pull_p, (n, 4, 64, 64), (16384, 4096, 64, 1)),
        "abce,abde->abcd",
        matrix(product_5, (n, 4, 64, 32), (8192, 32, 128, 1)),
        matrix(v, (n, 4, 64, 32), (8192, 2048, 32, 1)),
    )
    tracking_group_5[(cdiv(256 * n, 16),)](p, pull_p, total_3, n)
    # sum[s](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * (softmax[t | t <=
    #   s](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * sum[d](W_k[h,d,a2] * (h1[d] +
    #   g1[d] * layernorm[d](z[t,d])))) / sqrt(A)) * sum[a2](sum[d](W_v[h,d,a2] * (h1[d] + g1[d] *
    #   layernorm[d](z[t,d]))) * sum[d](W_o[h,a2,d] * v_z[s,d])) - softmax[t | t <= s](sum[a2](sum[d](W_q[h,d,a2] *
    #   (h1[d] + g1[d] * layernorm[d](z[s,d]))) * sum[d](W_k[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t,d])))) /
    #   sqrt(A)) * sum[t2](softmax[t2 | t2 <= s](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))) * sum[d](W_k[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t2,d])))) / sqrt(A)) *
    #   sum[a2](sum[d](W_v[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t2,d]))) * sum[d](W_o[h,a2,d] * v_z[s,d])))))
    put_product(
        matrix(product_6, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(total_3, (4 * n, 64, 64), (4096, 1, 64)),
        matrix(q, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # sum[h,a](W_k[h,d,a] * sum[s](sum[d2](W_q[h,d2,a] * (h1[d2] + g1[d2] * layernorm[d2](z[s,d2]))) * (softmax[t |
    #   t <= s](sum[a2](sum[d2](W_q[h,d2,a2] * (h1[d2] + g1[d2] * layernorm[d2](z[s,d2]))) * sum[d2](W_k[h,d2,a2] *
    #   (h1[d2] + g1[d2] * layernorm[d2](z[t,d2])))) / sqrt(A)) * sum[a2](sum[d2](W_v[h,d2,a2] * (h1[d2] + g1[d2] *
    #   layernorm[d2](z[t,d2]))) * sum[d2](W_o[h,a2,d2] * v_z[s,d2])) - softmax[t | t <=
    #   s](sum[a2](sum[d2](W_q[h,d2,a2] * (h1[d2] + g1[d2] * layernorm[d2](z[s,d2]))) * sum[d2](W_k[h,d2,a2] *
    #   (h1[d2] + g1[d2] * layernorm[d2](z[t,d2])))) / sqrt(A)) * sum[t2](softmax[t2 | t2 <=
    #   s](sum[a2](sum[d2](W_q[h,d2,a2] * (h1[d2] + g1[d2] * layernorm[d2](z[s,d2]))) * sum[d2](W_k[h,d2,a2] *
    #   (h1[d2] + g1[d2] * layernorm[d2](z[t2,d2])))) / sqrt(A)) * sum[a2](sum[d2](W_v[h,d2,a2] * (h1[d2] + g1[d2] *
    #   layernorm[d2](z[t2,d2]))) * sum[d2](W_o[h,a2,d2] * v_z[s,d2]))))))
    put_einsum(
        matrix(product_7, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(product_6, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_k, (128, 4, 32), (32, 4096, 1)),
        factor=0.1767766952966369,
    )
    # sum[s](sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * (softmax[s | s <=
    #   t](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a2] * (h1[d] +
    #   g1[d] * layernorm[d](z[s,d])))) / sqrt(A)) * sum[a2](sum[d](W_v[h,d,a2] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))) * sum[d](W_o[h,a2,d] * v_z[t,d])) - softmax[s | s <= t](sum[a2](sum[d](W_q[h,d,a2] *
    #   (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[s,d])))) /
    #   sqrt(A)) * sum[t2](softmax[t2 | t2 <= t](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] *
    #   layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t2,d])))) / sqrt(A)) *
    #   sum[a2](sum[d](W_v[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t2,d]))) * sum[d](W_o[h,a2,d] * v_z[t,d])))))
    put_product(
        matrix(product_8, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(total_3, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(k, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # sum[h,a](W_q[h,d,a] * sum[s](sum[d2](W_k[h,d2,a] * (h1[d2] + g1[d2] * layernorm[d2](z[s,d2]))) * (softmax[s |
    #   s <= t](sum[a2](sum[d2](W_q[h,d2,a2] * (h1[d2] + g1[d2] * layernorm[d2](z[t,d2]))) * sum[d2](W_k[h,d2,a2] *
    #   (h1[d2] + g1[d2] * layernorm[d2](z[s,d2])))) / sqrt(A)) * sum[a2](sum[d2](W_v[h,d2,a2] * (h1[d2] + g1[d2] *
    #   layernorm[d2](z[s,d2]))) * sum[d2](W_o[h,a2,d2] * v_z[t,d2])) - softmax[s | s <=
    #   t](sum[a2](sum[d2](W_q[h,d2,a2] * (h1[d2] + g1[d2] * layernorm[d2](z[t,d2]))) * sum[d2](W_k[h,d2,a2] *
    #   (h1[d2] + g1[d2] * layernorm[d2](z[s,d2])))) / sqrt(A)) * sum[t2](softmax[t2 | t2 <=
    #   t](sum[a2](sum[d2](W_q[h,d2,a2] * (h1[d2] + g1[d2] * layernorm[d2](z[t,d2]))) * sum[d2](W_k[h,d2,a2] *
    #   (h1[d2] + g1[d2] * layernorm[d2](z[t2,d2])))) / sqrt(A)) * sum[a2](sum[d2](W_v[h,d2,a2] * (h1[d2] + g1[d2] *
    #   layernorm[d2](z[t2,d2]))) * sum[d2](W_o[h,a2,d2] * v_z[t,d2]))))))
    put_einsum(
        matrix(product_7, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(product_8, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_q, (128, 4, 32), (32, 4096, 1)),
        adds=True,
        factor=0.1767766952966369,
    )
    # pull_v[h,t,a] = sum[s](softmax[t | t <= s](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))) * sum[d](W_k[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t,d])))) / sqrt(A)) *
    #   sum[d](W_o[h,a,d] * v_z[s,d]))
    put_einsum(
        matrix(pull_v, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "abce,abde->abcd",
        matrix(p, (n, 4, 64, 64), (16384, 4096, 1, 64)),
        matrix(product_5, (n, 4, 32, 64), (8192, 32, 1, 128)),
    )
    # sum[h,a](W_v[h,d,a] * sum[s](softmax[t | t <= s](sum[a2](sum[d2](W_q[h,d2,a2] * (h1[d2] + g1[d2] *
    #   layernorm[d2](z[s,d2]))) * sum[d2](W_k[h,d2,a2] * (h1[d2] + g1[d2] * layernorm[d2](z[t,d2])))) / sqrt(A)) *
    #   sum[d2](W_o[h,a,d2] * v_z[s,d2])))
    put_einsum(
        matrix(product_7, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(pull_v, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_v, (128, 4, 32), (32, 4096, 1)),
        adds=True,
    )
    tracking_group_6[(cdiv(64 * n, 8),)](product_7, total, pull_n1, total_4, n)
    # sum[d](g1[d] * (z[t,d] - mean[d2](z[t,d2])) * (sum[h,a](W_k[h,d,a] * sum[s](sum[d2](W_q[h,d2,a] * part1[s,d2])
    #   * (product1[h,s,t] - weights1[h,s,t] * sum[t2](product1[h,s,t2])))) / sqrt(A) + sum[h,a](W_q[h,d,a] *
    #   sum[s](sum[d2](W_k[h,d2,a] * part1[s,d2]) * (product1[h,t,s] - weights1[h,t,s] *
    #   sum[t2](product1[h,t,t2])))) / sqrt(A) + sum[h,a](W_v[h,d,a] * sum[s](weights1[h,s,t] * sum[d2](W_o[h,a,d2]
    #   * v_z[s,d2]))))), where part1[t,d] = h1[d] + g1[d] * layernorm[d](z[t,d]), weights1[h,t,s] = softmax[s | s
    #   <= t](sum[a](sum[d](W_q[h,d,a] * part1[t,d]) * sum[d](W_k[h,d,a] * part1[s,d])) / sqrt(A)), product1[h,t,s]
    #   = weights1[h,t,s] * sum[a](sum[d](W_v[h,d,a] * part1[s,d]) * sum[d](W_o[h,a,d] * v_z[t,d]))
    put_product(
        matrix(product_9, (1, 64 * n), (1, 1)),
        matrix(g1, (1, 128), (1, 1)),
        matrix(total_4, (128, 64 * n), (1, 128)),
    )
    tracking_group_7[(cdiv(64 * n, 8),)](g1, image, pull_n1, total, image_2, product_9, product_4, turn_z, n)
    # v[h,t,a] = sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(v_2, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1_2, (n, 64, 128), (8192, 128, 1)),
        matrix(W_v, (4, 32, 128), (4096, 1, 32)),
    )
    # q[h,t,a] = sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(q_2, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1_2, (n, 64, 128), (8192, 128, 1)),
        matrix(W_q, (4, 32, 128), (4096, 1, 32)),
    )
    # k[h,t,a] = sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(k_2, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1_2, (n, 64, 128), (8192, 128, 1)),
        matrix(W_k, (4, 32, 128), (4096, 1, 32)),
    )
    # sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))))
    put_product(
        matrix(product_10, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(q_2, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(k_2, (4 * n, 32, 64), (2048, 1, 32)),
    )
    tracking_group_8[(cdiv(256 * n, 16),)](product_10, p_2, n)
    # sum[s](sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * softmax[s | s <=
    #   t](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a2] * (h1[d] +
    #   g1[d] * layernorm[d](z[s,d])))) / sqrt(A)))
    put_product(
        matrix(product_11, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(p_2, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(v_2, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # sum[h,a](W_o[h,a,d] * sum[s](sum[d2](W_v[h,d2,a] * (h1[d2] + g1[d2] * layernorm[d2](z[s,d2]))) * softmax[s | s
    #   <= t](sum[a2](sum[d2](W_q[h,d2,a2] * (h1[d2] + g1[d2] * layernorm[d2](z[t,d2]))) * sum[d2](W_k[h,d2,a2] *
    #   (h1[d2] + g1[d2] * layernorm[d2](z[s,d2])))) / sqrt(A))))
    put_einsum(
        matrix(product_12, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(product_11, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_o, (128, 4, 32), (1, 4096, 128)),
    )
    # sum[d](W_mem[d,m] * z[t,d])
    put_product(
        matrix(product_13, (64 * n, 512), (512, 1)),
        matrix(z_plus, (64 * n, 128), (128, 1)),
        matrix(W_mem, (128, 512), (512, 1)),
    )
    tracking_group_9[(cdiv(64 * n, 2),)](product_13, image_3, n)
    # sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[t,d2])))
    put_product(
        matrix(product_14, (64 * n, 128), (128, 1)),
        matrix(image_3, (64 * n, 512), (512, 1)),
        matrix(W_mem, (512, 128), (1, 512)),
        factor=2.0,
    )
    # sum[d](W_head[d,w] * z[t,d])
    put_product(
        matrix(product_15, (64 * n, 65), (65, 1)),
        matrix(z_plus, (64 * n, 128), (128, 1)),
        matrix(W_head, (128, 65), (65, 1)),
    )
    tracking_group_10[(cdiv(64 * n, 8),)](product_15, label, total_5, n)
    # sum[w](W_head[d,w] * (1/T * softmax[w](sum[d2](W_head[d2,w] * z[t,d2])) - 1/T * where(w == label[t], 1, 0)))
    put_product(
        matrix(product_16, (64 * n, 128), (128, 1)),
        matrix(total_5, (64 * n, 65), (65, 1)),
        matrix(W_head, (65, 128), (1, 65)),
    )
    tracking_group_11[(cdiv(64 * n, 8),)](
        z_plus,
        product_12,
        x,
        product_14,
        product_16,
        turn_z,
        next_z_plus,
        scalars,
        n,
    )
    # v[h,t,a] = sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(v_3, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1_3, (n, 64, 128), (8192, 128, 1)),
        matrix(W_v, (4, 32, 128), (4096, 1, 32)),
    )
    # q[h,t,a] = sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(q_3, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1_3, (n, 64, 128), (8192, 128, 1)),
        matrix(W_q, (4, 32, 128), (4096, 1, 32)),
    )
    # k[h,t,a] = sum[d](W_k[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d])))
    put_einsum(
        matrix(k_3, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(n1_3, (n, 64, 128), (8192, 128, 1)),
        matrix(W_k, (4, 32, 128), (4096, 1, 32)),
    )
    # sum[a](sum[d](W_q[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a] * (h1[d] + g1[d] *
    #   layernorm[d](z[s,d]))))
    put_product(
        matrix(product_17, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(q_3, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(k_3, (4 * n, 32, 64), (2048, 1, 32)),
    )
    tracking_group_12[(cdiv(256 * n, 16),)](product_17, p_3, n)
    # sum[s](sum[d](W_v[h,d,a] * (h1[d] + g1[d] * layernorm[d](z[s,d]))) * softmax[s | s <=
    #   t](sum[a2](sum[d](W_q[h,d,a2] * (h1[d] + g1[d] * layernorm[d](z[t,d]))) * sum[d](W_k[h,d,a2] * (h1[d] +
    #   g1[d] * layernorm[d](z[s,d])))) / sqrt(A)))
    put_product(
        matrix(product_18, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(p_3, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(v_3, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # sum[h,a](W_o[h,a,d] * sum[s](sum[d2](W_v[h,d2,a] * (h1[d2] + g1[d2] * layernorm[d2](z[s,d2]))) * softmax[s | s
    #   <= t](sum[a2](sum[d2](W_q[h,d2,a2] * (h1[d2] + g1[d2] * layernorm[d2](z[t,d2]))) * sum[d2](W_k[h,d2,a2] *
    #   (h1[d2] + g1[d2] * layernorm[d2](z[s,d2])))) / sqrt(A))))
    put_einsum(
        matrix(product_19, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(product_18, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_o, (128, 4, 32), (1, 4096, 128)),
    )
    # sum[d](W_mem[d,m] * z[t,d])
    put_product(
        matrix(product_20, (64 * n, 512), (512, 1)),
        matrix(z_minus, (64 * n, 128), (128, 1)),
        matrix(W_mem, (128, 512), (512, 1)),
    )
    tracking_group_13[(cdiv(64 * n, 2),)](product_20, image_4, n)
    # sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[t,d2])))
    put_product(
        matrix(product_21, (64 * n, 128), (128, 1)),
        matrix(image_4, (64 * n, 512), (512, 1)),
        matrix(W_mem, (512, 128), (1, 512)),
        factor=2.0,
    )
    # sum[d](W_head[d,w] * z[t,d])
    put_product(
        matrix(product_22, (64 * n, 65), (65, 1)),
        matrix(z_minus, (64 * n, 128), (128, 1)),
        matrix(W_head, (128, 65), (65, 1)),
    )
    tracking_group_14[(cdiv(64 * n, 8),)](product_22, label, total_6, n)
    # sum[w](W_head[d,w] * (1/T * softmax[w](sum[d2](W_head[d2,w] * z[t,d2])) - 1/T * where(w == label[t], 1, 0)))
    put_product(
        matrix(product_23, (64 * n, 128), (128, 1)),
        matrix(total_6, (64 * n, 65), (65, 1)),
        matrix(W_head, (65, 128), (1, 65)),
    )
    tracking_group_15[(cdiv(64 * n, 8),)](
        z_minus,
        product_19,
        x,
        product_21,
        product_23,
        turn_z,
        next_z_minus,
        scalars,
        n,
    )


class Thin(ThinEquations, KernelNetwork):
    """The network: its equations, relaxed by kernels and learned."""

    learning_rules = (tracking_aep, implicit,)
    kernels = TritonKernels(
        {
            "free": PhaseStep(free_step, 81920, matrices={0, 1, 4, 5, 7}),
            "nudged": PhaseStep(nudged_step, 81920, matrices={0, 1, 4, 5, 7, 8}),
            "tracking": PhaseStep(tracking_step, 131200, matrices={0, 1, 4, 5, 7, 8}),
        }
    )
