"""et_graph: Energy Transformer, graph classification (Hoover et al. 2023, appendix F).

Made by energyc 0.1.0 from et_graph.energy
SHA-256 of the spec: 173616a3a98c7b0855f7c843c7f86c6498ddbe2fe90df7fdca3ecd0ca7e57649
Rules: bptt
Passes: hoist, share, separate, segments, inplace
Kernels: block_free
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from energyc.runtime.kernels.kernels import KernelNetwork
from energyc.runtime.kernels.triton_functions import block_relu, jit
from energyc.runtime.kernels.triton_kernels import PhaseStep, TritonKernels, cdiv, matrix, put_einsum, put_product, room
from energyc.runtime.networks.layers import EnergyLayer, LayeredNetwork, Visit
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.functions import step
from energyc.runtime.tensors.indexing import positions, windows
from energyc.runtime.tensors.reductions import first_largest, or_zero, softmax
from energyc.runtime.tensors.states import Tensors

try:
    import triton
    import triton.language as tl
except ImportError:
    triton = tl = None


class BlockFixed(NamedTuple):
    """The clamps, noise, t, and what depends on clamps and params alone."""

    adj: Tensor
    weight: Tensor
    stream: Tensor
    eps: Tensor
    t: Tensor
    offset: Tensor
    offset_2: Tensor
    beta_weight_part: Tensor

    def rows(self, rows: Tensor) -> BlockFixed:
        """The same for some of the samples."""
        return self._replace(
            adj=self.adj[rows],
            weight=self.weight[rows],
            stream=self.stream[rows],
            eps=self.eps[rows],
            beta_weight_part=self.beta_weight_part[rows],
        )


class BlockEquations:
    """The layer `block`: states x[N, D].

    Sizes: M = 28, N = 29, F = 7, D = 128, H = 12, Y = 64, K = 512, E = 15, R = 3, L = 2, T = 2, Z = 2, J = 2.

    let g[n,d]   = gamma * layernorm[d](x[n,d]) + delta[d]
    let q[h,n,y] = sum[d](W_q[y,h,d] * g[n,d])
    let k[h,n,y] = sum[d](W_k[y,h,d] * g[n,d])

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "block"
    state_shapes = {"x": (29, 128)}
    clamp_shapes = {"adj": ((29, 29), 2), "weight": ((12, 29, 29), None), "stream": ((29, 128), None)}
    noise_shapes = {"eps": (2, 29, 128)}
    param_attributes = {"beta": "beta_2"}
    term_names = ("att", "mem")
    readout_names = ("x",)
    relax_steps = 2
    relax_step = (0.01,)
    relax_max_steps = 2
    numbered = True
    param_names = ("W_q", "W_k", "xi", "gamma", "delta", "beta")

    def _prepare(self, adj: Tensor, weight: Tensor, stream: Tensor, eps: Tensor) -> BlockFixed:
        """What depends on clamps and params alone."""
        t = torch.tensor(1, device=self.device)
        offset = self.beta_2.reciprocal()
        offset_2 = self.beta_2 ** (-2)
        beta_weight_part = weight * self.beta_2
        return BlockFixed(adj, weight, stream, eps, t, offset, offset_2, beta_weight_part)

    def _start(self, fixed: BlockFixed) -> list[Tensor]:
        """Where the states start."""
        return [fixed.stream]

    def _terms(self, states: Tensors, fixed: BlockFixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy att = -1/beta * sum[h,n](logsumexp[m | m != n and adj[n,m] == 1](beta * weight[h,n,m] * sum[y](k[h,m,y]
            * q[h,n,y])))
        energy mem = -1/2 * sum[n,j](relu(sum[d](xi[j,d] * g[n,d]))^2)
        """
        (x,) = states
        total = x - x.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        g = total * (total_2.rsqrt() * self.gamma)[:, :, None]
        g += self.delta
        q = torch.einsum("Bnd,yhd->Bhny", g, self.W_q)
        k = torch.einsum("Bnd,yhd->Bhny", g, self.W_k)
        level = or_zero(
            (torch.einsum("Bhmy,Bhny->Bhnm", q, k).transpose(2, 3) * fixed.beta_weight_part).masked_fill_(
                ~(
                    (positions(29, 0, 2, self.device) != positions(29, 1, 2, self.device)) & (
                        fixed.adj[:, positions(29, 1, 2, self.device), positions(29, 0, 2, self.device)] == 1
                    )
                ).transpose(1, 2)[:, None],
                float("-inf"),
            ).logsumexp(3)
        )
        energy_att = -(level.sum((1, 2)) * fixed.offset)
        relu = torch.relu_(g @ self.xi.T)
        energy_mem = -0.5 * (relu * relu).sum((1, 2))
        return [energy_att, energy_mem]

    def _force(self, states: Tensors, fixed: BlockFixed) -> list[Tensor]:
        """The force on each state.

        flow x[n,d] = -grad(att + mem, g[n,d]) - eps[t,n,d]
        F_x[n,d] = -(-sum[j](xi[j,d] * relu(sum[d2](xi[j,d2] * g[n,d2]))) - sum[y,h](W_k[y,h,d] * sum[m](q[h,m,y] *
            beta * weight[h,m,n] * softmax[n | n != m and adj[m,n] == 1](beta * weight[h,m,n] * sum[y2](q[h,m,y2] *
            k[h,n,y2])) / beta)) - sum[y,h](W_q[y,h,d] * sum[m](k[h,m,y] * beta * weight[h,n,m] * softmax[m | m != n
            and adj[n,m] == 1](beta * weight[h,n,m] * sum[y2](q[h,n,y2] * k[h,m,y2])) / beta))) - eps[t,n,d]
        """
        (x,) = states
        total = x - x.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        g = total * (total_2.rsqrt() * self.gamma)[:, :, None]
        g += self.delta
        q = torch.einsum("Bnd,yhd->Bhny", g, self.W_q)
        k = torch.einsum("Bnd,yhd->Bhny", g, self.W_k)
        weights = softmax(
            (torch.einsum("Bhmy,Bhny->Bhnm", q, k).transpose(2, 3) * fixed.beta_weight_part).masked_fill_(
                ~(
                    (positions(29, 0, 2, self.device) != positions(29, 1, 2, self.device)) & (
                        fixed.adj[:, positions(29, 1, 2, self.device), positions(29, 0, 2, self.device)] == 1
                    )
                ).transpose(1, 2)[:, None],
                float("-inf"),
            ),
            3,
        )
        product = fixed.beta_weight_part.transpose(2, 3) * (weights * fixed.offset).transpose(2, 3)
        force_x = torch.relu_(g @ self.xi.T) @ self.xi
        force_x += torch.einsum("Bhny,yhd->Bnd", torch.einsum("Bhmy,Bhnm->Bhny", q, product), self.W_k)
        force_x += torch.einsum("Bhny,yhd->Bnd", torch.einsum("Bhmy,Bhmn->Bhny", k, product), self.W_q)
        force_x -= fixed.eps[:, fixed.t]
        return [force_x]

    def _readouts(self, states: Tensors, fixed: BlockFixed) -> list[Tensor]:
        """The answers.

        x
        """
        (x,) = states
        return [x]

    def _force_pullback(
        self, states: Tensors, fixed: BlockFixed, seeds: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T seeds, J = dF/dz; and <seeds, dF/dtheta> summed over the batch."""
        (x,) = states
        (seed_x_2,) = seeds
        total = x - x.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        power = total_2.rsqrt()
        product = power * self.gamma
        g = total * product[:, :, None]
        g += self.delta
        q = torch.einsum("Bnd,yhd->Bhny", g, self.W_q)
        k = torch.einsum("Bnd,yhd->Bhny", g, self.W_k)
        q_k = torch.einsum("Bhmy,Bhny->Bhnm", q, k)
        weights = softmax(
            (q_k.transpose(2, 3) * fixed.beta_weight_part).masked_fill_(
                ~(
                    (positions(29, 0, 2, self.device) != positions(29, 1, 2, self.device)) & (
                        fixed.adj[:, positions(29, 1, 2, self.device), positions(29, 0, 2, self.device)] == 1
                    )
                ).transpose(1, 2)[:, None],
                float("-inf"),
            ),
            3,
        )
        product_2 = weights * fixed.offset
        product_3 = fixed.beta_weight_part.transpose(2, 3) * product_2.transpose(2, 3)
        W_q_seed_x_2 = torch.einsum("Bnd,yhd->Bnhy", seed_x_2, self.W_q)
        W_k_seed_x_2 = torch.einsum("Bnd,yhd->Bnhy", seed_x_2, self.W_k)
        total_3 = -torch.einsum("Bhny,Bmhy->Bhnm", k, W_q_seed_x_2)
        total_3 -= torch.einsum("Bhmy,Bnhy->Bhnm", q, W_k_seed_x_2)
        product_4 = fixed.beta_weight_part * total_3.transpose(2, 3)
        product_5 = weights * (product_4 * fixed.offset)
        total_4 = weights * product_5.sum(3)[:, :, :, None]
        total_4 -= product_5
        product_6 = fixed.beta_weight_part.transpose(2, 3) * total_4.transpose(2, 3)
        pull_k = torch.einsum("Bhnm,Bmhy->Bhny", product_3, W_q_seed_x_2)
        pull_k += torch.einsum("Bhmy,Bhnm->Bhny", q, product_6)
        pull_q = torch.einsum("Bhmn,Bmhy->Bhny", product_3, W_k_seed_x_2)
        pull_q += torch.einsum("Bhmy,Bhmn->Bhny", k, product_6)
        xi_g = g @ self.xi.T
        product_7 = step(xi_g).transpose(1, 2) * (seed_x_2 @ self.xi.T).transpose(1, 2)
        pull_g = torch.einsum("Bhny,yhd->Bnd", pull_k, self.W_k)
        pull_g += torch.einsum("Bhny,yhd->Bnd", pull_q, self.W_q)
        pull_g += torch.einsum("Bjn,jd->Bnd", product_7, self.xi)
        product_8 = (total * pull_g).sum(2)
        total_5 = pull_g * product[:, :, None]
        total_5.add_(total * (total_2 ** (-1.5) * (product_8 * self.gamma))[:, :, None], alpha=-0.0078125)
        back_x = total_5 - total_5.mean(2)[:, :, None]
        if not params:
            return [back_x], {}
        return [back_x], {
            "W_q": (
                torch.einsum("Bhny,Bnd->yhd", torch.einsum("Bhmy,Bhmn->Bhny", k, product_3), seed_x_2)
                + torch.einsum("Bhny,Bnd->yhd", pull_q, g)
            ),
            "W_k": (
                torch.einsum("Bhny,Bnd->yhd", torch.einsum("Bhmy,Bhnm->Bhny", q, product_3), seed_x_2)
                + torch.einsum("Bhny,Bnd->yhd", pull_k, g)
            ),
            "xi": (
                torch.einsum("Bnd,Bnj->jd", seed_x_2, torch.relu(xi_g))
                + torch.einsum("Bnd,Bjn->jd", g, product_7)
            ),
            "gamma": (power * product_8).sum(),
            "delta": pull_g.sum((0, 1)),
            "beta": (
                (fixed.weight * (q_k * total_4.transpose(2, 3)).transpose(2, 3)).sum()
                + (weights * product_4).sum((1, 2, 3)).sum() * fixed.offset_2
                - (fixed.weight * (product_2 * total_3.transpose(2, 3))).sum()
            ),
        }

    def _clamp_gradient(self, states: Tensors, fixed: BlockFixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, dF/dx> for each real clamp."""
        (x,) = states
        (seed_x_2,) = seeds
        total = x - x.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        g = total * (total_2.rsqrt() * self.gamma)[:, :, None]
        g += self.delta
        q = torch.einsum("Bnd,yhd->Bhny", g, self.W_q)
        k = torch.einsum("Bnd,yhd->Bhny", g, self.W_k)
        q_k = torch.einsum("Bhmy,Bhny->Bhnm", q, k)
        weights = softmax(
            (q_k.transpose(2, 3) * fixed.beta_weight_part).masked_fill_(
                ~(
                    (positions(29, 0, 2, self.device) != positions(29, 1, 2, self.device)) & (
                        fixed.adj[:, positions(29, 1, 2, self.device), positions(29, 0, 2, self.device)] == 1
                    )
                ).transpose(1, 2)[:, None],
                float("-inf"),
            ),
            3,
        )
        total_3 = -torch.einsum("Bhny,Bmhy->Bhnm", k, torch.einsum("Bnd,yhd->Bnhy", seed_x_2, self.W_q))
        total_3 -= torch.einsum("Bhmy,Bnhy->Bhnm", q, torch.einsum("Bnd,yhd->Bnhy", seed_x_2, self.W_k))
        product = weights * (fixed.beta_weight_part * total_3.transpose(2, 3) * fixed.offset)
        total_4 = weights * product.sum(3)[:, :, :, None]
        total_4 -= product
        grad_weight = (
            (q_k * total_4.transpose(2, 3) * self.beta_2).transpose(2, 3)
            - weights * fixed.offset * total_3.transpose(2, 3) * self.beta_2
        )
        return {"weight": grad_weight}

    def _start_pullback(self, fixed: BlockFixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, d start> by params and clamps."""
        (seed_x_2,) = seeds
        return {"stream": seed_x_2}

    def _readout_pullback(
        self, states: Tensors, fixed: BlockFixed, seeds: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<seeds, d readouts> by states, and by params and clamps."""
        (seed_x_2,) = seeds
        return [seed_x_2], {}

    def _given(self, name: str, fixed: BlockFixed, targets: Tensors) -> list[Tensor]:
        """What a kernel reads, in its order."""
        if name == "block_free":
            return [
                self.xi,
                self.delta,
                self.gamma,
                self.W_k,
                self.W_q,
                fixed.beta_weight_part,
                fixed.offset,
                fixed.adj,
                fixed.t,
                fixed.eps,
            ]
        raise KeyError(name)

    def _at(self, fixed: BlockFixed, number: int) -> BlockFixed:
        """What is fixed in one step."""
        return fixed._replace(t=torch.tensor(number, device=self.device))

    def _noise(self, random: torch.Generator | None, batch: int) -> list[Tensor]:
        """Noise for each sample, in float64 on the CPU."""
        return [normal(random, (batch, 2, 29, 128), 0.02)]


class EtGraphFixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    feature: Tensor
    adj: Tensor
    eig: Tensor

    def rows(self, rows: Tensor) -> EtGraphFixed:
        """The same for some of the samples."""
        return self._replace(feature=self.feature[rows], adj=self.adj[rows], eig=self.eig[rows])


class EtGraphEquations:
    """What is around block.

    Sizes: M = 28, N = 29, F = 7, D = 128, H = 12, Y = 64, K = 512, E = 15, R = 3, L = 2, T = 2, Z = 2, J = 2.

    let emb[m,d] = sum[f](feature[m,f] * W_in[f,d]) + b_in[d]
    let x0[n,d]  = where(n == 0, CLS[d], emb[n - 1, d]) + sum[e](eig[n,e] * W_pos[e,d]) + b_pos[d]
    let gram[n,m] = sum[d](x0[n,d] * x0[m,d])
    let weight[h, n in N, m in N] = sum[a in R, b in R | 0 <= n + a - 1 < N and 0 <= m + b - 1 < N](
        conv[h,a,b] * gram[n + a - 1, m + b - 1])
    """

    name = "et_graph"
    state_shapes = {"block.x": (2, 29, 128)}
    clamp_shapes = {"feature": ((28, 7), None), "adj": ((29, 29), 2), "eig": ((29, 15), None)}
    target_shapes = {"label": ((), 2)}
    param_attributes = {
        "block.W_q": "block_W_q",
        "block.W_k": "block_W_k",
        "block.xi": "block_xi",
        "block.gamma": "block_gamma",
        "block.delta": "block_delta",
        "block.beta": "block_beta",
    }
    readout_names = ("logits",)
    metric_names = ("accuracy",)
    copies = {"block": 2}
    layer_attributes = {"block": "block"}

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.W_in = self._param(normal(random, (7, 128), 0.02))
        self.CLS = self._param(normal(random, (128,), 0.02))
        self.W_pos = self._param(normal(random, (15, 128), 0.02))
        self.W_out = self._param(normal(random, (128, 2), 0.02))
        self.b_in = self._param(torch.full((128,), 0.0, dtype=torch.float64))
        self.b_pos = self._param(torch.full((128,), 0.0, dtype=torch.float64))
        self.b_out = self._param(torch.full((2,), 0.0, dtype=torch.float64))
        self.conv = self._param(normal(random, (12, 3, 3), 0.02))
        self.block_W_q = self._param(normal(random, (2, 64, 12, 128), 0.08838834764831843))
        self.block_W_k = self._param(normal(random, (2, 64, 12, 128), 0.08838834764831843))
        self.block_xi = self._param(normal(random, (2, 512, 128), 0.08838834764831843))
        self.block_gamma = self._param(torch.full((2,), 1.0, dtype=torch.float64))
        self.block_delta = self._param(torch.full((2, 128), 0.0, dtype=torch.float64))
        self.block_beta = self._param(torch.full((2,), 0.125, dtype=torch.float64))
        self.block = Block(device, dtype)
        self._constant("mask_3", positions(29, 0, 1, self.device) != 0)

    def _prepare(self, feature: Tensor, adj: Tensor, eig: Tensor) -> EtGraphFixed:
        """What depends on clamps and params alone."""
        return EtGraphFixed(feature, adj, eig)

    def _blocks(self, fixed: EtGraphFixed, visit: Visit) -> list[Tensor]:
        """The blocks in a row; ``visit`` relaxes a layer. Returns what the answers read of them.

        next stream[n,d] = block.x[n,d]
        """
        emb = fixed.feature @ self.W_in + self.b_in
        x0 = (
            fixed.eig @ self.W_pos
            + windows(emb, 1, -1, (29,), (1,)) * self.mask_3.to(self.dtype)[:, None]
            + F.pad(self.CLS[..., None], (0, 28)).T
            + self.b_pos
        )
        stream = x0
        gram = torch.einsum("Bnd,Bmd->Bnm", x0, x0)
        weight = torch.einsum(
            "Bnamb,hab->Bhnm",
            windows(windows(gram, 1, -1, (29, 3), (1, 1)), 3, -1, (29, 3), (1, 1)),
            self.conv,
        )
        for number in range(2):
            (block_x,) = visit(
                self.block,
                number,
                [fixed.adj, weight, stream],
                [
                    self.block_W_q[number],
                    self.block_W_k[number],
                    self.block_xi[number],
                    self.block_gamma[number],
                    self.block_delta[number],
                    self.block_beta[number],
                ],
            )
            stream = block_x
        return [stream]

    def _readouts(self, states: Tensors, fixed: EtGraphFixed) -> list[Tensor]:
        """The answers.

        readout logits[z] = sum[d](stream[0,d] * W_out[d,z]) + b_out[z]
        """
        (stream,) = states
        logits = (self.W_out.T @ stream[:, 0].T).T + self.b_out
        return [logits]

    def _cost(self, states: Tensors, fixed: EtGraphFixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost ce = cross_entropy[z](logits[z], label)
        """
        (stream,) = states
        (label,) = targets
        total = (self.W_out.T @ stream[:, 0].T).T + self.b_out
        level = total.logsumexp(1)
        cost = level - total.take_along_dim(label[:, None], 1).squeeze(1)
        return [cost]

    def _metrics(self, states: Tensors, fixed: EtGraphFixed, targets: Tensors) -> list[Tensor]:
        """What is only reported.

        metric accuracy = correct[z](logits[z], label)
        """
        (stream,) = states
        (label,) = targets
        total = (self.W_out.T @ stream[:, 0].T).T + self.b_out
        part = first_largest(total, 1)
        accuracy = part.take_along_dim(label[:, None], 1).squeeze(1)
        return [accuracy]


@jit
def block_free_group_1(x, delta, gamma, g, samples):
    """g."""
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 29 * samples
    sample = place // 29
    i = place % 29
    r = tl.arange(0, 128)[None, :]
    # sum[d](x[n,d])
    x_here = tl.load(x + 3712 * sample + 128 * i + r, mask=inside, other=0.0)
    total = tl.sum(x_here, 1, keep_dims=True)
    # x[n,d] - mean[d2](x[n,d2])
    total_2 = x_here + (-0.0078125 * total)
    # sum[d]((x[n,d] - mean[d2](x[n,d2]))^2)
    total_3 = tl.sum(total_2 * total_2, 1, keep_dims=True)
    # g[n,d] = delta[d] + (x[n,d] - mean[d2](x[n,d2])) * gamma / sqrt(mean[d2]((x[n,d2] - mean[d3](x[n,d3]))^2) +
    #   1e-5)
    delta_here = tl.load(delta + r)
    gamma_here = tl.load(gamma)
    g_here = delta_here + total_2 * (gamma_here * (1.0 / (tl.sqrt(0.0078125 * total_3 + 1e-05 * 1.0))))
    tl.store(g + 3712 * sample + 128 * i + r, g_here, mask=inside)


@jit
def block_free_group_2(product, image, samples):
    """image."""
    real = tl.float32 if image.dtype.element_ty == tl.bfloat16 else image.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 2 + tl.arange(0, 2)[:, None]
    inside = place < 29 * samples
    sample = place // 29
    i = place % 29
    r = tl.arange(0, 512)[None, :]
    # relu(sum[d](xi[j,d] * (delta[d] + (x[n,d] - mean[d2](x[n,d2])) * gamma / sqrt(mean[d2]((x[n,d2] -
    #   mean[d3](x[n,d3]))^2) + 1e-5))))
    product_here = tl.load(product + 14848 * sample + 512 * i + r, mask=inside, other=0.0).to(real)
    image_here = block_relu(product_here)
    tl.store(image + 14848 * sample + 512 * i + r, image_here, mask=inside)


@jit
def block_free_group_3(product, beta_weight_part, adj, offset, total, samples):
    """total."""
    real = offset.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 32 + tl.arange(0, 32)[:, None]
    inside = place < 348 * samples
    sample = place // 348
    i = place // 29 % 12
    j = place % 29
    r = tl.arange(0, 32)[None, :]
    # sum[y](sum[d](W_q[y,h,d] * (delta[d] + (x[n,d] - mean[d2](x[n,d2])) * gamma / sqrt(mean[d2]((x[n,d2] -
    #   mean[d3](x[n,d3]))^2) + 1e-5))) * sum[d](W_k[y,h,d] * (delta[d] + (x[m,d] - mean[d2](x[m,d2])) * gamma /
    #   sqrt(mean[d2]((x[m,d2] - mean[d3](x[m,d3]))^2) + 1e-5)))) * beta * weight[h,n,m]
    product_here = tl.load(
        product + 10092 * sample + 841 * i + 29 * j + r,
        mask=inside & (r < 29),
        other=0.0,
    ).to(real)
    beta_weight_part_here = tl.load(
        beta_weight_part + 10092 * sample + 841 * i + 29 * j + r,
        mask=inside & (r < 29),
        other=0.0,
    )
    total_2 = product_here * beta_weight_part_here
    adj_here = tl.load(adj + 841 * sample + 29 * j + r, mask=inside & (r < 29) & (r != j), other=0)
    largest_2 = tl.max(
        tl.where(inside & (r < 29), tl.where((r != j) & (adj_here == 1), total_2, float("-inf")), float("-inf")),
        1,
        keep_dims=True,
    )
    power = tl.where((r != j) & (adj_here == 1), tl.exp(total_2 - largest_2), 0.0)
    whole = tl.sum(tl.where(inside & (r < 29), power, 0.0), 1, keep_dims=True)
    # softmax[m | m != n and adj[n,m] == 1](sum[y](sum[d](W_q[y,h,d] * (delta[d] + (x[n,d] - mean[d2](x[n,d2])) *
    #   gamma / sqrt(mean[d2]((x[n,d2] - mean[d3](x[n,d3]))^2) + 1e-5))) * sum[d](W_k[y,h,d] * (delta[d] + (x[m,d] -
    #   mean[d2](x[m,d2])) * gamma / sqrt(mean[d2]((x[m,d2] - mean[d3](x[m,d3]))^2) + 1e-5)))) * beta *
    #   weight[h,n,m])
    weights = tl.where(whole == 0.0, 0.0, power / whole)
    # beta * weight[h,m,n] * softmax[n | n != m and adj[m,n] == 1](sum[y](sum[d](W_q[y,h,d] * (delta[d] + (x[m,d] -
    #   mean[d2](x[m,d2])) * gamma / sqrt(mean[d2]((x[m,d2] - mean[d3](x[m,d3]))^2) + 1e-5))) * sum[d](W_k[y,h,d] *
    #   (delta[d] + (x[n,d] - mean[d2](x[n,d2])) * gamma / sqrt(mean[d2]((x[n,d2] - mean[d3](x[n,d3]))^2) + 1e-5))))
    #   * beta * weight[h,m,n]) / beta
    offset_here = tl.load(offset)
    total_here = beta_weight_part_here * (offset_here * weights)
    tl.store(total + 10092 * sample + 841 * i + 29 * j + r, total_here, mask=inside & (r < 29))


@jit
def block_free_group_4(x, product, eps, t, next_x, scalars, samples):
    """next_x."""
    real = next_x.dtype.element_ty
    place = tl.program_id(0).to(tl.int64) * 8 + tl.arange(0, 8)[:, None]
    inside = place < 29 * samples
    sample = place // 29
    i = place % 29
    step_x = tl.load(scalars)
    r = tl.arange(0, 128)[None, :]
    x_here = tl.load(x + 3712 * sample + 128 * i + r, mask=inside, other=0.0)
    product_here = tl.load(product + 3712 * sample + 128 * i + r, mask=inside, other=0.0).to(real)
    t_here = tl.load(t)
    eps_here = tl.load(
        eps + 7424 * sample + 3712 * t_here + 128 * i + r,
        mask=inside & ((t_here >= 0) & (t_here < 2)),
        other=0.0,
    )
    next_x_here = x_here + step_x * (-product_here - tl.where((t_here >= 0) & (t_here < 2), eps_here, 0.0))
    tl.store(next_x + 3712 * sample + 128 * i + r, next_x_here, mask=inside)


def block_free_step(now: Tensors, then: Tensors, given: Tensors, scalars: Tensor, memory: Tensor) -> None:
    """A step of the free phase."""
    x, = now
    next_x, = then
    xi, delta, gamma, W_k, W_q, beta_weight_part, offset, adj, t, eps = given
    n = len(x)
    g = room(memory, n, 0, 3712)
    product = room(memory, n, 3712, 14848)
    image = room(memory, n, 18560, 14848)
    product_2 = room(memory, n, 3712, 3712)
    q = room(memory, n, 7424, 22272)
    k = room(memory, n, 29696, 22272)
    product_3 = room(memory, n, 51968, 10092)
    total = room(memory, n, 62064, 10092)
    product_4 = room(memory, n, 72160, 22272)
    product_5 = room(memory, n, 7424, 22272)
    block_free_group_1[(cdiv(29 * n, 8),)](x, delta, gamma, g, n)
    # sum[d](xi[j,d] * (delta[d] + (x[n,d] - mean[d2](x[n,d2])) * gamma / sqrt(mean[d2]((x[n,d2] -
    #   mean[d3](x[n,d3]))^2) + 1e-5)))
    put_product(
        matrix(product, (29 * n, 512), (512, 1)),
        matrix(g, (29 * n, 128), (128, 1)),
        matrix(xi, (128, 512), (1, 128)),
    )
    block_free_group_2[(cdiv(29 * n, 2),)](product, image, n)
    # sum[j](xi[j,d] * relu(sum[d2](xi[j,d2] * (delta[d2] + (x[n,d2] - mean[d3](x[n,d3])) * gamma /
    #   sqrt(mean[d3]((x[n,d3] - mean[d4](x[n,d4]))^2) + 1e-5)))))
    put_product(
        matrix(product_2, (29 * n, 128), (128, 1)),
        matrix(image, (29 * n, 512), (512, 1)),
        matrix(xi, (512, 128), (128, 1)),
        factor=-1.0,
    )
    # q[h,n,y] = sum[d](W_q[y,h,d] * (delta[d] + (x[n,d] - mean[d2](x[n,d2])) * gamma / sqrt(mean[d2]((x[n,d2] -
    #   mean[d3](x[n,d3]))^2) + 1e-5)))
    put_einsum(
        matrix(q, (n, 12, 29, 64), (22272, 1856, 64, 1)),
        "ace,bde->abcd",
        matrix(g, (n, 29, 128), (3712, 128, 1)),
        matrix(W_q, (12, 64, 128), (128, 1536, 1)),
    )
    # k[h,n,y] = sum[d](W_k[y,h,d] * (delta[d] + (x[n,d] - mean[d2](x[n,d2])) * gamma / sqrt(mean[d2]((x[n,d2] -
    #   mean[d3](x[n,d3]))^2) + 1e-5)))
    put_einsum(
        matrix(k, (n, 12, 29, 64), (22272, 1856, 64, 1)),
        "ace,bde->abcd",
        matrix(g, (n, 29, 128), (3712, 128, 1)),
        matrix(W_k, (12, 64, 128), (128, 1536, 1)),
    )
    # sum[y](sum[d](W_q[y,h,d] * (delta[d] + (x[m,d] - mean[d2](x[m,d2])) * gamma / sqrt(mean[d2]((x[m,d2] -
    #   mean[d3](x[m,d3]))^2) + 1e-5))) * sum[d](W_k[y,h,d] * (delta[d] + (x[n,d] - mean[d2](x[n,d2])) * gamma /
    #   sqrt(mean[d2]((x[n,d2] - mean[d3](x[n,d3]))^2) + 1e-5))))
    put_product(
        matrix(product_3, (12 * n, 29, 29), (841, 29, 1)),
        matrix(q, (12 * n, 29, 64), (1856, 64, 1)),
        matrix(k, (12 * n, 64, 29), (1856, 1, 64)),
    )
    block_free_group_3[(cdiv(348 * n, 32),)](product_3, beta_weight_part, adj, offset, total, n)
    # sum[m](sum[d](W_q[y,h,d] * (delta[d] + (x[m,d] - mean[d2](x[m,d2])) * gamma / sqrt(mean[d2]((x[m,d2] -
    #   mean[d3](x[m,d3]))^2) + 1e-5))) * beta * weight[h,m,n] * softmax[n | n != m and adj[m,n] ==
    #   1](sum[y2](sum[d](W_q[y2,h,d] * (delta[d] + (x[m,d] - mean[d2](x[m,d2])) * gamma / sqrt(mean[d2]((x[m,d2] -
    #   mean[d3](x[m,d3]))^2) + 1e-5))) * sum[d](W_k[y2,h,d] * (delta[d] + (x[n,d] - mean[d2](x[n,d2])) * gamma /
    #   sqrt(mean[d2]((x[n,d2] - mean[d3](x[n,d3]))^2) + 1e-5)))) * beta * weight[h,m,n]) / beta)
    put_product(
        matrix(product_4, (12 * n, 29, 64), (1856, 64, 1)),
        matrix(total, (12 * n, 29, 29), (841, 1, 29)),
        matrix(q, (12 * n, 29, 64), (1856, 64, 1)),
    )
    # sum[y,h](W_k[y,h,d] * sum[m](sum[d2](W_q[y,h,d2] * (delta[d2] + (x[m,d2] - mean[d3](x[m,d3])) * gamma /
    #   sqrt(mean[d3]((x[m,d3] - mean[d4](x[m,d4]))^2) + 1e-5))) * beta * weight[h,m,n] * softmax[n | n != m and
    #   adj[m,n] == 1](sum[y2](sum[d2](W_q[y2,h,d2] * (delta[d2] + (x[m,d2] - mean[d3](x[m,d3])) * gamma /
    #   sqrt(mean[d3]((x[m,d3] - mean[d4](x[m,d4]))^2) + 1e-5))) * sum[d2](W_k[y2,h,d2] * (delta[d2] + (x[n,d2] -
    #   mean[d3](x[n,d3])) * gamma / sqrt(mean[d3]((x[n,d3] - mean[d4](x[n,d4]))^2) + 1e-5)))) * beta *
    #   weight[h,m,n]) / beta))
    put_einsum(
        matrix(product_2, (n, 29, 128), (3712, 128, 1)),
        "abde,cde->abc",
        matrix(product_4, (n, 29, 12, 64), (22272, 64, 1856, 1)),
        matrix(W_k, (128, 12, 64), (1, 128, 1536)),
        adds=True,
        factor=-1.0,
    )
    # sum[m](sum[d](W_k[y,h,d] * (delta[d] + (x[m,d] - mean[d2](x[m,d2])) * gamma / sqrt(mean[d2]((x[m,d2] -
    #   mean[d3](x[m,d3]))^2) + 1e-5))) * beta * weight[h,n,m] * softmax[m | m != n and adj[n,m] ==
    #   1](sum[y2](sum[d](W_q[y2,h,d] * (delta[d] + (x[n,d] - mean[d2](x[n,d2])) * gamma / sqrt(mean[d2]((x[n,d2] -
    #   mean[d3](x[n,d3]))^2) + 1e-5))) * sum[d](W_k[y2,h,d] * (delta[d] + (x[m,d] - mean[d2](x[m,d2])) * gamma /
    #   sqrt(mean[d2]((x[m,d2] - mean[d3](x[m,d3]))^2) + 1e-5)))) * beta * weight[h,n,m]) / beta)
    put_product(
        matrix(product_5, (12 * n, 29, 64), (1856, 64, 1)),
        matrix(total, (12 * n, 29, 29), (841, 29, 1)),
        matrix(k, (12 * n, 29, 64), (1856, 64, 1)),
    )
    # sum[y,h](W_q[y,h,d] * sum[m](sum[d2](W_k[y,h,d2] * (delta[d2] + (x[m,d2] - mean[d3](x[m,d3])) * gamma /
    #   sqrt(mean[d3]((x[m,d3] - mean[d4](x[m,d4]))^2) + 1e-5))) * beta * weight[h,n,m] * softmax[m | m != n and
    #   adj[n,m] == 1](sum[y2](sum[d2](W_q[y2,h,d2] * (delta[d2] + (x[n,d2] - mean[d3](x[n,d3])) * gamma /
    #   sqrt(mean[d3]((x[n,d3] - mean[d4](x[n,d4]))^2) + 1e-5))) * sum[d2](W_k[y2,h,d2] * (delta[d2] + (x[m,d2] -
    #   mean[d3](x[m,d3])) * gamma / sqrt(mean[d3]((x[m,d3] - mean[d4](x[m,d4]))^2) + 1e-5)))) * beta *
    #   weight[h,n,m]) / beta))
    put_einsum(
        matrix(product_2, (n, 29, 128), (3712, 128, 1)),
        "abde,cde->abc",
        matrix(product_5, (n, 29, 12, 64), (22272, 64, 1856, 1)),
        matrix(W_q, (128, 12, 64), (1, 128, 1536)),
        adds=True,
        factor=-1.0,
    )
    block_free_group_4[(cdiv(29 * n, 8),)](x, product_2, eps, t, next_x, scalars, n)


#: The kernels of the layers.
KERNELS = TritonKernels({"block_free": PhaseStep(block_free_step, 94432, number=8, matrices={0, 3, 4})})


class Block(BlockEquations, KernelNetwork, EnergyLayer):
    """The layer `block`, relaxed by kernels."""

    kernels = KERNELS
    _kernel_prefix = "block_"


class EtGraph(EtGraphEquations, LayeredNetwork):
    """The network: its layers in a row, relaxed and learned."""

    rules = ("bptt",)
