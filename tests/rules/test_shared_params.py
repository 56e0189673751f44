"""Gradients where a term is easily overlooked: a param of a force that an energy reads too, a condition on a target."""

from __future__ import annotations

import pytest
import torch

import energyc

SHARED = """
network shared
dim D = 3
clamp x[D]
target t[D]
param S[D, D] ~ normal(0.2)
state z[D]
energy drawn = 1/2 * sum[d](z[d]^2) - sum[d,e](x[d] * S[d,e] * z[e])
force turn on z[d] = tanh(sum[e](S[e,d] * z[e]))
cost error = 1/2 * sum[d]((z[d] - t[d])^2)
relax { step = 1/2, steps = 200 }
nudge { beta = 1/10000, steps = 200 }
"""
CONDITION = """
network condition
dim D = 3
clamp x[D]
target t[D]
param S[D, D] ~ normal(0.3)
state z[D]
energy drawn = 1/2 * sum[d](z[d]^2) - sum[d,e](x[d] * S[d,e] * z[e])
cost error = sum[d](where(t[d] >= 0, (z[d] - t[d])^2, 1/4 * z[d]^2))
relax { step = 1/2, steps = 80 }
nudge { steps = 80, points = 4, radius = 1/100 }
"""


@pytest.mark.parametrize(("spec", "rule"), [(SHARED, "tracking-aep"), (SHARED, "aep"), (CONDITION, "holomorphic-ep")])
def test_it_is_the_implicit_gradient(spec: str, rule: str) -> None:
    net = energyc.load(spec, rules=[rule, "implicit"], dtype=torch.float64, target="torch")
    random = torch.Generator().manual_seed(3)
    x, t = (torch.randn(4, 3, generator=random, dtype=torch.float64) for _ in range(2))
    found, exact = (net.gradients({"x": x}, {"t": t}, each).params["S"] for each in (rule, "implicit"))
    assert float((found - exact).norm()) <= 1e-6 * float(exact.norm())
