"""cet_lm: Conservative language model: attention as an energy under a causal mask, confinement, memory.

Made by energyc 0.1.0 from cet_lm.energy
SHA-256 of the spec: d05d3d3d9747e79a608287a69cd66790836988f9fa43adbd34a8f1f92298da3c
Rules: centered-ep, implicit
Passes: hoist, share, separate, segments, inplace
Kernels: free, nudged
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.kernels.kernels import KernelNetwork
from energyc.runtime.kernels.triton_functions import block_relu, jit
from energyc.runtime.kernels.triton_kernels import PhaseStep, TritonKernels, cdiv, matrix, put_einsum, put_product, room
from energyc.runtime.rules.centered_ep import centered_ep
from energyc.runtime.rules.implicit import implicit
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


class CetLmEquations:
    """States z[T, D].

    Sizes: T = 64, D = 128, H = 4, A = 32, M = 512, V = 65.

    Consts: c = 1, gamma = 1.

    let x[t,d] = tok[idx[t], d] + pos[t,d]
    let q[h,t,a] = sum[d](W_q[h,a,d] * z[t,d])
    let k[h,t,a] = sum[d](W_k[h,a,d] * z[t,d])

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "cet_lm"
    state_shapes = {"z": (64, 128)}
    clamp_shapes = {"idx": ((64,), 65)}
    target_shapes = {"label": ((64,), 65)}
    term_names = ("input", "confine", "att", "mem")
    readout_names = ("logits",)
    relax_steps = 150
    relax_step = (0.1,)
    relax_tolerance = 0.0001
    beta = "auto"
    nudge_steps = 20
    snapshots = 5

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.tok = self._param(normal(random, (65, 128), 0.02))
        self.pos = self._param(normal(random, (64, 128), 0.02))
        self.W_q = self._param(normal(random, (4, 32, 128), 0.02))
        self.W_k = self._param(normal(random, (4, 32, 128), 0.02))
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
        energy confine = c/2 * sum[t,d](z[t,d]^2)
        energy att = -1/gamma * sum[h,t](logsumexp[s | s <= t](gamma * sum[a](q[h,t,a] * k[h,s,a])))
        energy mem = -sum[t,m](relu(sum[d](z[t,d] * W_mem[d,m]))^2)
        """
        (z,) = states
        total = z - fixed.x
        energy_input = 0.5 * (total * total).sum((1, 2))
        energy_confine = 0.5 * (z * z).sum((1, 2))
        q = torch.einsum("Btd,had->Bhta", z, self.W_q)
        k = torch.einsum("Btd,had->Bhta", z, self.W_k)
        level = torch.einsum("Bhta,Bhsa->Bhts", q, k).masked_fill_(~self.mask.T, float("-inf")).logsumexp(3)
        energy_att = -level.sum((1, 2))
        relu = torch.relu_(z @ self.W_mem)
        energy_mem = -(relu * relu).sum((1, 2))
        return [energy_input, energy_confine, energy_att, energy_mem]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        F_z[t,d] = 2 * sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[t,d2]))) - c * z[t,d] - (z[t,d] - x[t,d]) +
            sum[h,a](W_k[h,a,d] * sum[s](q[h,s,a] * softmax[t | t <= s](gamma * sum[a2](q[h,s,a2] * k[h,t,a2])))) +
            sum[h,a](W_q[h,a,d] * sum[s](k[h,s,a] * softmax[s | s <= t](gamma * sum[a2](q[h,t,a2] * k[h,s,a2]))))
        """
        (z,) = states
        q = torch.einsum("Btd,had->Bhta", z, self.W_q)
        k = torch.einsum("Btd,had->Bhta", z, self.W_k)
        weights = torch.einsum("Bhta,Bhsa->Bhts", q, k).masked_fill_(~self.mask.T, float("-inf")).softmax(3)
        pull_k = torch.einsum("Bhsa,Bhst->Bhta", q, weights)
        pull_q = torch.einsum("Bhsa,Bhts->Bhta", k, weights)
        force_z = torch.einsum("Bhta,had->Btd", pull_k, self.W_k)
        force_z += torch.einsum("Bhta,had->Btd", pull_q, self.W_q)
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
        q = torch.einsum("Btd,had->Bhta", z, self.W_q)
        k = torch.einsum("Btd,had->Bhta", z, self.W_k)
        weights = torch.einsum("Bhta,Bhsa->Bhts", q, k).masked_fill_(~self.mask.T, float("-inf")).softmax(3)
        W_q_seed_z = torch.einsum("Btd,had->Btha", seed_z, self.W_q)
        W_k_seed_z = torch.einsum("Btd,had->Btha", seed_z, self.W_k)
        total = torch.einsum("Bhsa,Btha->Bhts", k, W_q_seed_z)
        total += torch.einsum("Bhta,Bsha->Bhts", q, W_k_seed_z)
        product = weights * total
        total_2 = product - weights * product.sum(3)[:, :, :, None]
        pull_k = torch.einsum("Bhst,Bsha->Bhta", weights, W_q_seed_z)
        pull_k += torch.einsum("Bhsa,Bhst->Bhta", q, total_2)
        pull_q = torch.einsum("Bhts,Bsha->Bhta", weights, W_k_seed_z)
        pull_q += torch.einsum("Bhsa,Bhts->Bhta", k, total_2)
        W_mem_z = z @ self.W_mem
        product_2 = step(W_mem_z) * (seed_z @ self.W_mem)
        back_z = torch.einsum("Bhta,had->Btd", pull_k, self.W_k)
        back_z += torch.einsum("Bhta,had->Btd", pull_q, self.W_q)
        back_z.add_(product_2 @ self.W_mem.T, alpha=2)
        back_z.add_(seed_z, alpha=-2)
        if not params:
            return [back_z], {}
        pull_q_2 = torch.einsum("Bhsa,Bhts->Bhta", k, weights)
        pull_k_2 = torch.einsum("Bhsa,Bhst->Bhta", q, weights)
        return [back_z], {
            "tok": scatter_add(seed_z, fixed.idx, 65),
            "pos": seed_z.sum(0),
            "W_q": torch.einsum("Bhta,Btd->had", pull_q_2, seed_z) + torch.einsum("Bhta,Btd->had", pull_q, z),
            "W_k": torch.einsum("Bhta,Btd->had", pull_k_2, seed_z) + torch.einsum("Bhta,Btd->had", pull_k, z),
            "W_mem": (
                2 * torch.einsum("Btm,Btd->dm", torch.relu(W_mem_z), seed_z)
                + 2 * torch.einsum("Btd,Btm->dm", z, product_2)
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

        dE/dW_q[h,a,d] = -sum[t](z[t,d] * sum[s](k[h,s,a] * softmax[s | s <= t](gamma * sum[a2](q[h,t,a2] *
            k[h,s,a2]))))
        dE/dW_k[h,a,d] = -sum[t](z[t,d] * sum[s](q[h,s,a] * softmax[t | t <= s](gamma * sum[a2](q[h,s,a2] *
            k[h,t,a2]))))
        dE/dW_mem[d,m] = -2 * sum[t](z[t,d] * relu(sum[d2](W_mem[d2,m] * z[t,d2])))
        """
        (z,) = states
        k = torch.einsum("Btd,had->Bhta", z, self.W_k)
        q = torch.einsum("Btd,had->Bhta", z, self.W_q)
        weights = torch.einsum("Bhta,Bhsa->Bhts", q, k).masked_fill_(~self.mask.T, float("-inf")).softmax(3)
        pull_q = torch.einsum("Bhsa,Bhts->Bhta", k, weights)
        pull_k = torch.einsum("Bhsa,Bhst->Bhta", q, weights)
        return {
            "W_q": -torch.einsum("Bhta,Btd->had", pull_q, z),
            "W_k": -torch.einsum("Bhta,Btd->had", pull_k, z),
            "W_mem": -2 * torch.einsum("Btd,Btm->dm", z, torch.relu_(z @ self.W_mem)),
        }

    def _energy_contrast(self, plus: Tensors, minus: Tensors, fixed: Fixed) -> dict[str, Tensor]:
        """dE/dtheta at plus less that at minus, summed over the batch.

        c_tok[w,d] = sum[t | w == idx[t]](minus_z[t,d] - plus_z[t,d])
        c_pos[t,d] = minus_z[t,d] - plus_z[t,d]
        """
        (plus_z,) = plus
        (minus_z,) = minus
        grad_pos = minus_z - plus_z
        return {"tok": scatter_add(grad_pos, fixed.idx, 65), "pos": grad_pos.sum(0)}

    def _given(self, name: str, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "free":
            return [fixed.x, self.W_k, self.W_q, self.W_mem]
        if name == "nudged":
            return [fixed.x, self.W_k, self.W_q, self.W_mem, self.W_head, targets[0]]
        raise KeyError(name)


@jit
def free_group_1(product, weights, samples):
    """weights."""
    real = tl.float32 if weights.dtype.element_ty == tl.bfloat16 else weights.dtype.element_ty
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
    largest_2 = tl.max(tl.where(r <= j, product_here, float("-inf")), 1, keep_dims=True)
    power = tl.where(r <= j, tl.exp(product_here - largest_2), 0.0)
    whole = tl.sum(power, 1, keep_dims=True)
    # softmax[s | s <= t](gamma * sum[a](q[h,t,a] * k[h,s,a]))
    weights_here = tl.where(whole == 0.0, 0.0, power / whole)
    tl.store(weights + 16384 * sample + 4096 * i + 64 * j + r, weights_here, mask=inside)


@jit
def free_group_2(product, image, samples):
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
def free_group_3(z, x, product, next_z, scalars, samples):
    """next_z."""
    real = next_z.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 64 * samples
    sample = place // 64
    i = place % 64
    step_z = tl.load(scalars)
    r = tl.arange(0, 128)[None, :]
    z_here = tl.load(z + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    x_here = tl.load(x + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    product_here = tl.load(product + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    next_z_here = z_here + step_z * (-z_here - (z_here - x_here) + product_here)
    tl.store(next_z + 8192 * sample + 128 * i + r, next_z_here, mask=inside)


def free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    z, = now
    next_z, = then
    x, W_k, W_q, W_mem = given
    n = len(z)
    q = room(memory, n, 0, 8192)
    k = room(memory, n, 8192, 8192)
    product = room(memory, n, 16384, 16384)
    weights = room(memory, n, 32768, 16384)
    pull_k = room(memory, n, 16384, 8192)
    product_2 = room(memory, n, 0, 8192)
    pull_q = room(memory, n, 16384, 8192)
    product_3 = room(memory, n, 8192, 32768)
    image = room(memory, n, 40960, 32768)
    # q[h,t,a] = sum[d](W_q[h,a,d] * z[t,d])
    put_einsum(
        matrix(q, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(z, (n, 64, 128), (8192, 128, 1)),
        matrix(W_q, (4, 32, 128), (4096, 128, 1)),
    )
    # k[h,t,a] = sum[d](W_k[h,a,d] * z[t,d])
    put_einsum(
        matrix(k, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(z, (n, 64, 128), (8192, 128, 1)),
        matrix(W_k, (4, 32, 128), (4096, 128, 1)),
    )
    # sum[a](q[h,t,a] * k[h,s,a])
    put_product(
        matrix(product, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(q, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(k, (4 * n, 32, 64), (2048, 1, 32)),
    )
    free_group_1[(cdiv(256 * n, 16),)](product, weights, n)
    # pull_k[h,t,a] = sum[s](q[h,s,a] * softmax[t | t <= s](gamma * sum[a2](q[h,s,a2] * k[h,t,a2])))
    put_product(
        matrix(pull_k, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(weights, (4 * n, 64, 64), (4096, 1, 64)),
        matrix(q, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # sum[h,a](W_k[h,a,d] * sum[s](q[h,s,a] * softmax[t | t <= s](gamma * sum[a2](q[h,s,a2] * k[h,t,a2]))))
    put_einsum(
        matrix(product_2, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(pull_k, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_k, (128, 4, 32), (1, 4096, 128)),
    )
    # pull_q[h,t,a] = sum[s](k[h,s,a] * softmax[s | s <= t](gamma * sum[a2](q[h,t,a2] * k[h,s,a2])))
    put_product(
        matrix(pull_q, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(weights, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(k, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # sum[h,a](W_q[h,a,d] * sum[s](k[h,s,a] * softmax[s | s <= t](gamma * sum[a2](q[h,t,a2] * k[h,s,a2]))))
    put_einsum(
        matrix(product_2, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(pull_q, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_q, (128, 4, 32), (1, 4096, 128)),
        adds=True,
    )
    # sum[d](W_mem[d,m] * z[t,d])
    put_product(
        matrix(product_3, (64 * n, 512), (512, 1)),
        matrix(z, (64 * n, 128), (128, 1)),
        matrix(W_mem, (128, 512), (512, 1)),
    )
    free_group_2[(cdiv(64 * n, 2),)](product_3, image, n)
    # sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[t,d2])))
    put_product(
        matrix(product_2, (64 * n, 128), (128, 1)),
        matrix(image, (64 * n, 512), (512, 1)),
        matrix(W_mem, (512, 128), (1, 512)),
        adds=True,
        factor=2.0,
    )
    free_group_3[(cdiv(64 * n, 8),)](z, x, product_2, next_z, scalars, n)


@jit
def nudged_group_1(product, weights, samples):
    """weights."""
    real = tl.float32 if weights.dtype.element_ty == tl.bfloat16 else weights.dtype.element_ty
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
    largest_2 = tl.max(tl.where(r <= j, product_here, float("-inf")), 1, keep_dims=True)
    power = tl.where(r <= j, tl.exp(product_here - largest_2), 0.0)
    whole = tl.sum(power, 1, keep_dims=True)
    # softmax[s | s <= t](gamma * sum[a](q[h,t,a] * k[h,s,a]))
    weights_here = tl.where(whole == 0.0, 0.0, power / whole)
    tl.store(weights + 16384 * sample + 4096 * i + 64 * j + r, weights_here, mask=inside)


@jit
def nudged_group_2(product, image, samples):
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
def nudged_group_3(product, label, total, samples):
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
def nudged_group_4(z, x, product, product_2, next_z, scalars, samples):
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
    x_here = tl.load(x + 8192 * sample + 128 * i + r, mask=inside, other=0.0)
    product_here = tl.load(product + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    product_2_here = tl.load(product_2 + 8192 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    next_z_here = z_here + step_z * ((-z_here - (z_here - x_here) + product_here) - beta * product_2_here)
    tl.store(next_z + 8192 * sample + 128 * i + r, next_z_here, mask=inside)


def nudged_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of a nudged phase."""
    z, = now
    next_z, = then
    x, W_k, W_q, W_mem, W_head, label = given
    n = len(z)
    q = room(memory, n, 0, 8192)
    k = room(memory, n, 8192, 8192)
    product = room(memory, n, 16384, 16384)
    weights = room(memory, n, 32768, 16384)
    pull_k = room(memory, n, 16384, 8192)
    product_2 = room(memory, n, 0, 8192)
    pull_q = room(memory, n, 16384, 8192)
    product_3 = room(memory, n, 8192, 32768)
    image = room(memory, n, 40960, 32768)
    product_4 = room(memory, n, 8192, 4160)
    total = room(memory, n, 12352, 4160)
    product_5 = room(memory, n, 16512, 8192)
    # q[h,t,a] = sum[d](W_q[h,a,d] * z[t,d])
    put_einsum(
        matrix(q, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(z, (n, 64, 128), (8192, 128, 1)),
        matrix(W_q, (4, 32, 128), (4096, 128, 1)),
    )
    # k[h,t,a] = sum[d](W_k[h,a,d] * z[t,d])
    put_einsum(
        matrix(k, (n, 4, 64, 32), (8192, 2048, 32, 1)),
        "ace,bde->abcd",
        matrix(z, (n, 64, 128), (8192, 128, 1)),
        matrix(W_k, (4, 32, 128), (4096, 128, 1)),
    )
    # sum[a](q[h,t,a] * k[h,s,a])
    put_product(
        matrix(product, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(q, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(k, (4 * n, 32, 64), (2048, 1, 32)),
    )
    nudged_group_1[(cdiv(256 * n, 16),)](product, weights, n)
    # pull_k[h,t,a] = sum[s](q[h,s,a] * softmax[t | t <= s](gamma * sum[a2](q[h,s,a2] * k[h,t,a2])))
    put_product(
        matrix(pull_k, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(weights, (4 * n, 64, 64), (4096, 1, 64)),
        matrix(q, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # sum[h,a](W_k[h,a,d] * sum[s](q[h,s,a] * softmax[t | t <= s](gamma * sum[a2](q[h,s,a2] * k[h,t,a2]))))
    put_einsum(
        matrix(product_2, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(pull_k, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_k, (128, 4, 32), (1, 4096, 128)),
    )
    # pull_q[h,t,a] = sum[s](k[h,s,a] * softmax[s | s <= t](gamma * sum[a2](q[h,t,a2] * k[h,s,a2])))
    put_product(
        matrix(pull_q, (4 * n, 64, 32), (2048, 32, 1)),
        matrix(weights, (4 * n, 64, 64), (4096, 64, 1)),
        matrix(k, (4 * n, 64, 32), (2048, 32, 1)),
    )
    # sum[h,a](W_q[h,a,d] * sum[s](k[h,s,a] * softmax[s | s <= t](gamma * sum[a2](q[h,t,a2] * k[h,s,a2]))))
    put_einsum(
        matrix(product_2, (n, 64, 128), (8192, 128, 1)),
        "abde,cde->abc",
        matrix(pull_q, (n, 64, 4, 32), (8192, 32, 2048, 1)),
        matrix(W_q, (128, 4, 32), (1, 4096, 128)),
        adds=True,
    )
    # sum[d](W_mem[d,m] * z[t,d])
    put_product(
        matrix(product_3, (64 * n, 512), (512, 1)),
        matrix(z, (64 * n, 128), (128, 1)),
        matrix(W_mem, (128, 512), (512, 1)),
    )
    nudged_group_2[(cdiv(64 * n, 2),)](product_3, image, n)
    # sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[t,d2])))
    put_product(
        matrix(product_2, (64 * n, 128), (128, 1)),
        matrix(image, (64 * n, 512), (512, 1)),
        matrix(W_mem, (512, 128), (1, 512)),
        adds=True,
        factor=2.0,
    )
    # sum[d](W_head[d,w] * z[t,d])
    put_product(
        matrix(product_4, (64 * n, 65), (65, 1)),
        matrix(z, (64 * n, 128), (128, 1)),
        matrix(W_head, (128, 65), (65, 1)),
    )
    nudged_group_3[(cdiv(64 * n, 8),)](product_4, label, total, n)
    # sum[w](W_head[d,w] * (1/T * softmax[w](sum[d2](W_head[d2,w] * z[t,d2])) - 1/T * where(w == label[t], 1, 0)))
    put_product(
        matrix(product_5, (64 * n, 128), (128, 1)),
        matrix(total, (64 * n, 65), (65, 1)),
        matrix(W_head, (65, 128), (1, 65)),
    )
    nudged_group_4[(cdiv(64 * n, 8),)](z, x, product_2, product_5, next_z, scalars, n)


class CetLm(CetLmEquations, KernelNetwork):
    """The network: its equations, relaxed by kernels and learned."""

    learning_rules = (centered_ep, implicit,)
    kernels = TritonKernels(
        {
            "free": PhaseStep(free_step, 73728, matrices={1, 2, 3}),
            "nudged": PhaseStep(nudged_step, 73728, matrices={1, 2, 3, 4}),
        }
    )
