"""et_anomaly: Energy Transformer, node anomaly detection on a sparse graph (Hoover et al. 2023, section 4,
appendix B).
Edge e goes from src[e] to dst[e]; a guard `dst[e] == n` is a sum over the edges into n, never a table of N by
E.

Made by energyc 0.2.0 from et_anomaly.energy
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

N, E, F_2, D, H, Y, K, U = 2000, 24000, 8, 64, 2, 32, 128, 64


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


class Lets(NamedTuple):
    """The lets at some states, and parts of them."""

    x0_centered: Tensor
    x0_variance: Tensor
    x0_variance_rsqrt: Tensor
    g1_part: Tensor
    g1: Tensor
    x_centered: Tensor
    x_variance: Tensor
    x_variance_rsqrt: Tensor
    g_part: Tensor
    g: Tensor
    relu_argument: Tensor


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
    state_shapes = {"x": (N, D)}
    clamp_shapes = {"feature": ((N, F_2), None), "src": ((E,), N), "dst": ((E,), N)}
    target_shapes = {"anomalous": ((N,), None), "scored": ((N,), None)}
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
        self.W_in = self._param(normal(random, (F_2, D), 0.1767766952966369))
        self.lambda_ = self._param(normal(random, (N, D), 0.02))
        self.W_q = self._param(normal(random, (Y, H, D), 0.02))
        self.W_k = self._param(normal(random, (Y, H, D), 0.02))
        self.xi = self._param(normal(random, (K, D), 0.02))
        self.gamma = self._param(torch.full((), 1.0, dtype=torch.float64))
        self.delta = self._param(torch.full((D,), 0.0, dtype=torch.float64))
        self.beta_2 = self._param(torch.full((), 0.1767766952966369, dtype=torch.float64))
        self.U0 = self._param(normal(random, (U, D), 0.1767766952966369))
        self.U1 = self._param(normal(random, (U, D), 0.1767766952966369))
        self.b_u = self._param(torch.full((U,), 0.0, dtype=torch.float64))
        self.w = self._param(uniform(random, (U,), -0.125, 0.125))
        self.b_w = self._param(torch.full((), 0.0, dtype=torch.float64))

    def _prepare(self, feature: Tensor, src: Tensor, dst: Tensor) -> Fixed:
        """The quantities that depend on clamps and params alone."""
        offset = self.beta_2.reciprocal()
        offset_2 = self.beta_2 ** -2
        return Fixed(feature, src, dst, offset, offset_2)

    def _lets(self, states: Tensors, fixed: Fixed) -> Lets:
        """The lets, and parts of them, that _readouts, _cost, _cost_vjp and _readout_vjp share."""
        (x,) = states
        x0 = fixed.feature @ self.W_in
        x0 += self.lambda_
        x0_centered = x0 - x0.mean(2)[:, :, None]
        x0_variance = (x0_centered * x0_centered).mean(2)
        x0_variance += 1e-05
        x0_variance_rsqrt = x0_variance.rsqrt()
        g1_part = x0_variance_rsqrt * self.gamma
        g1 = x0_centered * g1_part[:, :, None]
        g1 += self.delta
        x_centered = x - x.mean(2)[:, :, None]
        x_variance = (x_centered * x_centered).mean(2)
        x_variance += 1e-05
        x_variance_rsqrt = x_variance.rsqrt()
        g_part = x_variance_rsqrt * self.gamma
        g = x_centered * g_part[:, :, None]
        g += self.delta
        relu_argument = g1 @ self.U0.T
        relu_argument += g @ self.U1.T
        relu_argument += self.b_u
        return Lets(
            x0_centered,
            x0_variance,
            x0_variance_rsqrt,
            g1_part,
            g1,
            x_centered,
            x_variance,
            x_variance_rsqrt,
            g_part,
            g,
            relu_argument,
        )

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
        x_centered = x - x.mean(2)[:, :, None]
        x_variance = (x_centered * x_centered).mean(2)
        x_variance += 1e-05
        g = x_centered * (x_variance.rsqrt() * self.gamma)[:, :, None]
        g += self.delta
        k = torch.einsum("Bnd,yhd->Bhny", g, self.W_k)
        q = torch.einsum("Bnd,yhd->Bhny", g, self.W_q)
        s = (gather(k, fixed.src, 2) * gather(q, fixed.dst, 2)).sum(3) * self.beta_2
        logsumexp = segment_logsumexp(s, fixed.dst[:, None, :], N)
        energy_att = -(logsumexp.sum((1, 2)) * fixed.offset)
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
        x_centered = x - x.mean(2)[:, :, None]
        x_variance = (x_centered * x_centered).mean(2)
        x_variance += 1e-05
        g = x_centered * (x_variance.rsqrt() * self.gamma)[:, :, None]
        g += self.delta
        q = torch.einsum("Bnd,yhd->Bhny", g, self.W_q)
        dst_q = gather(q, fixed.dst, 2)
        k = torch.einsum("Bnd,yhd->Bhny", g, self.W_k)
        src_k = gather(k, fixed.src, 2)
        s = (src_k * dst_q).sum(3) * self.beta_2
        weights = segment_softmax(s, fixed.dst[:, None, :], N)
        force_x_part = weights * fixed.offset * self.beta_2
        force_x = torch.relu_(g @ self.xi.T) @ self.xi
        force_x += torch.einsum(
            "Bhny,yhd->Bnd",
            segment_sum(dst_q * force_x_part[:, :, :, None], fixed.src, 2, N),
            self.W_k,
        )
        force_x += torch.einsum(
            "Bhny,yhd->Bnd",
            segment_sum(src_k * force_x_part[:, :, :, None], fixed.dst, 2, N),
            self.W_q,
        )
        return [force_x]

    def _readouts(self, states: Tensors, fixed: Fixed) -> list[Tensor]:
        """The readouts.

        readout logit[n] = sum[u](w[u] * hidden[n,u]) + b_w
        """
        lets = self._lets(states, fixed)
        hidden = torch.relu_(lets.relu_argument)
        logit = hidden @ self.w
        logit += self.b_w
        return [logit]

    def _cost(self, states: Tensors, fixed: Fixed, targets: Tensors) -> list[Tensor]:
        """The cost of each sample.

        cost ce = -sum[n](scored[n] * (sigma * anomalous[n] * logsigmoid(logit[n]) + (1 - anomalous[n]) *
            logsigmoid(-logit[n]))) / sum[n](scored[n])
        """
        anomalous, scored = targets
        lets = self._lets(states, fixed)
        hidden = torch.relu_(lets.relu_argument)
        logsigmoid_argument = hidden @ self.w
        logsigmoid_argument += self.b_w
        total = -anomalous
        total += 1
        sigma = (scored * total).sum(1) * (anomalous * scored).sum(1).reciprocal()
        cost_part = F.logsigmoid(logsigmoid_argument) * (anomalous * sigma[:, None])
        cost_part += total * F.logsigmoid(-logsigmoid_argument)
        cost_part_2 = scored.sum(1).reciprocal() * (scored * cost_part).sum(1)
        cost = -cost_part_2
        return [cost]

    def _cost_vjp(
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
        anomalous, scored = targets
        lets = self._lets(states, fixed)
        total = -anomalous
        total += 1
        product = scored * scored.sum(1).reciprocal()[:, None]
        hidden = torch.relu(lets.relu_argument)
        sigmoid_argument = hidden @ self.w
        sigmoid_argument += self.b_w
        sigma = (scored * total).sum(1) * (anomalous * scored).sum(1).reciprocal()
        total_2 = total * product * torch.sigmoid(sigmoid_argument)
        total_2 -= anomalous * sigma[:, None] * product * torch.sigmoid_(-sigmoid_argument)
        pull_hidden = total_2[:, :, None] * self.w
        product_2 = step(lets.relu_argument) * pull_hidden
        pull_g = product_2 @ self.U1
        product_3 = (lets.x_centered * pull_g).sum(2)
        slope_x_part = pull_g * lets.g_part[:, :, None]
        slope_x_part.add_(
            lets.x_centered * (lets.x_variance ** -1.5 * (product_3 * self.gamma))[:, :, None],
            alpha=-1 / D,
        )
        slope_x = slope_x_part - slope_x_part.mean(2)[:, :, None]
        if not params:
            return [slope_x], {}
        pull_g1 = product_2 @ self.U0
        pull_x0_part = lets.x0_variance ** -1.5 * (pull_g1 * (lets.x0_centered * self.gamma)).sum(2)
        pull_x0 = pull_g1 * lets.g1_part[:, :, None]
        pull_x0.add_(lets.x0_centered * pull_x0_part[:, :, None], alpha=-1 / D)
        pull_x0 -= (
            pull_g1 * lets.g1_part[:, :, None] - 1 / D * (lets.x0_centered * pull_x0_part[:, :, None])
        ).mean(2)[:, :, None]
        grad_delta_part = pull_g + pull_g1
        return [slope_x], {
            "W_in": torch.einsum("Bnf,Bnd->fd", fixed.feature, pull_x0),
            "lambda": pull_x0.sum(0),
            "gamma": (
                (lets.x_variance_rsqrt * product_3).sum()
                + (pull_g1 * (lets.x0_centered * lets.x0_variance_rsqrt[:, :, None])).sum()
            ),
            "delta": grad_delta_part.sum((0, 1)),
            "U0": torch.einsum("Bnd,Bnu->ud", lets.g1, product_2),
            "U1": torch.einsum("Bnd,Bnu->ud", lets.g, product_2),
            "b_u": product_2.sum((0, 1)),
            "w": torch.einsum("Bnu,Bn->u", hidden, total_2),
            "b_w": total_2.sum(),
        }

    def _force_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors, params: bool = True
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
        (x,) = states
        (cot_x,) = cotangents
        x_centered = x - x.mean(2)[:, :, None]
        x_variance = (x_centered * x_centered).mean(2)
        x_variance += 1e-05
        x_variance_rsqrt = x_variance.rsqrt()
        product = x_variance_rsqrt * self.gamma
        g = x_centered * product[:, :, None]
        g += self.delta
        xi_g = g @ self.xi.T
        product_2 = step(xi_g).transpose(1, 2) * (cot_x @ self.xi.T).transpose(1, 2)
        k = torch.einsum("Bnd,yhd->Bhny", g, self.W_k)
        src_k = gather(k, fixed.src, 2)
        q = torch.einsum("Bnd,yhd->Bhny", g, self.W_q)
        dst_q = gather(q, fixed.dst, 2)
        product_3 = (src_k * dst_q).sum(3)
        s = product_3 * self.beta_2
        weights = segment_softmax(s, fixed.dst[:, None, :], N)
        product_4 = weights * fixed.offset
        product_5 = product_4 * self.beta_2
        product_6 = gather(torch.einsum("Bnd,yhd->Bnhy", cot_x, self.W_q), fixed.dst, 1)
        product_7 = gather(torch.einsum("Bnd,yhd->Bnhy", cot_x, self.W_k), fixed.src, 1)
        total = -(src_k * product_6.transpose(1, 2)).sum(3)
        total -= (dst_q * product_7.transpose(1, 2)).sum(3)
        product_8 = total * self.beta_2
        pull_s_part = weights * (product_8 * fixed.offset)
        pull_s = weights * gather(segment_sum(pull_s_part, fixed.dst, 2, N), fixed.dst, 2)
        pull_s -= pull_s_part
        beta_2_pull_s = pull_s * self.beta_2
        pull_k = segment_sum(product_6.transpose(1, 2) * product_5[:, :, :, None], fixed.src, 2, N)
        pull_k += segment_sum(dst_q * beta_2_pull_s[:, :, :, None], fixed.src, 2, N)
        pull_q = segment_sum(product_7.transpose(1, 2) * product_5[:, :, :, None], fixed.dst, 2, N)
        pull_q += segment_sum(src_k * beta_2_pull_s[:, :, :, None], fixed.dst, 2, N)
        pull_g = torch.einsum("Bjn,jd->Bnd", product_2, self.xi)
        pull_g += torch.einsum("Bhny,yhd->Bnd", pull_k, self.W_k)
        pull_g += torch.einsum("Bhny,yhd->Bnd", pull_q, self.W_q)
        product_9 = (x_centered * pull_g).sum(2)
        back_x_part = pull_g * product[:, :, None]
        back_x_part.add_(x_centered * (x_variance ** -1.5 * (product_9 * self.gamma))[:, :, None], alpha=-1 / D)
        back_x = back_x_part - back_x_part.mean(2)[:, :, None]
        if not params:
            return [back_x], {}
        return [back_x], {
            "W_q": (
                torch.einsum("Bhny,Bnd->yhd", segment_sum(src_k * product_5[:, :, :, None], fixed.dst, 2, N), cot_x)
                + torch.einsum("Bhny,Bnd->yhd", pull_q, g)
            ),
            "W_k": (
                torch.einsum("Bhny,Bnd->yhd", segment_sum(dst_q * product_5[:, :, :, None], fixed.src, 2, N), cot_x)
                + torch.einsum("Bhny,Bnd->yhd", pull_k, g)
            ),
            "xi": torch.einsum("Bnd,Bnj->jd", cot_x, torch.relu(xi_g)) + torch.einsum("Bnd,Bjn->jd", g, product_2),
            "gamma": (x_variance_rsqrt * product_9).sum(),
            "delta": pull_g.sum((0, 1)),
            "beta": (
                (product_3 * pull_s).sum()
                + (weights * product_8).sum((1, 2)).sum() * fixed.offset_2
                - (product_4 * total).sum()
            ),
        }

    def _start_vjp(self, fixed: Fixed, cotangents: Tensors) -> dict[str, Tensor]:
        """<cotangents, d start> by params and clamps."""
        (cot_x,) = cotangents
        grad_feature = cot_x @ self.W_in.T
        return {
            "feature": grad_feature,
            "W_in": torch.einsum("Bnf,Bnd->fd", fixed.feature, cot_x),
            "lambda": cot_x.sum(0),
        }

    def _readout_vjp(
        self, states: Tensors, fixed: Fixed, cotangents: Tensors
    ) -> tuple[list[Tensor | None], dict[str, Tensor]]:
        """<cotangents, d readouts> by states, and by params and clamps."""
        (cot_logit,) = cotangents
        lets = self._lets(states, fixed)
        pull_hidden = cot_logit[:, :, None] * self.w
        product = pull_hidden * step(lets.relu_argument)
        pull_g = product @ self.U1
        product_2 = (lets.x_centered * pull_g).sum(2)
        back_x_part = pull_g * lets.g_part[:, :, None]
        back_x_part.add_(
            lets.x_centered * (lets.x_variance ** -1.5 * (product_2 * self.gamma))[:, :, None],
            alpha=-1 / D,
        )
        back_x = back_x_part - back_x_part.mean(2)[:, :, None]
        pull_g1 = product @ self.U0
        pull_x0_part = lets.x0_variance ** -1.5 * (lets.x0_centered * self.gamma * pull_g1).sum(2)
        pull_x0 = pull_g1 * lets.g1_part[:, :, None]
        pull_x0.add_(lets.x0_centered * pull_x0_part[:, :, None], alpha=-1 / D)
        pull_x0 -= (
            pull_g1 * lets.g1_part[:, :, None] - 1 / D * (lets.x0_centered * pull_x0_part[:, :, None])
        ).mean(2)[:, :, None]
        grad_delta_part = pull_g + pull_g1
        hidden = torch.relu(lets.relu_argument)
        grad_feature = pull_x0 @ self.W_in.T
        return [back_x], {
            "feature": grad_feature,
            "W_in": torch.einsum("Bnf,Bnd->fd", fixed.feature, pull_x0),
            "lambda": pull_x0.sum(0),
            "gamma": (
                (lets.x_variance_rsqrt * product_2).sum()
                + (lets.x0_centered * lets.x0_variance_rsqrt[:, :, None] * pull_g1).sum()
            ),
            "delta": grad_delta_part.sum((0, 1)),
            "U0": torch.einsum("Bnd,Bnu->ud", lets.g1, product),
            "U1": torch.einsum("Bnd,Bnu->ud", lets.g, product),
            "b_u": product.sum((0, 1)),
            "w": torch.einsum("Bnu,Bn->u", hidden, cot_logit),
            "b_w": cot_logit.sum(),
        }


class EtAnomaly(EtAnomalyEquations, EnergyNetwork):
    """The network: its equations, relaxed and learned."""

    learning_rules = {"bptt": bptt, "implicit": implicit}
