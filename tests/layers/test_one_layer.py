"""A layer outside of a ``repeat``: at rest it is what its energy says, and gradients go through it."""

from __future__ import annotations

import gc
import weakref

import pytest
import torch
from torch import Tensor

import energyc
from tests.layers.judging import Tensors, agree, close, descended, drawn, loaded

ONE = """
dim I = 3, D = 4, K = 2
clamp x[I]
target y[K]
param V[D, I], U[K, D], W[D, D] ~ normal(0.5)
let drive[d] = tanh(sum[i](V[d,i] * x[i]))
layer settle {
  param b[D] ~ normal(0.5)
  state z[D]
  start z[d] = drive[d]
  energy well = 1/2 * sum[d](z[d]^2) - sum[d](drive[d] * z[d])
  energy bend = sum[d](softplus(b[d] * z[d])) + 1/2 * sum[d](sum[e](W[d,e] * z[e])^2)
  relax { step = 0.3, steps = 300 }
}
readout out[k] = sum[d](U[k,d] * settle.z[d]^2)
cost c = 1/2 * sum[k]((out[k] - y[k])^2)
metric worst = max[k](abs(out[k] - y[k]))
"""


def settled(p: Tensors, clamps: Tensors, steps: int) -> Tensor:
    drive = torch.tanh(clamps["x"] @ p["V"].T)

    def energy(z: Tensor) -> Tensor:
        well = 0.5 * z.square().sum(1) - (drive * z).sum(1)
        return well + torch.nn.functional.softplus(p["settle.b"] * z).sum(1) + 0.5 * (z @ p["W"].T).square().sum(1)

    return descended(energy, drive, 0.3, steps)


def transcribed(p: Tensors, clamps: Tensors, targets: Tensors, steps: int = 300) -> Tensor:
    out = settled(p, clamps, steps).square() @ p["U"].T
    return 0.5 * (out - targets["y"]).square().sum(1)


def test_gradients_go_through_the_steps_and_through_the_equilibrium() -> None:
    agree(loaded(ONE), transcribed, ("bptt", "implicit"))


def test_the_gradient_of_few_steps_is_that_of_the_steps() -> None:
    net = loaded(ONE, **{"settle.relax.steps": 3})
    agree(net, lambda p, clamps, targets: transcribed(p, clamps, targets, 3))
    clamps, targets = drawn(net)
    exact, through = (net.gradients(clamps, targets, rule=rule).params["V"] for rule in ("implicit", "bptt"))
    assert float((exact - through).norm()) > 1e-3 * float(through.norm())


def test_inside_a_host_it_is_differentiable_in_params_and_clamps() -> None:
    net = loaded(ONE)
    clamps, _targets = drawn(net)
    x = clamps["x"].clone().requires_grad_()
    for rule in ("bptt", "implicit"):
        out = net({"x": x}, rule=rule)["out"]
        found = torch.autograd.grad(out.sin().sum(), [x, *net.parameters()])
        params = dict(net._owners().items())
        host = (settled(params, {"x": x}, 300).square() @ params["U"].T).sin().sum()
        expected = torch.autograd.grad(host, [x, *net.parameters()])
        names = ["x", *params]
        close(dict(zip(names, found, strict=False)), dict(zip(names, expected, strict=False)), 1e-9)


def test_what_is_read_of_the_whole() -> None:
    net = loaded(ONE)
    clamps, targets = drawn(net)
    relaxed = net.relax(clamps)
    torch.testing.assert_close(relaxed.states["settle.z"], settled(net.params, clamps, 300), rtol=0, atol=1e-12)
    out = net.readout(relaxed.states, clamps)["out"]
    worst = net.metrics(relaxed.states, clamps, targets)["worst"]
    torch.testing.assert_close(worst, (out - targets["y"]).abs().amax(1))
    assert float(relaxed.residual.max()) < 1e-12 and relaxed.steps.tolist() == [300] * 3
    assert net.gradients(clamps, targets).states.keys() == relaxed.states.keys()


def test_a_layer_can_be_looked_at_alone() -> None:
    net = loaded(ONE)
    clamps, _ = drawn(net)
    layer, inside = net.layer("settle", clamps)
    assert inside.keys() == {"drive"} and layer.params.keys() == {"b", "W"}
    states = {"z": torch.randn(3, 4, dtype=torch.float64).requires_grad_()}
    energy = layer.energy(states, inside)
    p, z = net.params, states["z"]
    well = 0.5 * z.square().sum(1) - (inside["drive"] * z).sum(1)
    expected = well + torch.nn.functional.softplus(p["settle.b"] * z).sum(1) + 0.5 * (z @ p["W"].T).square().sum(1)
    torch.testing.assert_close(energy, expected)
    (slope,) = torch.autograd.grad(expected.sum(), z)
    torch.testing.assert_close(layer.force(states, inside)["z"], -slope)


def test_samples_that_explode_take_no_part() -> None:
    net = loaded(ONE.replace("relax { step", "energy push = -sum[d](z[d]^4)\n  relax { step"))
    with torch.no_grad():
        net.params["V"].zero_()[0, 0] = 20.0
        net.params["W"].zero_()
        net.params["settle.b"].zero_()
    x = torch.tensor([[0.0, 0, 0], [1.0, 0, 0]], dtype=torch.float64)
    y = torch.ones(2, 2, dtype=torch.float64)
    found = net.gradients({"x": x}, {"y": y})
    alone = net.gradients({"x": x[:1]}, {"y": y[:1]})
    assert found.kept.tolist() == [True, False]
    close(found.params, alone.params, 1e-12)


def test_a_layer_that_does_not_settle_says_why() -> None:
    net = loaded(ONE, **{"settle.relax.step": 3, "settle.relax.tolerance": 1e-6})
    clamps, _ = drawn(net)
    cause = net.non_convergence(clamps)
    assert cause is not None and cause.why.startswith("in layer settle, ")
    assert "settle.relax." in cause.helps and net.non_convergence(clamps) == cause
    assert loaded(ONE).non_convergence(clamps) is None


@pytest.mark.slow
def test_an_answer_that_is_a_state_holds_nothing_alive() -> None:
    """The state is kept for the way back: as the answer itself it would keep the whole operation in memory."""
    text = "dim D = 3\nclamp x[D]\nstate z[D]\nenergy e = sum[d]((z[d] - x[d])^2)\nreadout y[d] = z[d]\n"
    net = energyc.load("network n\n" + text)
    x = torch.randn(2, 3, requires_grad=True)
    gc.collect()
    gc.disable()
    try:
        operation = weakref.ref(net({"x": x}, rule="bptt")["y"].grad_fn)
        assert operation() is None
    finally:
        gc.enable()


def test_terms_that_cancel_to_a_number_are_jumped_at() -> None:
    """Over a dim of one entry a mean is the sum, so that the larger of ``m - 1/10`` and the sum is decided by 1/10."""
    text = """
dim I = 3, A = 1
clamp x[I]
target y
param w[A] ~ normal(0.5)
let larger = min(sum[a](w[a]), 1/10 + mean[a](w[a]))
layer settle {
  state z[I]
  energy well = 1/2 * sum[i](z[i]^2) - sum[i](x[i] * z[i])
  relax { step = 1/2, steps = 3 }
}
readout out = larger + sum[i](settle.z[i])
cost mse = 1/2 * (out - y)^2
train { rule = bptt }
"""
    net = loaded(text)
    x = torch.ones(2, 3, dtype=torch.float64)
    found = net(x)
    torch.testing.assert_close(found["out"], net.params["w"].sum() + net.relax({"x": x}).states["settle.z"].sum(1))
