"""cet_lm: Conservative language model: attention as an energy under a causal mask, confinement, memory.

Made by energyc 0.2.0 from cet_lm.energy
SHA-256 of the spec: 8c8cd556d770ee388069dfb29454d7b00f91ce4b07da7693cc1b730a9e36d404
Rules: centered-ep, implicit
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from energyc.runtime.networks.network import EnergyNetwork
from energyc.runtime.rules.centered_ep import centered_ep
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.functions import step
from energyc.runtime.tensors.indexing import positions, scatter_add
from energyc.runtime.tensors.states import Tensors

T, D, H, A, M, V = 64, 128, 4, 32, 512, 65


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
    state_shapes = {"z": (T, D)}
    clamp_shapes = {"idx": ((T,), V)}
    target_shapes = {"label": ((T,), V)}
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
        self.tok = self._param(normal(random, (V, D), 0.02))
        self.pos = self._param(normal(random, (T, D), 0.02))
        self.W_q = self._param(normal(random, (H, A, D), 0.02))
        self.W_k = self._param(normal(random, (H, A, D), 0.02))
        self.W_mem = self._param(normal(random, (D, M), 0.02))
        self.W_head = self._param(normal(random, (D, V), 0.02))
        self._constant("mask", positions(T, 0, 2, self.device) <= positions(T, 1, 2, self.device))

    def _prepare(self, idx: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
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
        energy_input_part = z - fixed.x
        energy_input = 0.5 * (energy_input_part * energy_input_part).sum((1, 2))
        energy_confine = 0.5 * (z * z).sum((1, 2))
        q = torch.einsum("Btd,had->Bhta", z, self.W_q)
        k = torch.einsum("Btd,had->Bhta", z, self.W_k)
        logsumexp = torch.einsum("Bhta,Bhsa->Bhts", q, k).masked_fill_(~self.mask.T, float("-inf")).logsumexp(3)
        energy_att = -logsumexp.sum((1, 2))
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

        dC/dz[t,d] = sum[w](W_head[d,w] * (1/T * softmax[w](sum[d2](W_head[d2,w] * z[t,d2])) - 1/T * where(w ==
            label[t], 1, 0)))
        dC/dW_head[d,w] = sum[t](z[t,d] * (1/T * softmax[w](sum[d2](W_head[d2,w] * z[t,d2])) - 1/T * where(w ==
            label[t], 1, 0)))
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
        (z,) = states
        (cot_z,) = cotangents
        q = torch.einsum("Btd,had->Bhta", z, self.W_q)
        k = torch.einsum("Btd,had->Bhta", z, self.W_k)
        weights = torch.einsum("Bhta,Bhsa->Bhts", q, k).masked_fill_(~self.mask.T, float("-inf")).softmax(3)
        W_q_cot_z = torch.einsum("Btd,had->Btha", cot_z, self.W_q)
        W_k_cot_z = torch.einsum("Btd,had->Btha", cot_z, self.W_k)
        total = torch.einsum("Bhsa,Btha->Bhts", k, W_q_cot_z)
        total += torch.einsum("Bhta,Bsha->Bhts", q, W_k_cot_z)
        product = weights * total
        total_2 = product - weights * product.sum(3)[:, :, :, None]
        pull_k = torch.einsum("Bhst,Bsha->Bhta", weights, W_q_cot_z)
        pull_k += torch.einsum("Bhsa,Bhst->Bhta", q, total_2)
        pull_q = torch.einsum("Bhts,Bsha->Bhta", weights, W_k_cot_z)
        pull_q += torch.einsum("Bhsa,Bhts->Bhta", k, total_2)
        W_mem_z = z @ self.W_mem
        product_2 = step(W_mem_z) * (cot_z @ self.W_mem)
        back_z = torch.einsum("Bhta,had->Btd", pull_k, self.W_k)
        back_z += torch.einsum("Bhta,had->Btd", pull_q, self.W_q)
        back_z.add_(product_2 @ self.W_mem.T, alpha=2)
        back_z.add_(cot_z, alpha=-2)
        if not params:
            return [back_z], {}
        pull_q_2 = torch.einsum("Bhsa,Bhts->Bhta", k, weights)
        pull_k_2 = torch.einsum("Bhsa,Bhst->Bhta", q, weights)
        return [back_z], {
            "tok": scatter_add(cot_z, fixed.idx, V),
            "pos": cot_z.sum(0),
            "W_q": torch.einsum("Bhta,Btd->had", pull_q_2, cot_z) + torch.einsum("Bhta,Btd->had", pull_q, z),
            "W_k": torch.einsum("Bhta,Btd->had", pull_k_2, cot_z) + torch.einsum("Bhta,Btd->had", pull_k, z),
            "W_mem": (
                2 * torch.einsum("Btm,Btd->dm", torch.relu(W_mem_z), cot_z)
                + 2 * torch.einsum("Btd,Btm->dm", z, product_2)
            ),
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
        return {"tok": scatter_add(grad_pos, fixed.idx, V), "pos": grad_pos.sum(0)}


class CetLm(CetLmEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"centered-ep": centered_ep, "implicit": implicit}
