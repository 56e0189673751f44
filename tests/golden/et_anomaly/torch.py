"""et_anomaly: Energy Transformer, node anomaly detection on a sparse graph (Hoover et al. 2023, section 4,
appendix B).
Edge e goes from src[e] to dst[e]; a guard `dst[e] == n` is a sum over the edges into n, never a table of N by
E.

Made by energyc 0.1.0 from et_anomaly.energy
SHA-256 of the spec: 6d83ef1d127f2abc31095290439fef64c169bc024a118df49329569d9535a2c1
Rules: bptt, implicit
Passes: hoist, share, separate, segments, inplace
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from energyc.runtime.networks.network import EnergyNetwork
from energyc.runtime.rules.bptt import bptt
from energyc.runtime.rules.implicit import implicit
from energyc.runtime.tensors.draws import normal, uniform
from energyc.runtime.tensors.functions import step
from energyc.runtime.tensors.indexing import gather, segment_sum
from energyc.runtime.tensors.segments import segment_logsumexp, segment_softmax
from energyc.runtime.tensors.states import Tensors


class Fixed(NamedTuple):
    """The clamps, and what depends on clamps and params alone."""

    feature: Tensor
    src: Tensor
    dst: Tensor
    offset: Tensor
    offset_2: Tensor

    def rows(self, rows: Tensor) -> Fixed:
        """The same for some of the samples."""
        return self._replace(feature=self.feature[rows], src=self.src[rows], dst=self.dst[rows])


class EtAnomalyEquations:
    """States x[N, D].

    Sizes: N = 2000, E = 24000, F = 8, D = 64, H = 2, Y = 32, K = 128, U = 64.

    Consts: labelled = 0.4, split = 0.

    let x0[n,d] = sum[f](feature[n,f] * W_in[f,d]) + lambda[n,d]
    let g1[n,d]  = norm[d](x0[n,d])
    let g[n,d]   = norm[d](x[n,d])
    let q[h,n,y] = sum[d](W_q[y,h,d] * g[n,d])
    let k[h,n,y] = sum[d](W_k[y,h,d] * g[n,d])
    let s[h,e]   = beta * sum[y](k[h, src[e], y] * q[h, dst[e], y])
    let hidden[n,u] = relu(sum[d](U0[u,d] * g1[n,d] + U1[u,d] * g[n,d]) + b_u[u])
    let sigma = sum[n](scored[n] * (1 - anomalous[n])) / sum[n](scored[n] * anomalous[n])

    ``v_NAME`` is the change of the let NAME along a direction, ``pull_NAME`` its adjoint.
    """

    name = "et_anomaly"
    state_shapes = {"x": (2000, 64)}
    clamp_shapes = {"feature": ((2000, 8), None), "src": ((24000,), 2000), "dst": ((24000,), 2000)}
    target_shapes = {"anomalous": ((2000,), None), "scored": ((2000,), None)}
    param_attributes = {"lambda": "lambda_", "beta": "beta_2"}
    term_names = ("att", "mem")
    readout_names = ("logit",)
    relax_steps = 1
    relax_step = (1.0,)
    nudge_steps = 10

    def __init__(
        self, device: torch.device | str | None = None, dtype: torch.dtype | None = None, seed: int = 0
    ) -> None:
        super().__init__(device, dtype)
        random = torch.Generator().manual_seed(seed)
        self.W_in = self._param(normal(random, (8, 64), 0.1767766952966369))
        self.lambda_ = self._param(normal(random, (2000, 64), 0.02))
        self.W_q = self._param(normal(random, (32, 2, 64), 0.02))
        self.W_k = self._param(normal(random, (32, 2, 64), 0.02))
        self.xi = self._param(normal(random, (128, 64), 0.02))
        self.gamma = self._param(torch.full((), 1.0, dtype=torch.float64))
        self.delta = self._param(torch.full((64,), 0.0, dtype=torch.float64))
        self.beta_2 = self._param(torch.full((), 0.1767766952966369, dtype=torch.float64))
        self.U0 = self._param(normal(random, (64, 64), 0.1767766952966369))
        self.U1 = self._param(normal(random, (64, 64), 0.1767766952966369))
        self.b_u = self._param(torch.full((64,), 0.0, dtype=torch.float64))
        self.w = self._param(uniform(random, (64,), -0.125, 0.125))
        self.b_w = self._param(torch.full((), 0.0, dtype=torch.float64))

    def _prepare(self, feature: Tensor, src: Tensor, dst: Tensor) -> Fixed:
        """What depends on clamps and params alone."""
        offset = self.beta_2.reciprocal()
        offset_2 = self.beta_2 ** (-2)
        return Fixed(feature, src, dst, offset, offset_2)

    def _start(self, fixed: Fixed) -> list[Tensor]:
        """Where the states start."""
        x0 = fixed.feature @ self.W_in
        x0 += self.lambda_
        return [x0]

    def _terms(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """Each energy term of each sample.

        energy att = -1/beta * sum[h,n](logsumexp[e | dst[e] == n](s[h,e]))
        energy mem = -1/2 * sum[n,j](relu(sum[d](xi[j,d] * g[n,d]))^2)
        """
        (x,) = states
        total = x - x.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        g = total * (total_2.rsqrt() * self.gamma)[:, :, None]
        g += self.delta
        k = torch.einsum("Bnd,yhd->Bhny", g, self.W_k)
        q = torch.einsum("Bnd,yhd->Bhny", g, self.W_q)
        s = (gather(k, fixed.src, 2) * gather(q, fixed.dst, 2)).sum(3) * self.beta_2
        level = segment_logsumexp(s, fixed.dst[:, None, :], 2000)
        energy_att = -(level.sum((1, 2)) * fixed.offset)
        relu = torch.relu_(g @ self.xi.T)
        energy_mem = -0.5 * (relu * relu).sum((1, 2))
        return [energy_att, energy_mem]

    def _force(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The force on each state.

        flow x[n,d] = -grad(att + mem, g[n,d])
        F_x[n,d] = sum[j](xi[j,d] * relu(sum[d2](xi[j,d2] * g[n,d2]))) + sum[y,h](W_k[y,h,d] * sum[e | n ==
            src[e]](q[h,dst[e],y] * beta * sum[n2 in N](softmax[e | dst[e] == n2](s[h,e]) / beta))) +
            sum[y,h](W_q[y,h,d] * sum[e | n == dst[e]](k[h,src[e],y] * beta * sum[n2 in N](softmax[e | dst[e] ==
            n2](s[h,e]) / beta)))
        """
        (x,) = states
        total = x - x.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        g = total * (total_2.rsqrt() * self.gamma)[:, :, None]
        g += self.delta
        q = torch.einsum("Bnd,yhd->Bhny", g, self.W_q)
        dst_q = gather(q, fixed.dst, 2)
        k = torch.einsum("Bnd,yhd->Bhny", g, self.W_k)
        src_k = gather(k, fixed.src, 2)
        s = (src_k * dst_q).sum(3) * self.beta_2
        weights = segment_softmax(s, fixed.dst[:, None, :], 2000)
        product = weights * fixed.offset * self.beta_2
        force_x = torch.relu_(g @ self.xi.T) @ self.xi
        force_x += torch.einsum(
            "Bhny,yhd->Bnd",
            segment_sum(dst_q * product[:, :, :, None], fixed.src, 2, 2000),
            self.W_k,
        )
        force_x += torch.einsum(
            "Bhny,yhd->Bnd",
            segment_sum(src_k * product[:, :, :, None], fixed.dst, 2, 2000),
            self.W_q,
        )
        return [force_x]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The answers.

        readout logit[n] = sum[u](w[u] * hidden[n,u]) + b_w
        """
        (x,) = states
        x0 = fixed.feature @ self.W_in
        x0 += self.lambda_
        total = x0 - x0.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        g1 = total * (total_2.rsqrt() * self.gamma)[:, :, None]
        g1 += self.delta
        total_3 = x - x.mean(2)[:, :, None]
        total_4 = (total_3 * total_3).mean(2)
        total_4 += 1e-05
        g = total_3 * (total_4.rsqrt() * self.gamma)[:, :, None]
        g += self.delta
        total_5 = g1 @ self.U0.T
        total_5 += g @ self.U1.T
        total_5 += self.b_u
        hidden = torch.relu_(total_5)
        logit = hidden @ self.w
        logit += self.b_w
        return [logit]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost ce = -sum[n](scored[n] * (sigma * anomalous[n] * logsigmoid(logit[n]) + (1 - anomalous[n]) *
            logsigmoid(-logit[n]))) / sum[n](scored[n])
        """
        (x,) = states
        anomalous, scored = targets
        x0 = fixed.feature @ self.W_in
        x0 += self.lambda_
        total = x0 - x0.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        g1 = total * (total_2.rsqrt() * self.gamma)[:, :, None]
        g1 += self.delta
        total_3 = x - x.mean(2)[:, :, None]
        total_4 = (total_3 * total_3).mean(2)
        total_4 += 1e-05
        g = total_3 * (total_4.rsqrt() * self.gamma)[:, :, None]
        g += self.delta
        total_5 = g1 @ self.U0.T
        total_5 += g @ self.U1.T
        total_5 += self.b_u
        hidden = torch.relu_(total_5)
        total_6 = hidden @ self.w
        total_6 += self.b_w
        total_7 = -anomalous
        total_7 += 1
        sigma = (scored * total_7).sum(1) * (anomalous * scored).sum(1).reciprocal()
        total_8 = F.logsigmoid(total_6) * (anomalous * sigma[:, None])
        total_8 += total_7 * F.logsigmoid(-total_6)
        product = scored.sum(1).reciprocal() * (scored * total_8).sum(1)
        cost = -product
        return [cost]

    def _cost_pullback(
        self, states: Tensors, fixed: Fixed, targets: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """dC/dz of each sample, None where the cost does not read a state; and the direct dC/dtheta.

        dC/dx[n,d] = gamma * sum[u](U1[u,d] * relu'(sum[d2](U0[u,d2] * g1[n,d2]) + sum[d2](U1[u,d2] * g[n,d2]) +
            b_u[u]) * w[u] * ((1 - anomalous[n]) * scored[n] * sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) /
            sum[n2](scored[n2]) - anomalous[n] * sigma * scored[n] * sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) /
            sum[n2](scored[n2]))) / sqrt(1e-5 + mean[d2]((x[n,d2] - mean[d3](x[n,d3]))^2)) - (x[n,d] -
            mean[d2](x[n,d2])) * gamma * mean[d2]((x[n,d2] - mean[d3](x[n,d3])) * sum[u](U1[u,d2] *
            relu'(sum[d3](U0[u,d3] * g1[n,d3]) + sum[d3](U1[u,d3] * g[n,d3]) + b_u[u]) * w[u] * ((1 - anomalous[n]) *
            scored[n] * sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) / sum[n2](scored[n2]) - anomalous[n] * sigma *
            scored[n] * sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) / sum[n2](scored[n2])))) / (1e-5 +
            mean[d2]((x[n,d2] - mean[d3](x[n,d3]))^2))^(3/2) - mean[d2](gamma * sum[u](U1[u,d2] *
            relu'(sum[d3](U0[u,d3] * g1[n,d3]) + sum[d3](U1[u,d3] * g[n,d3]) + b_u[u]) * w[u] * ((1 - anomalous[n]) *
            scored[n] * sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) / sum[n2](scored[n2]) - anomalous[n] * sigma *
            scored[n] * sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) / sum[n2](scored[n2]))) / sqrt(1e-5 +
            mean[d3]((x[n,d3] - mean[d4](x[n,d4]))^2)) - (x[n,d2] - mean[d3](x[n,d3])) * gamma * mean[d3]((x[n,d3] -
            mean[d4](x[n,d4])) * sum[u](U1[u,d3] * relu'(sum[d4](U0[u,d4] * g1[n,d4]) + sum[d4](U1[u,d4] * g[n,d4]) +
            b_u[u]) * w[u] * ((1 - anomalous[n]) * scored[n] * sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) /
            sum[n2](scored[n2]) - anomalous[n] * sigma * scored[n] * sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) /
            sum[n2](scored[n2])))) / (1e-5 + mean[d3]((x[n,d3] - mean[d4](x[n,d4]))^2))^(3/2))
        dC/dW_in[f,d] = sum[n](feature[n,f] * (gamma * sum[u](U0[u,d] * relu'(sum[d2](U0[u,d2] * g1[n,d2]) +
            sum[d2](U1[u,d2] * g[n,d2]) + b_u[u]) * w[u] * ((1 - anomalous[n]) * scored[n] * sigmoid(sum[u2](w[u2] *
            hidden[n,u2]) + b_w) / sum[n2](scored[n2]) - anomalous[n] * sigma * scored[n] * sigmoid(-(sum[u2](w[u2] *
            hidden[n,u2]) + b_w)) / sum[n2](scored[n2]))) / sqrt(mean[d2]((x0[n,d2] - mean[d3](x0[n,d3]))^2) + 1e-5) -
            (x0[n,d] - mean[d2](x0[n,d2])) * gamma * mean[d2]((x0[n,d2] - mean[d3](x0[n,d3])) * sum[u](U0[u,d2] *
            relu'(sum[d3](U0[u,d3] * g1[n,d3]) + sum[d3](U1[u,d3] * g[n,d3]) + b_u[u]) * w[u] * ((1 - anomalous[n]) *
            scored[n] * sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) / sum[n2](scored[n2]) - anomalous[n] * sigma *
            scored[n] * sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) / sum[n2](scored[n2])))) / (mean[d2]((x0[n,d2]
            - mean[d3](x0[n,d3]))^2) + 1e-5)^(3/2) - mean[d2](gamma * sum[u](U0[u,d2] * relu'(sum[d3](U0[u,d3] *
            g1[n,d3]) + sum[d3](U1[u,d3] * g[n,d3]) + b_u[u]) * w[u] * ((1 - anomalous[n]) * scored[n] *
            sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) / sum[n2](scored[n2]) - anomalous[n] * sigma * scored[n] *
            sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) / sum[n2](scored[n2]))) / sqrt(mean[d3]((x0[n,d3] -
            mean[d4](x0[n,d4]))^2) + 1e-5) - (x0[n,d2] - mean[d3](x0[n,d3])) * gamma * mean[d3]((x0[n,d3] -
            mean[d4](x0[n,d4])) * sum[u](U0[u,d3] * relu'(sum[d4](U0[u,d4] * g1[n,d4]) + sum[d4](U1[u,d4] * g[n,d4]) +
            b_u[u]) * w[u] * ((1 - anomalous[n]) * scored[n] * sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) /
            sum[n2](scored[n2]) - anomalous[n] * sigma * scored[n] * sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) /
            sum[n2](scored[n2])))) / (mean[d3]((x0[n,d3] - mean[d4](x0[n,d4]))^2) + 1e-5)^(3/2))))
        dC/dlambda[n,d] = gamma * sum[u](U0[u,d] * relu'(sum[d2](U0[u,d2] * g1[n,d2]) + sum[d2](U1[u,d2] * g[n,d2]) +
            b_u[u]) * w[u] * ((1 - anomalous[n]) * scored[n] * sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) /
            sum[n2](scored[n2]) - anomalous[n] * sigma * scored[n] * sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) /
            sum[n2](scored[n2]))) / sqrt(mean[d2]((x0[n,d2] - mean[d3](x0[n,d3]))^2) + 1e-5) - (x0[n,d] -
            mean[d2](x0[n,d2])) * gamma * mean[d2]((x0[n,d2] - mean[d3](x0[n,d3])) * sum[u](U0[u,d2] *
            relu'(sum[d3](U0[u,d3] * g1[n,d3]) + sum[d3](U1[u,d3] * g[n,d3]) + b_u[u]) * w[u] * ((1 - anomalous[n]) *
            scored[n] * sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) / sum[n2](scored[n2]) - anomalous[n] * sigma *
            scored[n] * sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) / sum[n2](scored[n2])))) / (mean[d2]((x0[n,d2]
            - mean[d3](x0[n,d3]))^2) + 1e-5)^(3/2) - mean[d2](gamma * sum[u](U0[u,d2] * relu'(sum[d3](U0[u,d3] *
            g1[n,d3]) + sum[d3](U1[u,d3] * g[n,d3]) + b_u[u]) * w[u] * ((1 - anomalous[n]) * scored[n] *
            sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) / sum[n2](scored[n2]) - anomalous[n] * sigma * scored[n] *
            sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) / sum[n2](scored[n2]))) / sqrt(mean[d3]((x0[n,d3] -
            mean[d4](x0[n,d4]))^2) + 1e-5) - (x0[n,d2] - mean[d3](x0[n,d3])) * gamma * mean[d3]((x0[n,d3] -
            mean[d4](x0[n,d4])) * sum[u](U0[u,d3] * relu'(sum[d4](U0[u,d4] * g1[n,d4]) + sum[d4](U1[u,d4] * g[n,d4]) +
            b_u[u]) * w[u] * ((1 - anomalous[n]) * scored[n] * sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) /
            sum[n2](scored[n2]) - anomalous[n] * sigma * scored[n] * sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) /
            sum[n2](scored[n2])))) / (mean[d3]((x0[n,d3] - mean[d4](x0[n,d4]))^2) + 1e-5)^(3/2))
        dC/dgamma = sum[n,d](layernorm[d](x[n,d]) * sum[u](U1[u,d] * relu'(sum[d2](U0[u,d2] * g1[n,d2]) +
            sum[d2](U1[u,d2] * g[n,d2]) + b_u[u]) * w[u] * ((1 - anomalous[n]) * scored[n] * sigmoid(sum[u2](w[u2] *
            hidden[n,u2]) + b_w) / sum[n2](scored[n2]) - anomalous[n] * sigma * scored[n] * sigmoid(-(sum[u2](w[u2] *
            hidden[n,u2]) + b_w)) / sum[n2](scored[n2])))) + sum[n,d](layernorm[d](x0[n,d]) * sum[u](U0[u,d] *
            relu'(sum[d2](U0[u,d2] * g1[n,d2]) + sum[d2](U1[u,d2] * g[n,d2]) + b_u[u]) * w[u] * ((1 - anomalous[n]) *
            scored[n] * sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) / sum[n2](scored[n2]) - anomalous[n] * sigma *
            scored[n] * sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) / sum[n2](scored[n2]))))
        dC/ddelta[d] = sum[n](sum[u](U1[u,d] * relu'(sum[d2](U0[u,d2] * g1[n,d2]) + sum[d2](U1[u,d2] * g[n,d2]) +
            b_u[u]) * w[u] * ((1 - anomalous[n]) * scored[n] * sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) /
            sum[n2](scored[n2]) - anomalous[n] * sigma * scored[n] * sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) /
            sum[n2](scored[n2]))) + sum[u](U0[u,d] * relu'(sum[d2](U0[u,d2] * g1[n,d2]) + sum[d2](U1[u,d2] * g[n,d2])
            + b_u[u]) * w[u] * ((1 - anomalous[n]) * scored[n] * sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) /
            sum[n2](scored[n2]) - anomalous[n] * sigma * scored[n] * sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) /
            sum[n2](scored[n2]))))
        dC/dU0[u,d] = sum[n](g1[n,d] * relu'(sum[d2](U0[u,d2] * g1[n,d2]) + sum[d2](U1[u,d2] * g[n,d2]) + b_u[u]) *
            w[u] * ((1 - anomalous[n]) * scored[n] * sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) /
            sum[n2](scored[n2]) - anomalous[n] * sigma * scored[n] * sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) /
            sum[n2](scored[n2])))
        dC/dU1[u,d] = sum[n](g[n,d] * relu'(sum[d2](U0[u,d2] * g1[n,d2]) + sum[d2](U1[u,d2] * g[n,d2]) + b_u[u]) *
            w[u] * ((1 - anomalous[n]) * scored[n] * sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) /
            sum[n2](scored[n2]) - anomalous[n] * sigma * scored[n] * sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) /
            sum[n2](scored[n2])))
        dC/db_u[u] = sum[n](relu'(sum[d](U0[u,d] * g1[n,d]) + sum[d](U1[u,d] * g[n,d]) + b_u[u]) * w[u] * ((1 -
            anomalous[n]) * scored[n] * sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w) / sum[n2](scored[n2]) -
            anomalous[n] * sigma * scored[n] * sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w)) / sum[n2](scored[n2])))
        dC/dw[u] = sum[n](hidden[n,u] * ((1 - anomalous[n]) * scored[n] * sigmoid(sum[u2](w[u2] * hidden[n,u2]) + b_w)
            / sum[n2](scored[n2]) - anomalous[n] * sigma * scored[n] * sigmoid(-(sum[u2](w[u2] * hidden[n,u2]) + b_w))
            / sum[n2](scored[n2])))
        dC/db_w = sum[n]((1 - anomalous[n]) * scored[n] * sigmoid(sum[u](w[u] * hidden[n,u]) + b_w) /
            sum[n2](scored[n2]) - anomalous[n] * sigma * scored[n] * sigmoid(-(sum[u](w[u] * hidden[n,u]) + b_w)) /
            sum[n2](scored[n2]))
        """
        (x,) = states
        anomalous, scored = targets
        total = x - x.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        power = total_2.rsqrt()
        product = power * self.gamma
        x0 = fixed.feature @ self.W_in
        x0 += self.lambda_
        total_3 = x0 - x0.mean(2)[:, :, None]
        total_4 = (total_3 * total_3).mean(2)
        total_4 += 1e-05
        power_2 = total_4.rsqrt()
        product_2 = power_2 * self.gamma
        g1 = total_3 * product_2[:, :, None]
        g1 += self.delta
        g = total * product[:, :, None]
        g += self.delta
        total_5 = g1 @ self.U0.T
        total_5 += g @ self.U1.T
        total_5 += self.b_u
        total_6 = -anomalous
        total_6 += 1
        product_3 = scored * scored.sum(1).reciprocal()[:, None]
        hidden = torch.relu(total_5)
        total_7 = hidden @ self.w
        total_7 += self.b_w
        sigma = (scored * total_6).sum(1) * (anomalous * scored).sum(1).reciprocal()
        total_8 = total_6 * product_3 * torch.sigmoid(total_7)
        total_8 -= anomalous * sigma[:, None] * product_3 * torch.sigmoid_(-total_7)
        pull_hidden = total_8[:, :, None] * self.w
        product_4 = step(total_5) * pull_hidden
        pull_g = product_4 @ self.U1
        product_5 = (total * pull_g).sum(2)
        total_9 = pull_g * product[:, :, None]
        total_9.add_(total * (total_2 ** (-1.5) * (product_5 * self.gamma))[:, :, None], alpha=-0.015625)
        slope_x = total_9 - total_9.mean(2)[:, :, None]
        if not params:
            return [slope_x], {}
        pull_g1 = product_4 @ self.U0
        product_6 = total_4 ** (-1.5) * (pull_g1 * (total_3 * self.gamma)).sum(2)
        pull_x0 = pull_g1 * product_2[:, :, None]
        pull_x0.add_(total_3 * product_6[:, :, None], alpha=-0.015625)
        pull_x0 -= (
            pull_g1 * product_2[:, :, None] - 0.015625 * (total_3 * product_6[:, :, None])
        ).mean(2)[:, :, None]
        total_10 = pull_g + pull_g1
        return [slope_x], {
            "W_in": torch.einsum("Bnf,Bnd->fd", fixed.feature, pull_x0),
            "lambda": pull_x0.sum(0),
            "gamma": (power * product_5).sum() + (pull_g1 * (total_3 * power_2[:, :, None])).sum(),
            "delta": total_10.sum((0, 1)),
            "U0": torch.einsum("Bnd,Bnu->ud", g1, product_4),
            "U1": torch.einsum("Bnd,Bnu->ud", g, product_4),
            "b_u": product_4.sum((0, 1)),
            "w": torch.einsum("Bnu,Bn->u", hidden, total_8),
            "b_w": total_8.sum(),
        }

    def _force_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T seeds, J = dF/dz; and <seeds, dF/dtheta> summed over the batch."""
        (x,) = states
        (seed_x,) = seeds
        total = x - x.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        power = total_2.rsqrt()
        product = power * self.gamma
        g = total * product[:, :, None]
        g += self.delta
        xi_g = g @ self.xi.T
        product_2 = step(xi_g).transpose(1, 2) * (seed_x @ self.xi.T).transpose(1, 2)
        k = torch.einsum("Bnd,yhd->Bhny", g, self.W_k)
        src_k = gather(k, fixed.src, 2)
        q = torch.einsum("Bnd,yhd->Bhny", g, self.W_q)
        dst_q = gather(q, fixed.dst, 2)
        product_3 = (src_k * dst_q).sum(3)
        s = product_3 * self.beta_2
        weights = segment_softmax(s, fixed.dst[:, None, :], 2000)
        product_4 = weights * fixed.offset
        product_5 = product_4 * self.beta_2
        product_6 = gather(torch.einsum("Bnd,yhd->Bnhy", seed_x, self.W_q), fixed.dst, 1)
        product_7 = gather(torch.einsum("Bnd,yhd->Bnhy", seed_x, self.W_k), fixed.src, 1)
        total_3 = -(src_k * product_6.transpose(1, 2)).sum(3)
        total_3 -= (dst_q * product_7.transpose(1, 2)).sum(3)
        product_8 = total_3 * self.beta_2
        product_9 = weights * (product_8 * fixed.offset)
        pull_s = weights * gather(segment_sum(product_9, fixed.dst, 2, 2000), fixed.dst, 2)
        pull_s -= product_9
        beta_2_pull_s = pull_s * self.beta_2
        pull_k = segment_sum(product_6.transpose(1, 2) * product_5[:, :, :, None], fixed.src, 2, 2000)
        pull_k += segment_sum(dst_q * beta_2_pull_s[:, :, :, None], fixed.src, 2, 2000)
        pull_q = segment_sum(product_7.transpose(1, 2) * product_5[:, :, :, None], fixed.dst, 2, 2000)
        pull_q += segment_sum(src_k * beta_2_pull_s[:, :, :, None], fixed.dst, 2, 2000)
        pull_g = torch.einsum("Bjn,jd->Bnd", product_2, self.xi)
        pull_g += torch.einsum("Bhny,yhd->Bnd", pull_k, self.W_k)
        pull_g += torch.einsum("Bhny,yhd->Bnd", pull_q, self.W_q)
        product_10 = (total * pull_g).sum(2)
        total_4 = pull_g * product[:, :, None]
        total_4.add_(total * (total_2 ** (-1.5) * (product_10 * self.gamma))[:, :, None], alpha=-0.015625)
        back_x = total_4 - total_4.mean(2)[:, :, None]
        if not params:
            return [back_x], {}
        return [back_x], {
            "W_q": (
                torch.einsum(
                    "Bhny,Bnd->yhd",
                    segment_sum(src_k * product_5[:, :, :, None], fixed.dst, 2, 2000),
                    seed_x,
                )
                + torch.einsum("Bhny,Bnd->yhd", pull_q, g)
            ),
            "W_k": (
                torch.einsum(
                    "Bhny,Bnd->yhd",
                    segment_sum(dst_q * product_5[:, :, :, None], fixed.src, 2, 2000),
                    seed_x,
                )
                + torch.einsum("Bhny,Bnd->yhd", pull_k, g)
            ),
            "xi": torch.einsum("Bnd,Bnj->jd", seed_x, torch.relu(xi_g)) + torch.einsum("Bnd,Bjn->jd", g, product_2),
            "gamma": (power * product_10).sum(),
            "delta": pull_g.sum((0, 1)),
            "beta": (
                (product_3 * pull_s).sum()
                + (weights * product_8).sum((1, 2)).sum() * fixed.offset_2
                - (product_4 * total_3).sum()
            ),
        }

    def _start_pullback(self, fixed: Fixed, seeds: Tensors) -> dict[str, Tensor]:
        """<seeds, d start> by params and clamps."""
        (seed_x,) = seeds
        grad_feature = seed_x @ self.W_in.T
        return {
            "feature": grad_feature,
            "W_in": torch.einsum("Bnf,Bnd->fd", fixed.feature, seed_x),
            "lambda": seed_x.sum(0),
        }

    def _readout_pullback(
        self, states: Tensors, fixed: Fixed, seeds: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<seeds, d readouts> by states, and by params and clamps."""
        (x,) = states
        (seed_logit,) = seeds
        total = x - x.mean(2)[:, :, None]
        total_2 = (total * total).mean(2)
        total_2 += 1e-05
        power = total_2.rsqrt()
        product = power * self.gamma
        pull_hidden = seed_logit[:, :, None] * self.w
        x0 = fixed.feature @ self.W_in
        x0 += self.lambda_
        total_3 = x0 - x0.mean(2)[:, :, None]
        total_4 = (total_3 * total_3).mean(2)
        total_4 += 1e-05
        power_2 = total_4.rsqrt()
        product_2 = power_2 * self.gamma
        g1 = total_3 * product_2[:, :, None]
        g1 += self.delta
        g = total * product[:, :, None]
        g += self.delta
        total_5 = g1 @ self.U0.T
        total_5 += g @ self.U1.T
        total_5 += self.b_u
        product_3 = pull_hidden * step(total_5)
        pull_g = product_3 @ self.U1
        product_4 = (total * pull_g).sum(2)
        total_6 = pull_g * product[:, :, None]
        total_6.add_(total * (total_2 ** (-1.5) * (product_4 * self.gamma))[:, :, None], alpha=-0.015625)
        back_x = total_6 - total_6.mean(2)[:, :, None]
        pull_g1 = product_3 @ self.U0
        product_5 = total_4 ** (-1.5) * (total_3 * self.gamma * pull_g1).sum(2)
        pull_x0 = pull_g1 * product_2[:, :, None]
        pull_x0.add_(total_3 * product_5[:, :, None], alpha=-0.015625)
        pull_x0 -= (
            pull_g1 * product_2[:, :, None] - 0.015625 * (total_3 * product_5[:, :, None])
        ).mean(2)[:, :, None]
        total_7 = pull_g + pull_g1
        hidden = torch.relu(total_5)
        grad_feature = pull_x0 @ self.W_in.T
        return [back_x], {
            "feature": grad_feature,
            "W_in": torch.einsum("Bnf,Bnd->fd", fixed.feature, pull_x0),
            "lambda": pull_x0.sum(0),
            "gamma": (power * product_4).sum() + (total_3 * power_2[:, :, None] * pull_g1).sum(),
            "delta": total_7.sum((0, 1)),
            "U0": torch.einsum("Bnd,Bnu->ud", g1, product_3),
            "U1": torch.einsum("Bnd,Bnu->ud", g, product_3),
            "b_u": product_3.sum((0, 1)),
            "w": torch.einsum("Bnu,Bn->u", hidden, seed_logit),
            "b_w": seed_logit.sum(),
        }


class EtAnomaly(EtAnomalyEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = (bptt, implicit)
