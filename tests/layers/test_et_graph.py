"""The Energy Transformer on graphs (Hoover et al. 2023, appendix F): stacked blocks, a weighted adjacency, noise."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from tests.layers.judging import Tensors, by_autograd, close, drawn, loaded, randomised

TEXT = """
dim M = 4, N = M + 1, F = 3
dim D = 4, H = 2, Y = 3, K = 5, E = 2, R = 3
dim L = 2, T = 3, Z = 2, J = 2
clamp  feature[M, F]
clamp  adj[N, N] : J
clamp  eig[N, E]
target label : Z

param W_in[F, D], CLS[D], W_pos[E, D], W_out[D, Z] ~ normal(0.02)
param b_in[D] = 0, b_pos[D] = 0, b_out[Z] = 0
param conv[H, R, R] ~ normal(0.02)

let emb[m,d] = sum[f](feature[m,f] * W_in[f,d]) + b_in[d]
let x0[n,d]  = where(n == 0, CLS[d], emb[n - 1, d]) + sum[e](eig[n,e] * W_pos[e,d]) + b_pos[d]
let gram[n,m] = sum[d](x0[n,d] * x0[m,d])
let weight[h, n in N, m in N] = sum[a in R, b in R | 0 <= n + a - 1 < N and 0 <= m + b - 1 < N](
                           conv[h,a,b] * gram[n + a - 1, m + b - 1])

repeat L {
  state stream[N, D]
  start stream[n,d] = x0[n,d]

  layer block {
    param W_q[Y, H, D], W_k[Y, H, D], xi[K, D] ~ normal(0.02)
    param gamma = 1, delta[D] = 0, beta = 1/sqrt(Y)
    noise eps[T, N, D] ~ normal(0.02)

    state x[N, D]
    start x[n,d] = stream[n,d]
    let g[n,d]   = gamma * layernorm[d](x[n,d]) + delta[d]
    let q[h,n,y] = sum[d](W_q[y,h,d] * g[n,d])
    let k[h,n,y] = sum[d](W_k[y,h,d] * g[n,d])
    energy att = -1/beta * sum[h,n](logsumexp[m | m != n and adj[n,m] == 1](
                           beta * weight[h,n,m] * sum[y](k[h,m,y] * q[h,n,y])))
    energy mem = -1/2 * sum[n,j](relu(sum[d](xi[j,d] * g[n,d]))^2)
    flow x[n,d] = -grad(att + mem, g[n,d]) - eps[t,n,d]
    relax t in T { step = 0.3 }
  }
  next stream[n,d] = block.x[n,d]
}

readout logits[z] = sum[d](stream[0,d] * W_out[d,z]) + b_out[z]
cost ce = cross_entropy[z](logits[z], label)
metric accuracy = correct[z](logits[z], label)
train { rule = bptt }
"""


def energy(p: Tensors, g: Tensor, weight: Tensor, joined: Tensor) -> Tensor:
    query, key = (torch.einsum("yhd,bnd->bhny", p[name], g) for name in ("W_q", "W_k"))
    scores = p["beta"] * weight * (query @ key.transpose(2, 3))
    attention = torch.zeros((), dtype=g.dtype)
    for sample in range(len(g)):  # node by node: one without neighbours adds nothing
        for node in range(g.shape[1]):
            neighbours = [m for m in range(g.shape[1]) if m != node and bool(joined[sample, node, m])]
            if neighbours:
                attention = attention - scores[sample, :, node, neighbours].logsumexp(1).sum() / p["beta"]
    return attention - 0.5 * F.relu(g @ p["xi"].T).square().sum()


def transcribed(p: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
    embedded = clamps["feature"] @ p["W_in"] + p["b_in"]
    cls = p["CLS"].expand(len(embedded), 1, -1)
    x = torch.cat([cls, embedded], 1) + clamps["eig"] @ p["W_pos"] + p["b_pos"]
    weight = F.conv2d((x @ x.transpose(1, 2))[:, None], p["conv"][:, None], padding=1)
    for copy in range(2):
        own = {name.partition(".")[2]: value[copy] for name, value in p.items() if name.startswith("block.")}
        for _ in range(3):
            g = own["gamma"] * F.layer_norm(x, x.shape[-1:]) + own["delta"]
            (slope,) = torch.autograd.grad(energy(own, g, weight, clamps["adj"] == 1), g, create_graph=True)
            x = x - 0.3 * slope
    logits = x[:, 0] @ p["W_out"] + p["b_out"]
    return F.cross_entropy(logits, targets["label"], reduction="none")


def test_without_noise_it_is_the_transcription() -> None:
    net = loaded(TEXT)
    assert net.rules == ("bptt",)  # where steps are numbered nothing rests
    randomised(net, 0.6)
    net.eval()
    clamps, targets = drawn(net)
    costs, expected = by_autograd(net, transcribed, clamps, targets)
    found = net.gradients(clamps, targets)
    torch.testing.assert_close(found.cost, costs, rtol=0, atol=1e-9)
    close(found.params, expected, 1e-9)


def test_noise_is_drawn_while_training_from_torchs_seed() -> None:
    net = loaded(TEXT)
    clamps, _ = drawn(net)
    quiet = net.eval().relax(clamps).states["block.x"]
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        draws.append(net.train().relax(clamps).states["block.x"])
    torch.testing.assert_close(draws[0], draws[1], rtol=0, atol=0)
    assert float((draws[0] - draws[2]).abs().max()) > 1e-3 < float((draws[0] - quiet).abs().max())
