"""et_graph: Energy Transformer, graph classification (Hoover et al. 2023, appendix F).

Made by energyc 0.2.0 from et_graph.energy
SHA-256 of the spec: 173616a3a98c7b0855f7c843c7f86c6498ddbe2fe90df7fdca3ecd0ca7e57649
Rules: bptt
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from energyc.runtime.networks.layers import EnergyLayer, LayeredNetwork, Visit
from energyc.runtime.tensors.draws import normal
from energyc.runtime.tensors.functions import step
from energyc.runtime.tensors.indexing import positions, windows
from energyc.runtime.tensors.reductions import first_largest, or_zero, softmax
from energyc.runtime.tensors.states import Tensors

M, N, F_2, D, H, Y, K, E = 28, 29, 7, 128, 12, 64, 512, 15
R, L, T, Z, J = 3, 2, 2, 2, 2


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


class BlockLets(NamedTuple):
    """The lets at some states, and parts of them."""

    x_centered: Tensor
    x_variance: Tensor
    x_variance_rsqrt: Tensor
    g_part: Tensor
    g: Tensor
    q: Tensor
    k: Tensor


class BlockEquations:
    """The layer `block`: states x[N, D].

    Sizes: M = 28, N = 29, F = 7, D = 128, H = 12, Y = 64, K = 512, E = 15, R = 3, L = 2, T = 2, Z = 2, J = 2.

    let g[n,d]   = gamma * layernorm[d](x[n,d]) + delta[d]
    let q[h,n,y] = sum[d](W_q[y,h,d] * g[n,d])
    let k[h,n,y] = sum[d](W_k[y,h,d] * g[n,d])

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "block"
    state_shapes = {"x": (N, D)}
    clamp_shapes = {"adj": ((N, N), J), "weight": ((H, N, N), None), "stream": ((N, D), None)}
    noise_shapes = {"eps": (T, N, D)}
    param_attributes = {"beta": "beta_2"}
    term_names = ("att", "mem")
    readout_names = ("x",)
    relax_steps = 2
    relax_step = (0.01,)
    relax_max_steps = 2
    numbered = True
    summed = ("weight", "stream")
    param_names = ("W_q", "W_k", "xi", "gamma", "delta", "beta")

    def _prepare(self, adj: Tensor, weight: Tensor, stream: Tensor, eps: Tensor) -> BlockFixed:
        """The quantities that depend on clamps and params alone."""
        t = torch.tensor(1, device=self.device)
        offset = self.beta_2.reciprocal()
        offset_2 = self.beta_2 ** -2
        beta_weight_part = weight * self.beta_2
        return BlockFixed(adj, weight, stream, eps, t, offset, offset_2, beta_weight_part)

    def _lets(self, states: Tensors, fixed: BlockFixed) -> BlockLets:
        """The lets, and parts of them, that _terms, _force, _force_vjp, _clamp_gradient and _step_vjp share."""
        (x,) = states
        x_centered = x - x.mean(2)[:, :, None]
        x_variance = (x_centered * x_centered).mean(2)
        x_variance += 1e-05
        x_variance_rsqrt = x_variance.rsqrt()
        g_part = x_variance_rsqrt * self.gamma
        g = x_centered * g_part[:, :, None]
        g += self.delta
        q = torch.einsum("Bnd,yhd->Bhny", g, self.W_q)
        k = torch.einsum("Bnd,yhd->Bhny", g, self.W_k)
        return BlockLets(x_centered, x_variance, x_variance_rsqrt, g_part, g, q, k)

    def _start(self, fixed: BlockFixed) -> list[Tensor]:
        """Where the states start."""
        return [fixed.stream]

    def _terms(self, states: Tensors, fixed: BlockFixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy att = -1/beta * sum[h,n](logsumexp[m | m != n and adj[n,m] == 1](beta * weight[h,n,m] * sum[y](k[h,m,y]
            * q[h,n,y])))
        energy mem = -1/2 * sum[n,j](relu(sum[d](xi[j,d] * g[n,d]))^2)
        """
        lets = self._lets(states, fixed)
        logsumexp = or_zero(
            (torch.einsum("Bhmy,Bhny->Bhnm", lets.q, lets.k).transpose(2, 3) * fixed.beta_weight_part).masked_fill_(
                ~(
                    (positions(N, 0, 2, self.device) != positions(N, 1, 2, self.device)) & (
                        fixed.adj[:, positions(N, 1, 2, self.device), positions(N, 0, 2, self.device)] == 1
                    )
                ).transpose(1, 2)[:, None],
                float("-inf"),
            ).logsumexp(3)
        )
        energy_att = -(logsumexp.sum((1, 2)) * fixed.offset)
        relu = torch.relu_(lets.g @ self.xi.T)
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
        lets = self._lets(states, fixed)
        weights = softmax(
            (torch.einsum("Bhmy,Bhny->Bhnm", lets.q, lets.k).transpose(2, 3) * fixed.beta_weight_part).masked_fill_(
                ~(
                    (positions(N, 0, 2, self.device) != positions(N, 1, 2, self.device)) & (
                        fixed.adj[:, positions(N, 1, 2, self.device), positions(N, 0, 2, self.device)] == 1
                    )
                ).transpose(1, 2)[:, None],
                float("-inf"),
            ),
            3,
        )
        force_x_part = fixed.beta_weight_part.transpose(2, 3) * (weights * fixed.offset).transpose(2, 3)
        force_x = torch.relu_(lets.g @ self.xi.T) @ self.xi
        force_x += torch.einsum("Bhny,yhd->Bnd", torch.einsum("Bhmy,Bhnm->Bhny", lets.q, force_x_part), self.W_k)
        force_x += torch.einsum("Bhny,yhd->Bnd", torch.einsum("Bhmy,Bhmn->Bhny", lets.k, force_x_part), self.W_q)
        force_x -= fixed.eps[:, fixed.t]
        return [force_x]

    def _readouts(self, states: Tensors, fixed: BlockFixed) -> list[Tensor]:
        """The readouts.

        x
        """
        (x,) = states
        return [x]

    def _force_vjp(
        self, states: Tensors, fixed: BlockFixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (cot_x_2,) = cotangents
        lets = self._lets(states, fixed)
        q_k = torch.einsum("Bhmy,Bhny->Bhnm", lets.q, lets.k)
        weights = softmax(
            (q_k.transpose(2, 3) * fixed.beta_weight_part).masked_fill_(
                ~(
                    (positions(N, 0, 2, self.device) != positions(N, 1, 2, self.device)) & (
                        fixed.adj[:, positions(N, 1, 2, self.device), positions(N, 0, 2, self.device)] == 1
                    )
                ).transpose(1, 2)[:, None],
                float("-inf"),
            ),
            3,
        )
        product = weights * fixed.offset
        product_2 = fixed.beta_weight_part.transpose(2, 3) * product.transpose(2, 3)
        W_q_cot_x_2 = torch.einsum("Bnd,yhd->Bnhy", cot_x_2, self.W_q)
        W_k_cot_x_2 = torch.einsum("Bnd,yhd->Bnhy", cot_x_2, self.W_k)
        total = -torch.einsum("Bhny,Bmhy->Bhnm", lets.k, W_q_cot_x_2)
        total -= torch.einsum("Bhmy,Bnhy->Bhnm", lets.q, W_k_cot_x_2)
        product_3 = fixed.beta_weight_part * total.transpose(2, 3)
        product_4 = weights * (product_3 * fixed.offset)
        total_2 = weights * product_4.sum(3)[:, :, :, None]
        total_2 -= product_4
        product_5 = fixed.beta_weight_part.transpose(2, 3) * total_2.transpose(2, 3)
        pull_k = torch.einsum("Bhnm,Bmhy->Bhny", product_2, W_q_cot_x_2)
        pull_k += torch.einsum("Bhmy,Bhnm->Bhny", lets.q, product_5)
        pull_q = torch.einsum("Bhmn,Bmhy->Bhny", product_2, W_k_cot_x_2)
        pull_q += torch.einsum("Bhmy,Bhmn->Bhny", lets.k, product_5)
        xi_g = lets.g @ self.xi.T
        product_6 = step(xi_g).transpose(1, 2) * (cot_x_2 @ self.xi.T).transpose(1, 2)
        pull_g = torch.einsum("Bhny,yhd->Bnd", pull_k, self.W_k)
        pull_g += torch.einsum("Bhny,yhd->Bnd", pull_q, self.W_q)
        pull_g += torch.einsum("Bjn,jd->Bnd", product_6, self.xi)
        product_7 = (lets.x_centered * pull_g).sum(2)
        back_x_part = pull_g * lets.g_part[:, :, None]
        back_x_part.add_(
            lets.x_centered * (lets.x_variance ** -1.5 * (product_7 * self.gamma))[:, :, None],
            alpha=-1 / D,
        )
        back_x = back_x_part - back_x_part.mean(2)[:, :, None]
        if not params:
            return [back_x], {}
        return [back_x], {
            "W_q": (
                torch.einsum("Bhny,Bnd->yhd", torch.einsum("Bhmy,Bhmn->Bhny", lets.k, product_2), cot_x_2)
                + torch.einsum("Bhny,Bnd->yhd", pull_q, lets.g)
            ),
            "W_k": (
                torch.einsum("Bhny,Bnd->yhd", torch.einsum("Bhmy,Bhnm->Bhny", lets.q, product_2), cot_x_2)
                + torch.einsum("Bhny,Bnd->yhd", pull_k, lets.g)
            ),
            "xi": (
                torch.einsum("Bnd,Bnj->jd", cot_x_2, torch.relu(xi_g))
                + torch.einsum("Bnd,Bjn->jd", lets.g, product_6)
            ),
            "gamma": (lets.x_variance_rsqrt * product_7).sum(),
            "delta": pull_g.sum((0, 1)),
            "beta": (
                (fixed.weight * (q_k * total_2.transpose(2, 3)).transpose(2, 3)).sum()
                + (weights * product_3).sum((1, 2, 3)).sum() * fixed.offset_2
                - (fixed.weight * (product * total.transpose(2, 3))).sum()
            ),
        }

    def _clamp_gradient(self, states: Tensors, fixed: BlockFixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for each real clamp."""
        (cot_x_2,) = cotangents
        lets = self._lets(states, fixed)
        q_k = torch.einsum("Bhmy,Bhny->Bhnm", lets.q, lets.k)
        weights = softmax(
            (q_k.transpose(2, 3) * fixed.beta_weight_part).masked_fill_(
                ~(
                    (positions(N, 0, 2, self.device) != positions(N, 1, 2, self.device)) & (
                        fixed.adj[:, positions(N, 1, 2, self.device), positions(N, 0, 2, self.device)] == 1
                    )
                ).transpose(1, 2)[:, None],
                float("-inf"),
            ),
            3,
        )
        grad_weight_part = -torch.einsum(
            "Bhny,Bmhy->Bhnm",
            lets.k,
            torch.einsum("Bnd,yhd->Bnhy", cot_x_2, self.W_q),
        )
        grad_weight_part -= torch.einsum(
            "Bhmy,Bnhy->Bhnm",
            lets.q,
            torch.einsum("Bnd,yhd->Bnhy", cot_x_2, self.W_k),
        )
        grad_weight_part_2 = weights * (fixed.beta_weight_part * grad_weight_part.transpose(2, 3) * fixed.offset)
        grad_weight_part_3 = weights * grad_weight_part_2.sum(3)[:, :, :, None]
        grad_weight_part_3 -= grad_weight_part_2
        grad_weight = (
            (q_k * grad_weight_part_3.transpose(2, 3) * self.beta_2).transpose(2, 3)
            - weights * fixed.offset * grad_weight_part.transpose(2, 3) * self.beta_2
        )
        return {"weight": grad_weight}

    def _start_vjp(self, fixed: BlockFixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, d start> by params and clamps."""
        (cot_x_2,) = cotangents
        return {"stream": cot_x_2}

    def _readout_vjp(
        self, states: Tensors, fixed: BlockFixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (cot_x_2,) = cotangents
        return [cot_x_2], {}

    def _step_vjp(
        self, states: Tensors, fixed: BlockFixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, and what is added up over steps; <cotangents, dF/dtheta> of the others, summed."""
        (cot_x_2,) = cotangents
        lets = self._lets(states, fixed)
        q_k = torch.einsum("Bhmy,Bhny->Bhnm", lets.q, lets.k)
        weights = softmax(
            (q_k.transpose(2, 3) * fixed.beta_weight_part).masked_fill_(
                ~(
                    (positions(N, 0, 2, self.device) != positions(N, 1, 2, self.device)) & (
                        fixed.adj[:, positions(N, 1, 2, self.device), positions(N, 0, 2, self.device)] == 1
                    )
                ).transpose(1, 2)[:, None],
                float("-inf"),
            ),
            3,
        )
        product = weights * fixed.offset
        product_2 = fixed.beta_weight_part.transpose(2, 3) * product.transpose(2, 3)
        W_q_cot_x_2 = torch.einsum("Bnd,yhd->Bnhy", cot_x_2, self.W_q)
        W_k_cot_x_2 = torch.einsum("Bnd,yhd->Bnhy", cot_x_2, self.W_k)
        total = -torch.einsum("Bhny,Bmhy->Bhnm", lets.k, W_q_cot_x_2)
        total -= torch.einsum("Bhmy,Bnhy->Bhnm", lets.q, W_k_cot_x_2)
        product_3 = fixed.beta_weight_part * total.transpose(2, 3)
        product_4 = weights * (product_3 * fixed.offset)
        total_2 = weights * product_4.sum(3)[:, :, :, None]
        total_2 -= product_4
        product_5 = fixed.beta_weight_part.transpose(2, 3) * total_2.transpose(2, 3)
        pull_k = torch.einsum("Bhnm,Bmhy->Bhny", product_2, W_q_cot_x_2)
        pull_k += torch.einsum("Bhmy,Bhnm->Bhny", lets.q, product_5)
        pull_q = torch.einsum("Bhmn,Bmhy->Bhny", product_2, W_k_cot_x_2)
        pull_q += torch.einsum("Bhmy,Bhmn->Bhny", lets.k, product_5)
        xi_g = lets.g @ self.xi.T
        product_6 = step(xi_g).transpose(1, 2) * (cot_x_2 @ self.xi.T).transpose(1, 2)
        pull_g = torch.einsum("Bhny,yhd->Bnd", pull_k, self.W_k)
        pull_g += torch.einsum("Bhny,yhd->Bnd", pull_q, self.W_q)
        pull_g += torch.einsum("Bjn,jd->Bnd", product_6, self.xi)
        product_7 = (lets.x_centered * pull_g).sum(2)
        back_x_part = pull_g * lets.g_part[:, :, None]
        back_x_part.add_(
            lets.x_centered * (lets.x_variance ** -1.5 * (product_7 * self.gamma))[:, :, None],
            alpha=-1 / D,
        )
        back_x = back_x_part - back_x_part.mean(2)[:, :, None]
        product_8 = product * total.transpose(2, 3)
        product_9 = q_k * total_2.transpose(2, 3)
        part = (product_9 * self.beta_2).transpose(2, 3) - product_8 * self.beta_2
        return [back_x, part], {
            "W_q": (
                torch.einsum("Bhny,Bnd->yhd", torch.einsum("Bhmy,Bhmn->Bhny", lets.k, product_2), cot_x_2)
                + torch.einsum("Bhny,Bnd->yhd", pull_q, lets.g)
            ),
            "W_k": (
                torch.einsum("Bhny,Bnd->yhd", torch.einsum("Bhmy,Bhnm->Bhny", lets.q, product_2), cot_x_2)
                + torch.einsum("Bhny,Bnd->yhd", pull_k, lets.g)
            ),
            "xi": (
                torch.einsum("Bnd,Bnj->jd", cot_x_2, torch.relu(xi_g))
                + torch.einsum("Bnd,Bjn->jd", lets.g, product_6)
            ),
            "gamma": (lets.x_variance_rsqrt * product_7).sum(),
            "delta": pull_g.sum((0, 1)),
            "beta": (
                (fixed.weight * product_9.transpose(2, 3)).sum()
                + (weights * product_3).sum((1, 2, 3)).sum() * fixed.offset_2
                - (fixed.weight * product_8).sum()
            ),
        }

    def _sums_clamp_gradient(self, fixed: BlockFixed, sums: Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for real clamps, summed over steps."""
        (sum_part,) = sums
        return {"weight": sum_part}

    def _at(self, fixed: BlockFixed, number: int) -> BlockFixed:
        """The quantities that are fixed in one step."""
        return fixed._replace(t=torch.tensor(number, device=self.device))

    def _noise(self, random: torch.Generator | None, batch: int) -> list[Tensor]:
        """Noise for each sample, in float64 on the CPU."""
        return [normal(random, (batch, T, N, D), 0.02)]


class EtGraphFixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    feature: Tensor
    adj: Tensor
    eig: Tensor

    def rows(self, rows: Tensor) -> EtGraphFixed:
        """The same for some of the samples."""
        return self._replace(feature=self.feature[rows], adj=self.adj[rows], eig=self.eig[rows])


class EtGraphEquations:
    """The equations around block.

    Sizes: M = 28, N = 29, F = 7, D = 128, H = 12, Y = 64, K = 512, E = 15, R = 3, L = 2, T = 2, Z = 2, J = 2.

    let emb[m,d] = sum[f](feature[m,f] * W_in[f,d]) + b_in[d]
    let x0[n,d]  = where(n == 0, CLS[d], emb[n - 1, d]) + sum[e](eig[n,e] * W_pos[e,d]) + b_pos[d]
    let gram[n,m] = sum[d](x0[n,d] * x0[m,d])
    let weight[h, n in N, m in N] = sum[a in R, b in R | 0 <= n + a - 1 < N and 0 <= m + b - 1 < N](
        conv[h,a,b] * gram[n + a - 1, m + b - 1])
    """

    name = "et_graph"
    state_shapes = {"block.x": (L, N, D)}
    clamp_shapes = {"feature": ((M, F_2), None), "adj": ((N, N), J), "eig": ((N, E), None)}
    noise_shapes = {"block.eps": (L, T, N, D)}
    target_shapes = {"label": ((), Z)}
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
        self.W_in = self._param(normal(random, (F_2, D), 0.02))
        self.CLS = self._param(normal(random, (D,), 0.02))
        self.W_pos = self._param(normal(random, (E, D), 0.02))
        self.W_out = self._param(normal(random, (D, Z), 0.02))
        self.b_in = self._param(torch.full((D,), 0.0, dtype=torch.float64))
        self.b_pos = self._param(torch.full((D,), 0.0, dtype=torch.float64))
        self.b_out = self._param(torch.full((Z,), 0.0, dtype=torch.float64))
        self.conv = self._param(normal(random, (H, R, R), 0.02))
        self.block_W_q = self._param(normal(random, (L, Y, H, D), 0.08838834764831843))
        self.block_W_k = self._param(normal(random, (L, Y, H, D), 0.08838834764831843))
        self.block_xi = self._param(normal(random, (L, K, D), 0.08838834764831843))
        self.block_gamma = self._param(torch.full((L,), 1.0, dtype=torch.float64))
        self.block_delta = self._param(torch.full((L, D), 0.0, dtype=torch.float64))
        self.block_beta = self._param(torch.full((L,), 0.125, dtype=torch.float64))
        self.block = Block(device, dtype)
        self._constant("mask_3", positions(N, 0, 1, self.device) != 0)

    def _prepare(self, feature: Tensor, adj: Tensor, eig: Tensor) -> EtGraphFixed:
        """The quantities that depend on clamps and params alone."""
        return EtGraphFixed(feature, adj, eig)

    def _blocks(self, fixed: EtGraphFixed, visit: Visit) -> list[Tensor]:
        """The blocks in a row; ``visit`` relaxes a layer. Returns what the answers read of them.

        next stream[n,d] = block.x[n,d]
        """
        emb = fixed.feature @ self.W_in + self.b_in
        x0 = (
            fixed.eig @ self.W_pos
            + windows(emb, 1, -1, (N,), (1,)) * self.mask_3.to(self.dtype)[:, None]
            + F.pad(self.CLS[..., None], (0, 28)).T
            + self.b_pos
        )
        stream = x0
        gram = torch.einsum("Bnd,Bmd->Bnm", x0, x0)
        weight = torch.einsum(
            "Bnamb,hab->Bhnm",
            windows(windows(gram, 1, -1, (N, R), (1, 1)), 3, -1, (N, R), (1, 1)),
            self.conv,
        )
        for number in range(L):
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
        """The readouts.

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
        scores = (self.W_out.T @ stream[:, 0].T).T + self.b_out
        logsumexp = scores.logsumexp(1)
        cost = logsumexp - scores.take_along_dim(label[:, None], 1).squeeze(1)
        return [cost]

    def _metrics(self, states: Tensors, fixed: EtGraphFixed, targets: Tensors) -> list[Tensor]:
        """The metrics, which are only reported.

        metric accuracy = correct[z](logits[z], label)
        """
        (stream,) = states
        (label,) = targets
        accuracy_part = (self.W_out.T @ stream[:, 0].T).T + self.b_out
        accuracy_part_2 = first_largest(accuracy_part, 1)
        accuracy = accuracy_part_2.take_along_dim(label[:, None], 1).squeeze(1)
        return [accuracy]


class Block(BlockEquations, EnergyLayer):
    """The layer `block`, relaxed."""


class EtGraph(EtGraphEquations, LayeredNetwork):
    """The network: its layers in a row, relaxed and learned."""

    rules = ("bptt",)
