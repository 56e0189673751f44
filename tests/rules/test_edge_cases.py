"""Gradients where a term is easily overlooked, or where there is little to differentiate."""

from __future__ import annotations

import pytest
import torch

import energyc
from tests.emit.kernels import needs_compiler


def normal(*shape: int, seed: int = 3) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


CONSTANT = """network n
dim N = 3
clamp x[N]
target y[N]
param a[N] = 1
state z[N]
start z[n] = a[n]
energy e = sum[n](x[n] * z[n])
readout out[n] = z[n]
cost c = sum[n]((out[n] - y[n])^2)
relax { step = 0.1, steps = 3 }
train { rule = bptt }
"""


@pytest.mark.parametrize("target", ["torch", pytest.param("cpp", marks=(needs_compiler, pytest.mark.slow))])
def test_steps_of_a_force_that_no_state_moves_are_taken_back(target: str) -> None:
    net = energyc.load(CONSTANT, dtype=torch.float64, target=target)
    x, y = normal(4, 3), normal(4, 3, seed=4)
    found = net.gradients({"x": x}, {"y": y}, rule="bptt")
    out = 1 - 0.3 * x  # three steps of 0.1 down the energy
    torch.testing.assert_close(found.params["a"], (2 * (out - y)).mean(0), rtol=1e-12, atol=1e-12)


def test_the_jacobian_of_a_constant_force_is_zero() -> None:
    net = energyc.load(CONSTANT.replace("bptt", "implicit"), dtype=torch.float64)
    ones = torch.ones(2, 3, dtype=torch.float64)
    torch.testing.assert_close(net.relax({"x": ones}).states["z"], 1 - 0.3 * ones, rtol=1e-12, atol=1e-12)


def test_a_cost_that_neither_states_nor_params_reach_has_a_gradient_of_zeros() -> None:
    net = energyc.load(
        """
network apart
dim D = 3
clamp x[D]
target y[D]
param w[D] ~ normal(1)
state z[D]
energy e = 1/2 * sum[d]((z[d] - w[d] * x[d])^2)
readout o[d] = x[d]
cost c = sum[d]((o[d] - y[d])^2)
"""
    )
    for rule in net.rules:
        found = net.gradients({"x": torch.ones(4, 3)}, {"y": torch.zeros(4, 3)}, rule=rule)
        assert not found.params["w"].any() and found.cost.tolist() == [3.0] * 4, rule


#: A param of a force that an energy reads too.
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
#: A condition on a target.
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
    x, t = normal(4, 3), normal(4, 3, seed=4)
    found, exact = (net.gradients({"x": x}, {"t": t}, each).params["S"] for each in (rule, "implicit"))
    assert float((found - exact).norm()) <= 1e-6 * float(exact.norm())
