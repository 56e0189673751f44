"""A layer whose kinks move by proximal steps, beside autograd of steps that are written out."""

from __future__ import annotations

import pytest
import torch

import energyc
from energyc.pipeline import read, resolve
from energyc.studies.verify import random_probe
from energyc.studies.verify.layers import by_autograd

TEXT = """\
network stack
dim I = 5, N = 6, G = 2, D = 3, K = 2
clamp x[I]
target y[K]
param V[K, N] ~ normal(0.5), U[K, G, D] ~ normal(0.5)
layer code {
  param W[I, N] ~ normal(0.5), Z[I, G, D] ~ normal(0.5)
  param l = 0.2 in nonnegative, m[N] = 0.1 in [0, 1], h = 0.3 in nonnegative
  state s[N] in [-1, 1], g[G, D]
  energy fit = 1/2 * sum[i]((x[i] - sum[n](W[i,n] * s[n]) - sum[j,d](Z[i,j,d] * g[j,d]))^2)
  energy sparsity = l * sum[n](abs(s[n])) + sum[n](m[n] * relu(s[n] - 1/4)) + h * sum[j](sqrt(sum[d](g[j,d]^2)))
  relax { step = 0.2, steps = 12 }
}
readout out[k] = sum[n](V[k,n] * code.s[n]) + sum[j,d](U[k,j,d] * code.g[j,d])
cost mse = sum[k]((out[k] - y[k])^2)
train { rule = bptt }
"""


@pytest.mark.slow
def test_a_layer_with_kinks() -> None:
    network = resolve(read(TEXT))
    net = energyc.load(TEXT, rules=["bptt"], dtype=torch.float64, seed=1)
    probe = random_probe(net, batch=3, seed=0)
    found = net.gradients(probe.clamps, probe.targets, rule="bptt").params
    expected = by_autograd(network, net, probe)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=1e-9, atol=1e-12)
    assert all(float(expected[name].abs().max()) > 1e-6 for name in ("code.l", "code.m", "code.h", "code.W"))
    assert any("on g moves by a proximal step" in note for note in energyc.check(TEXT).layers["code"].notes)
