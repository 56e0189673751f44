"""et_graph: Energy Transformer, graph classification (Hoover et al. 2023, appendix F).

Made by energyc 0.3.0 from et_graph.energy
SHA-256 of the spec: 173616a3a98c7b0855f7c843c7f86c6498ddbe2fe90df7fdca3ecd0ca7e57649
Rules: bptt
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

from energyc import runtime as rt

rt.require_contract(1)

M, N, F, D, H, Y, K, E = 28, 29, 7, 128, 12, 64, 512, 15
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
    _shared = ("t", "offset", "offset_2")


class Block(rt.EnergyLayer):
    """The layer `block`: states x[N, D].

    let g[n,d]   = gamma * layernorm[d](x[n,d]) + delta[d]
    let q[h,n,y] = sum[d](W_q[y,h,d] * g[n,d])
    let k[h,n,y] = sum[d](W_k[y,h,d] * g[n,d])

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "block"
    states = {"x": rt.Real((N, D))}
    clamps = {"adj": rt.Index((N, N), J), "weight": rt.Real((H, N, N)), "stream": rt.Real((N, D))}
    noises = {"eps": rt.Real((T, N, D))}
    param_attributes = {"beta": "beta_2"}
    term_names = ("att", "mem")
    readout_names = ("x",)
    numbered = True
    summed = ("weight", "stream")
    param_names = ("W_q", "W_k", "xi", "gamma", "delta", "beta")
    relaxation = rt.Relax(steps=2, step=(0.01,), max_steps=2)

    def _prepare(self, adj: Tensor, weight: Tensor, stream: Tensor, eps: Tensor) -> BlockFixed:
        """The quantities that depend on clamps and params alone."""
        t = torch.tensor(1, device=self.device)
        offset = self.beta_2.reciprocal()
        offset_2 = self.beta_2 ** -2
        beta_weight_part = weight * self.beta_2
        return BlockFixed(adj, weight, stream, eps, t, offset, offset_2, beta_weight_part)

    def _start(self, fixed: BlockFixed) -> list[Tensor]:
        """Where the states start."""
        return [fixed.stream]

    def _terms(self, states: rt.Tensors, fixed: BlockFixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy att = -1/beta * sum[h,n](logsumexp[m | m != n and adj[n,m] == 1](beta * weight[h,n,m] * sum[y](k[h,m,y]
            * q[h,n,y])))
        energy mem = -1/2 * sum[n,j](relu(sum[d](xi[j,d] * g[n,d]))^2)
        """
        (x,) = states
        x_centered = x - x.mean(2)[:, :, None]
        x_variance = (x_centered * x_centered).mean(2) + 1e-05
        g = x_centered * (x_variance.rsqrt() * self.gamma)[:, :, None] + self.delta
        q = torch.einsum("Bnd,yhd->Bhny", g, self.W_q)
        k = torch.einsum("Bnd,yhd->Bhny", g, self.W_k)
        logsumexp = rt.ops.or_zero(
            (torch.einsum("Bhmy,Bhny->Bhmn", q, k) * fixed.beta_weight_part).masked_fill(
                ~(
                    (rt.ops.positions(N, 0, 2, self.device) != rt.ops.positions(N, 1, 2, self.device)) & (
                        fixed.adj[
                            :,
                            rt.ops.positions(N, 1, 2, self.device),
                            rt.ops.positions(N, 0, 2, self.device),
                        ] == 1
                    )
                ).transpose(1, 2)[:, None],
                float("-inf"),
            ).logsumexp(3)
        )
        energy_att = -(logsumexp.sum((1, 2)) * fixed.offset)
        relu = torch.relu(g @ self.xi.T)
        energy_mem = -0.5 * (relu * relu).sum((1, 2))
        return [energy_att, energy_mem]

    def _force(self, states: rt.Tensors, fixed: BlockFixed) -> list[Tensor]:
        """The force on each state.

        flow x[n,d] = -grad(att + mem, g[n,d]) - eps[t,n,d]
        F_x[n,d] = -(-sum[j](xi[j,d] * relu(sum[d2](xi[j,d2] * g[n,d2]))) - sum[y,h](W_k[y,h,d] * sum[m](q[h,m,y] *
            beta * weight[h,m,n] * softmax[n | n != m and adj[m,n] == 1](beta * weight[h,m,n] * sum[y2](q[h,m,y2] *
            k[h,n,y2])) / beta)) - sum[y,h](W_q[y,h,d] * sum[m](k[h,m,y] * beta * weight[h,n,m] * softmax[m | m != n
            and adj[n,m] == 1](beta * weight[h,n,m] * sum[y2](q[h,n,y2] * k[h,m,y2])) / beta))) - eps[t,n,d]
        """
        (x,) = states
        x_centered = x - x.mean(2)[:, :, None]
        x_variance = (x_centered * x_centered).mean(2) + 1e-05
        g = x_centered * (x_variance.rsqrt() * self.gamma)[:, :, None] + self.delta
        q = torch.einsum("Bnd,yhd->Bhny", g, self.W_q)
        k = torch.einsum("Bnd,yhd->Bhny", g, self.W_k)
        weights = rt.ops.softmax(
            (torch.einsum("Bhmy,Bhny->Bhmn", q, k) * fixed.beta_weight_part).masked_fill(
                ~(
                    (rt.ops.positions(N, 0, 2, self.device) != rt.ops.positions(N, 1, 2, self.device)) & (
                        fixed.adj[
                            :,
                            rt.ops.positions(N, 1, 2, self.device),
                            rt.ops.positions(N, 0, 2, self.device),
                        ] == 1
                    )
                ).transpose(1, 2)[:, None],
                float("-inf"),
            ),
            3,
        )
        force_x_part = fixed.beta_weight_part.transpose(2, 3) * (weights * fixed.offset).transpose(2, 3)
        force_x = (
            torch.relu(g @ self.xi.T) @ self.xi
            + torch.einsum("Bhny,yhd->Bnd", torch.einsum("Bhmy,Bhnm->Bhny", q, force_x_part), self.W_k)
            + torch.einsum("Bhny,yhd->Bnd", torch.einsum("Bhmy,Bhmn->Bhny", k, force_x_part), self.W_q)
            - fixed.eps[:, fixed.t]
        )
        return [force_x]

    def _readouts(self, states: rt.Tensors, fixed: BlockFixed) -> list[Tensor]:
        """The readouts: x"""
        (x,) = states
        return [x]

    def _force_vjp(
        self, states: rt.Tensors, fixed: BlockFixed, cotangents: rt.Tensors, params: bool = True
    ) -> rt.Pullback:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (x,) = states
        (cot_x,) = cotangents
        x_centered = x - x.mean(2)[:, :, None]
        x_variance = (x_centered * x_centered).mean(2) + 1e-05
        x_variance_rsqrt = x_variance.rsqrt()
        product = x_variance_rsqrt * self.gamma
        g = x_centered * product[:, :, None] + self.delta
        q = torch.einsum("Bnd,yhd->Bhny", g, self.W_q)
        k = torch.einsum("Bnd,yhd->Bhny", g, self.W_k)
        q_k = torch.einsum("Bhmy,Bhny->Bhnm", q, k)
        weights = rt.ops.softmax(
            (q_k.transpose(2, 3) * fixed.beta_weight_part).masked_fill(
                ~(
                    (rt.ops.positions(N, 0, 2, self.device) != rt.ops.positions(N, 1, 2, self.device)) & (
                        fixed.adj[
                            :,
                            rt.ops.positions(N, 1, 2, self.device),
                            rt.ops.positions(N, 0, 2, self.device),
                        ] == 1
                    )
                ).transpose(1, 2)[:, None],
                float("-inf"),
            ),
            3,
        )
        product_2 = weights * fixed.offset
        product_3 = fixed.beta_weight_part.transpose(2, 3) * product_2.transpose(2, 3)
        W_q_cot_x = torch.einsum("Bnd,yhd->Bnhy", cot_x, self.W_q)
        W_k_cot_x = torch.einsum("Bnd,yhd->Bnhy", cot_x, self.W_k)
        total = -torch.einsum("Bhny,Bmhy->Bhnm", k, W_q_cot_x) - torch.einsum("Bhmy,Bnhy->Bhnm", q, W_k_cot_x)
        product_4 = fixed.beta_weight_part * total.transpose(2, 3)
        product_5 = weights * (product_4 * fixed.offset)
        total_2 = weights * product_5.sum(3)[:, :, :, None] - product_5
        product_6 = fixed.beta_weight_part.transpose(2, 3) * total_2.transpose(2, 3)
        pull_k = torch.einsum("Bhnm,Bmhy->Bhny", product_3, W_q_cot_x) + torch.einsum("Bhmy,Bhnm->Bhny", q, product_6)
        pull_q = torch.einsum("Bhmn,Bmhy->Bhny", product_3, W_k_cot_x) + torch.einsum("Bhmy,Bhmn->Bhny", k, product_6)
        xi_g = g @ self.xi.T
        product_7 = rt.ops.step(xi_g).transpose(1, 2) * (cot_x @ self.xi.T).transpose(1, 2)
        pull_g = (
            torch.einsum("Bhny,yhd->Bnd", pull_k, self.W_k)
            + torch.einsum("Bhny,yhd->Bnd", pull_q, self.W_q)
            + torch.einsum("Bjn,jd->Bnd", product_7, self.xi)
        )
        product_8 = (x_centered * pull_g).sum(2)
        back_x_part = (
            pull_g * product[:, :, None]
            - 1 / D * (x_centered * (x_variance ** -1.5 * (product_8 * self.gamma))[:, :, None])
        )
        back_x = back_x_part - back_x_part.mean(2)[:, :, None]
        if not params:
            return [back_x], {}
        return [back_x], {
            "W_q": (
                torch.einsum("Bhny,Bnd->yhd", torch.einsum("Bhmy,Bhmn->Bhny", k, product_3), cot_x)
                + torch.einsum("Bhny,Bnd->yhd", pull_q, g)
            ),
            "W_k": (
                torch.einsum("Bhny,Bnd->yhd", torch.einsum("Bhmy,Bhnm->Bhny", q, product_3), cot_x)
                + torch.einsum("Bhny,Bnd->yhd", pull_k, g)
            ),
            "xi": torch.einsum("Bnd,Bnj->jd", cot_x, torch.relu(xi_g)) + torch.einsum("Bnd,Bjn->jd", g, product_7),
            "gamma": (x_variance_rsqrt * product_8).sum(),
            "delta": pull_g.sum((0, 1)),
            "beta": (
                (fixed.weight * (q_k * total_2.transpose(2, 3)).transpose(2, 3)).sum()
                + (weights * product_4).sum((1, 2, 3)).sum() * fixed.offset_2
                - (fixed.weight * (product_2 * total.transpose(2, 3))).sum()
            ),
        }

    def _step_vjp(self, states: rt.Tensors, fixed: BlockFixed, cotangents: rt.Tensors) -> rt.Pullback:
        """J^T cotangents, and what is added up over steps; <cotangents, dF/dtheta> of the others, summed."""
        (x,) = states
        (cot_x,) = cotangents
        x_centered = x - x.mean(2)[:, :, None]
        x_variance = (x_centered * x_centered).mean(2) + 1e-05
        x_variance_rsqrt = x_variance.rsqrt()
        product = x_variance_rsqrt * self.gamma
        g = x_centered * product[:, :, None] + self.delta
        q = torch.einsum("Bnd,yhd->Bhny", g, self.W_q)
        k = torch.einsum("Bnd,yhd->Bhny", g, self.W_k)
        q_k = torch.einsum("Bhmy,Bhny->Bhnm", q, k)
        weights = rt.ops.softmax(
            (q_k.transpose(2, 3) * fixed.beta_weight_part).masked_fill(
                ~(
                    (rt.ops.positions(N, 0, 2, self.device) != rt.ops.positions(N, 1, 2, self.device)) & (
                        fixed.adj[
                            :,
                            rt.ops.positions(N, 1, 2, self.device),
                            rt.ops.positions(N, 0, 2, self.device),
                        ] == 1
                    )
                ).transpose(1, 2)[:, None],
                float("-inf"),
            ),
            3,
        )
        product_2 = weights * fixed.offset
        product_3 = fixed.beta_weight_part.transpose(2, 3) * product_2.transpose(2, 3)
        W_q_cot_x = torch.einsum("Bnd,yhd->Bnhy", cot_x, self.W_q)
        W_k_cot_x = torch.einsum("Bnd,yhd->Bnhy", cot_x, self.W_k)
        total = -torch.einsum("Bhny,Bmhy->Bhnm", k, W_q_cot_x) - torch.einsum("Bhmy,Bnhy->Bhnm", q, W_k_cot_x)
        product_4 = fixed.beta_weight_part * total.transpose(2, 3)
        product_5 = weights * (product_4 * fixed.offset)
        total_2 = weights * product_5.sum(3)[:, :, :, None] - product_5
        product_6 = fixed.beta_weight_part.transpose(2, 3) * total_2.transpose(2, 3)
        pull_k = torch.einsum("Bhnm,Bmhy->Bhny", product_3, W_q_cot_x) + torch.einsum("Bhmy,Bhnm->Bhny", q, product_6)
        pull_q = torch.einsum("Bhmn,Bmhy->Bhny", product_3, W_k_cot_x) + torch.einsum("Bhmy,Bhmn->Bhny", k, product_6)
        xi_g = g @ self.xi.T
        product_7 = rt.ops.step(xi_g).transpose(1, 2) * (cot_x @ self.xi.T).transpose(1, 2)
        pull_g = (
            torch.einsum("Bhny,yhd->Bnd", pull_k, self.W_k)
            + torch.einsum("Bhny,yhd->Bnd", pull_q, self.W_q)
            + torch.einsum("Bjn,jd->Bnd", product_7, self.xi)
        )
        product_8 = (x_centered * pull_g).sum(2)
        back_x_part = (
            pull_g * product[:, :, None]
            - 1 / D * (x_centered * (x_variance ** -1.5 * (product_8 * self.gamma))[:, :, None])
        )
        back_x = back_x_part - back_x_part.mean(2)[:, :, None]
        product_9 = product_2 * total.transpose(2, 3)
        product_10 = q_k * total_2.transpose(2, 3)
        part = (product_10 * self.beta_2).transpose(2, 3) - product_9 * self.beta_2
        return [back_x, part], {
            "W_q": (
                torch.einsum("Bhny,Bnd->yhd", torch.einsum("Bhmy,Bhmn->Bhny", k, product_3), cot_x)
                + torch.einsum("Bhny,Bnd->yhd", pull_q, g)
            ),
            "W_k": (
                torch.einsum("Bhny,Bnd->yhd", torch.einsum("Bhmy,Bhnm->Bhny", q, product_3), cot_x)
                + torch.einsum("Bhny,Bnd->yhd", pull_k, g)
            ),
            "xi": torch.einsum("Bnd,Bnj->jd", cot_x, torch.relu(xi_g)) + torch.einsum("Bnd,Bjn->jd", g, product_7),
            "gamma": (x_variance_rsqrt * product_8).sum(),
            "delta": pull_g.sum((0, 1)),
            "beta": (
                (fixed.weight * product_10.transpose(2, 3)).sum()
                + (weights * product_4).sum((1, 2, 3)).sum() * fixed.offset_2
                - (fixed.weight * product_9).sum()
            ),
        }

    def _sums_clamp_gradient(self, fixed: BlockFixed, sums: rt.Tensors) -> dict[str, Tensor]:
        """<cotangents, dF/dx> for real clamps, summed over steps."""
        (sum_part,) = sums
        return {"weight": sum_part}

    def _at(self, fixed: BlockFixed, number: int) -> BlockFixed:
        """The quantities that are fixed in one step."""
        return fixed._replace(t=torch.tensor(number, device=self.device))

    def _noise(self, random: torch.Generator | None, batch: int) -> list[Tensor]:
        """Noise for each sample, in float64 on the CPU."""
        return [rt.draws.normal(random, (batch, T, N, D), 0.02)]


class EtGraphFixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    feature: Tensor
    adj: Tensor
    eig: Tensor


class EtGraph(rt.LayeredNetwork):
    """The network around block.

    let emb[m,d] = sum[f](feature[m,f] * W_in[f,d]) + b_in[d]
    let x0[n,d]  = where(n == 0, CLS[d], emb[n - 1, d]) + sum[e](eig[n,e] * W_pos[e,d]) + b_pos[d]
    let gram[n,m] = sum[d](x0[n,d] * x0[m,d])
    let weight[h, n in N, m in N] = sum[a in R, b in R | 0 <= n + a - 1 < N and 0 <= m + b - 1 < N](
        conv[h,a,b] * gram[n + a - 1, m + b - 1])
    """

    name = "et_graph"
    states = {"block.x": rt.Real((L, N, D))}
    clamps = {"feature": rt.Real((M, F)), "adj": rt.Index((N, N), J), "eig": rt.Real((N, E))}
    noises = {"block.eps": rt.Real((L, T, N, D))}
    targets = {"label": rt.Index((), Z)}
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
    rules = ("bptt",)

    def _initialize(self, random: torch.Generator) -> None:
        """Params, drawn, and constants."""
        self.W_in = self._param(rt.draws.normal(random, (F, D), 0.02))
        self.CLS = self._param(rt.draws.normal(random, (D,), 0.02))
        self.W_pos = self._param(rt.draws.normal(random, (E, D), 0.02))
        self.W_out = self._param(rt.draws.normal(random, (D, Z), 0.02))
        self.b_in = self._param(torch.zeros((D,)))
        self.b_pos = self._param(torch.zeros((D,)))
        self.b_out = self._param(torch.zeros((Z,)))
        self.conv = self._param(rt.draws.normal(random, (H, R, R), 0.02))
        self.block_W_q = self._param(rt.draws.normal(random, (L, Y, H, D), 1 / math.sqrt(D)))
        self.block_W_k = self._param(rt.draws.normal(random, (L, Y, H, D), 1 / math.sqrt(D)))
        self.block_xi = self._param(rt.draws.normal(random, (L, K, D), 1 / math.sqrt(D)))
        self.block_gamma = self._param(torch.ones((L,)))
        self.block_delta = self._param(torch.zeros((L, D)))
        self.block_beta = self._param(torch.full((L,), 0.125, dtype=torch.float64))
        self.block = Block(self.device, self.dtype)
        self._constant("mask_3", rt.ops.positions(N, 0, 1, self.device) != 0)

    def _prepare(self, feature: Tensor, adj: Tensor, eig: Tensor) -> EtGraphFixed:
        """The quantities that depend on clamps and params alone."""
        return EtGraphFixed(feature, adj, eig)

    def _blocks(self, fixed: EtGraphFixed, visit: rt.Visit) -> list[Tensor]:
        """The blocks in a row; ``visit`` relaxes a layer. Returns what the answers read of them.

        next stream[n,d] = block.x[n,d]
        """
        emb = fixed.feature @ self.W_in + self.b_in
        x0 = (
            fixed.eig @ self.W_pos
            + rt.ops.windows(emb, 1, -1, (N,), (1,)) * self.mask_3.to(self.dtype)[:, None]
            + functional.pad(self.CLS[..., None], (0, 28)).T
            + self.b_pos
        )
        stream = x0
        gram = torch.einsum("Bnd,Bmd->Bnm", x0, x0)
        weight = torch.einsum("Bnamb,hab->Bhnm", rt.ops.windows(gram, (1, 2), -1, (N, R), (1, 1)), self.conv)
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

    def _readouts(self, states: rt.Tensors, fixed: EtGraphFixed) -> list[Tensor]:
        """The readouts: logits[z] = sum[d](stream[0,d] * W_out[d,z]) + b_out[z]"""
        (stream,) = states
        logits = stream[:, 0] @ self.W_out + self.b_out
        return [logits]

    def _cost(self, states: rt.Tensors, fixed: EtGraphFixed, targets: rt.Tensors) -> list[Tensor]:
        """The cost of each sample: ce = cross_entropy[z](logits[z], label)"""
        (stream,) = states
        (label,) = targets
        scores = stream[:, 0] @ self.W_out + self.b_out
        logsumexp = scores.logsumexp(1)
        cost = logsumexp - scores.take_along_dim(label[:, None], 1).squeeze(1)
        return [cost]

    def _metrics(self, states: rt.Tensors, fixed: EtGraphFixed, targets: rt.Tensors) -> list[Tensor]:
        """The metrics, which are only reported: accuracy = correct[z](logits[z], label)"""
        (stream,) = states
        (label,) = targets
        accuracy_part = stream[:, 0] @ self.W_out + self.b_out
        accuracy_part_2 = rt.ops.first_largest(accuracy_part, 1)
        accuracy = accuracy_part_2.take_along_dim(label[:, None], 1).squeeze(1)
        return [accuracy]
