"""Autograd goes through whatever stands around layers, also where guards leave nothing over."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.layers.judging import Tensors, agree, drawn, loaded

REDUCTIONS = """
dim N = 4, D = 3, E = 6
clamp w[N, D], dst[E] : N
target y[N]
param Q[D], r[D] ~ normal(0.5)
let above[i in N, d] = logsumexp[j | j > i](w[j,d] * r[d])
let weighed[i] = sum[j](softmax[j | j > i](w[j,0] * r[0] - w[i,1]) * w[j,2])
let most[i in N] = max[j | j > i](w[j,0] * r[0])
let into[n] = logsumexp[e | dst[e] == n](r[0] * w[dst[e],1]) + max[e | dst[e] == n](r[1] * w[dst[e],1]) +
    sum[e | dst[e] == n](r[2] * w[dst[e],2])
let share[e] = sum[n](softmax[e | dst[e] == n](r[0] * w[dst[e],1] + r[1]) * w[n,0])
let bent[i] = relu(r[0] * w[i,0]) + abs(r[1] * w[i,1]) + sqrt(1 + r[2]^2) + silu(sum[d](w[i,d] * r[d])) + sign(r[0])
layer up {
  param c = 1
  state z[N]
  energy e = 1/2 * sum[i]((z[i] - into[i] - sum[d](above[i,d] * Q[d]))^2) + sum[i](softplus(c * z[i] * most[i]))
  energy edges = sum[i](logsumexp[e | dst[e] == i](z[i] * w[dst[e],0]))
  relax { step = 0.1, steps = 3 }
}
readout out[i] = up.z[i] * tanh(into[i]) + sum[e](share[e]) + weighed[i] + bent[i]
cost miss = mean[i]((out[i] - y[i])^2)
"""


def by_differences(net: Any, clamps: Tensors, targets: Tensors, way: Tensors) -> float:
    """The slope of the mean cost along a way, by central differences of two widths."""

    def cost_at(h: float) -> float:
        with torch.no_grad():
            for name, param in net._owners().items():
                param.add_(h * way[name])
            value = float(net.cost(net.relax(clamps).states, clamps, targets).mean())
            for name, param in net._owners().items():
                param.sub_(h * way[name])
        return value

    coarse, fine = ((cost_at(h) - cost_at(-h)) / (2 * h) for h in (2e-3, 1e-3))
    return (4 * fine - coarse) / 3


def test_every_reduction_has_a_slope_also_over_nothing() -> None:
    net = loaded(REDUCTIONS)
    clamps, targets = drawn(net)
    clamps["dst"] = torch.tensor([[0, 0, 1, 1, 2, 2], [3, 3, 3, 3, 3, 3], [0, 1, 2, 3, 0, 1]])
    slopes = net.gradients(clamps, targets).params
    random = torch.Generator().manual_seed(5)
    for name, slope in slopes.items():
        way = {n: torch.zeros_like(p) for n, p in slopes.items()}
        way[name] = torch.randn(slope.shape, generator=random, dtype=slope.dtype)
        expected = by_differences(net, clamps, targets, way)
        assert abs(float((slope * way[name]).sum()) - expected) < 1e-8, name


DETACHED = """
dim D = 3
clamp x[D]
target y[D]
param a[D], b[D] ~ normal(0.5)
let held[d] = detach(a[d] * x[d])
let passed[d] = frozen(b[d] * x[d])
layer cell {
  state z[D]
  energy e = 1/2 * sum[d]((z[d] - held[d] - passed[d] * detach(b[d]))^2)
  relax { step = 0.5, steps = 3 }
}
readout out[d] = cell.z[d] * detach(a[d]) + b[d] * a[d]
cost miss = sum[d]((out[d] - y[d])^2)
"""


def test_what_is_detached_is_cut_out_of_training_and_what_is_frozen_is_not() -> None:
    def transcribed(p: Tensors, clamps: Tensors, targets: Tensors) -> torch.Tensor:
        x, a, b = clamps["x"], p["a"], p["b"]
        aim, z = (a * x).detach() + b * x * b.detach(), torch.zeros_like(x)
        for _ in range(3):
            z = z - 0.5 * (z - aim)
        return (z * a.detach() + b * a - targets["y"]).square().sum(1)

    agree(loaded(DETACHED), transcribed)


def test_a_constant_and_a_whole_position_reach_a_layer() -> None:
    text = """
dim N = 3
clamp x[N]
target y[N]
param s ~ normal(1)
let two = 2
let ramp[i in N] = i
let same[i in N] = s
layer cell {
  state z[N]
  start z[i] = same[i]
  energy e = 1/2 * sum[i]((z[i] - two * x[i] - ramp[i] * same[i])^2)
  relax { step = 0.5, steps = 2 }
}
readout out[i] = cell.z[i] * two
cost miss = sum[i]((out[i] - y[i])^2)
"""

    def transcribed(p: Tensors, clamps: Tensors, targets: Tensors) -> torch.Tensor:
        x, ramp = clamps["x"], torch.arange(3, dtype=torch.float64)
        z = p["s"].expand_as(x)
        for _ in range(2):
            z = z - 0.5 * (z - 2 * x - ramp * p["s"])
        return (2 * z - targets["y"]).square().sum(1)

    agree(loaded(text), transcribed)


def test_training_is_read_around_layers_alone() -> None:
    """The flag had no name where only what goes from copy to copy reads it."""
    net = loaded(
        """
dim D = 3, L = 2
clamp x[D]
target y[D]
param V[D, D] ~ normal(0.3)
repeat L {
  state h[D]
  start h[d] = x[d]
  layer memory {
    state z[D]
    energy e = 1/2 * sum[d]((z[d] - sum[k](V[d,k] * h[k]))^2)
    relax { step = 1, steps = 1 }
  }
  next h[d] = where(training, memory.z[d], 2 * memory.z[d])
}
readout out[d] = h[d]
cost c = sum[d]((out[d] - y[d])^2)
"""
    )
    clamps, _targets = drawn(net)
    trained = net.train()(clamps)["out"]
    torch.testing.assert_close(net.eval()(clamps)["out"], 4 * trained)


def test_what_is_detached_differs_from_copy_to_copy() -> None:
    """It was taken for alike in all copies, since no derivative passes it, and read before it was there."""
    net = loaded(REPEATED.format(next="h[d] + detach(tanh(memory.z[d]))"))
    clamps, _targets = drawn(net)
    h = clamps["x"]
    for _ in range(2):
        h = h + torch.tanh(h * net.params["v"])
    torch.testing.assert_close(net(clamps)["out"], h, rtol=0, atol=1e-12)


REPEATED = """
dim D = 3, L = 2
clamp x[D]
target y[D]
param v[D] ~ normal(1)
repeat L {{
  state h[D]
  start h[d] = x[d]
  layer memory {{
    state z[D]
    energy e = 1/2 * sum[d]((z[d] - h[d] * v[d])^2)
    relax {{ step = 1, steps = 1 }}
  }}
  next h[d] = {next}
}}
readout out[d] = h[d]
cost c = sum[d]((out[d] - y[d])^2)
"""


@pytest.mark.parametrize("rule", ["bptt", "implicit"])
def test_a_cost_that_no_param_reaches_has_a_gradient_of_zeros(rule: str) -> None:
    net = loaded(REPEATED.format(next="h[d] + detach(memory.z[d])"))
    clamps, targets = drawn(net)
    found = net.gradients(clamps, targets, rule=rule)
    assert not found.params["v"].any() and found.cost.shape == (3,)


@pytest.mark.parametrize("rule", ["bptt", "implicit"])
def test_a_layer_that_reads_nothing_of_a_sample(rule: str) -> None:
    """It relaxes once, for all samples."""
    net = loaded(
        """
dim D = 3, K = 2
clamp x[K]
target y[K]
param v[D] ~ normal(1)
layer shared {
  state z[D]
  energy e = 1/2 * sum[d]((z[d] - v[d])^2)
  relax { step = 1, steps = 1 }
}
layer own {
  state u[K]
  energy e = 1/2 * sum[k]((u[k] - x[k])^2)
  relax { step = 1, steps = 1 }
}
readout out[k] = sum[d](shared.z[d]^2) * own.u[k]
cost c = sum[k]((out[k] - y[k])^2)
"""
    )

    def transcribed(p: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
        return (p["v"].square().sum() * clamps["x"] - targets["y"]).square().sum(1)

    agree(net, transcribed, (rule,))
    clamps, targets = drawn(net)
    found, relaxed = net.gradients(clamps, targets, rule=rule), net.relax(clamps)
    assert found.states["shared.z"].shape == relaxed.states["shared.z"].shape == (3, 3)
    assert found.residual.shape == relaxed.steps.shape == (3,)


ALIKE = """
dim N = 2
clamp x[N]
target y[N]
param b[N] = 1/2
layer rest {
  state z[N]
  energy e = 1/2 * sum[n]((z[n] - b[n])^2)
  relax { step = 1/2, steps = 40 }
}
readout out[n] = rest.z[n]
cost miss = mean[n]((out[n] - y[n])^2)
"""


@pytest.mark.parametrize("rule", ["implicit", "bptt"])
def test_readouts_that_read_no_sample_are_there_for_each(rule: str) -> None:
    """A host adds up over the batch: of one row for all it would take a share."""
    net = loaded(ALIKE)
    clamps, _ = drawn(net)
    count = len(clamps["x"])
    out = net(clamps, rule=rule)["out"]
    (slope,) = torch.autograd.grad(out.sum(), net.params["b"])
    assert count > 1 and out.shape == (count, 2)
    torch.testing.assert_close(slope, torch.full_like(slope, count), rtol=0, atol=1e-9)
