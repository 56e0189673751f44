"""The Thermodynamic Equilibrium Layer against algorithm 1 of its paper, to 1e-9 in float64."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import energyc
from tests.independent import Random, Tensors, tel
from tests.specs.judging import SPECS

INPUTS, CHANNELS, STEPS, BATCH = 6, 5, 5, 7
TOLERANCE = 1e-9
MODES = pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
SEEDS = pytest.mark.parametrize("seed", range(3))


def layer(seed: int, training: bool, **settings: object) -> tuple[Any, Tensors, Tensor]:
    """The compiled layer, its params, and inputs."""
    random = Random(seed)
    params = tel.draw_params(random, INPUTS, CHANNELS, STEPS)
    dims = {"I": INPUTS, "C": CHANNELS, "K": STEPS}
    net = energyc.load(SPECS / "tel.energy", dims=dims, dtype=torch.float64, settings=settings).train(training)
    with torch.no_grad():
        for name, value in params.items():
            net.params[name].copy_(value)
    return net, {name: value.requires_grad_() for name, value in params.items()}, random.normal(BATCH, INPUTS)


@MODES
@SEEDS
def test_the_steps_are_those_of_the_algorithm(training: bool, seed: int) -> None:
    net, params, x = layer(seed, training)
    expected = tel.run(params, x, training)
    trace = net.relax({"x": x}, steps=STEPS, record=("y", "tau")).trace
    for k in range(STEPS + 1):
        torch.testing.assert_close(trace["y"][k], expected.y[k], rtol=TOLERANCE, atol=TOLERANCE)
        torch.testing.assert_close(trace["tau"][k], expected.tau[k].expand(BATCH), rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.abridged(every=2)
@MODES
@SEEDS
def test_gradients_flow_through_the_unroll(training: bool, seed: int) -> None:
    net, params, x = layer(seed, training, **{"relax.tolerance": "none"})
    weights = Random(seed + 100).normal(BATCH, CHANNELS)
    inputs = [x.requires_grad_(), *params.values()]
    wanted = torch.autograd.grad((tel.run(params, x, training).y[-1] * weights).sum(), inputs)
    out = net({"x": x}, rule="bptt")["out"]
    found = torch.autograd.grad((out * weights).sum(), [x, *(net.params[name] for name in params)])
    for name, one, other in zip(["x", *params], found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=TOLERANCE, atol=TOLERANCE, msg=f"{name}, seed {seed}")
    assert all(float(slope.abs().max()) > 0 for slope in found)


@pytest.mark.abridged(every=2)
@pytest.mark.parametrize("patience", [1, 2])
@SEEDS
def test_samples_leave_early_outside_of_training(patience: int, seed: int) -> None:
    net, params, x = layer(seed, False, **{"relax.tolerance": 0.15, "relax.patience": patience})
    scaled = x * torch.logspace(-2, 1, BATCH, dtype=torch.float64)[:, None]
    expected = tel.run(params, scaled, False, 0.15, patience)
    found = net.relax({"x": scaled})
    assert torch.equal(found.steps, expected.steps)
    torch.testing.assert_close(found.states["y"], expected.end.detach(), rtol=TOLERANCE, atol=TOLERANCE)
    assert int(found.steps.min()) < STEPS or seed, "no sample left early: the test shows nothing"


def test_the_layer_with_a_head_is_trained_by_the_same_gradients() -> None:
    dims = {"C": CHANNELS, "K": STEPS}
    net = energyc.load(SPECS / "tel_digits.energy", dims=dims, dtype=torch.float64, seed=4)
    random = Random(8)
    x, label = random.uniform(BATCH, 64), random.integers(BATCH, below=10)
    params = {name: value.detach().clone().requires_grad_() for name, value in net.params.items()}
    y = tel.run(params, x, True).y[-1]
    cost = torch.nn.functional.cross_entropy(y @ params["V"].T + params["c"], label)
    wanted = dict(zip(params, torch.autograd.grad(cost, list(params.values())), strict=True))
    found = net.gradients({"x": x}, {"label": label}, rule="bptt")
    torch.testing.assert_close(found.cost.mean(), cost.detach(), rtol=TOLERANCE, atol=TOLERANCE)
    for name, slope in wanted.items():
        torch.testing.assert_close(found.params[name], slope, rtol=TOLERANCE, atol=TOLERANCE, msg=name)


def test_a_wrong_estimate_is_seen() -> None:
    net, params, x = layer(0, True)
    wrong = tel.run({**params, "tau0": params["tau0"] + 1e-6}, x, True)
    found = net.relax({"x": x}).states["y"]
    assert not torch.allclose(found, wrong.y[-1], rtol=TOLERANCE, atol=TOLERANCE)


def median(z: Tensor) -> Tensor:
    """The median over the batch, of [batch, channels] with an odd number of samples."""
    return z.median(0).values


#: Other estimates of the entropy of z = S'(y) are other lets.
ESTIMATES = {
    "laplace": (
        "let centre[c] = mean[batch](S'(y[c]))\n"
        "let width[c] = mean[batch](abs(S'(y[c]) - centre[c]))\n"
        "let entropy = mean[c](log(2 * width[c] + 1e-5))",
        lambda z: (2 * (z - z.mean(0)).abs().mean(0) + 1e-5).log().mean(),
    ),
    "robust": (
        "let middle[c] = median[batch](S'(y[c]))\n"
        "let width[c] = 1.4826 * median[batch](abs(S'(y[c]) - middle[c]))\n"
        "let entropy = mean[c](1/2 * log(width[c]^2 + 1e-5))",
        lambda z: (0.5 * ((1.4826 * median((z - median(z)).abs())) ** 2 + 1e-5).log()).mean(),
    ),
    "student": (
        "let centre[c] = mean[batch](S'(y[c]))\n"
        "let spread[c] = mean[batch](S'(y[c])^2) - centre[c]^2\n"
        "let entropy = mean[c](3 * mean[batch](log(1 + (S'(y[c]) - centre[c])^2 / (5 * spread[c] + 1e-5)))"
        " + 1/2 * log(spread[c] + 1e-5))",
        lambda z: (
            3 * (1 + (z - z.mean(0)) ** 2 / (5 * z.var(0, correction=0) + 1e-5)).log().mean(0)
            + 0.5 * (z.var(0, correction=0) + 1e-5).log()
        ).mean(),
    ),
}


def estimated(lets: str, random: Random) -> tuple[Any, Tensors, Tensor]:
    """The layer with another estimate, its params and inputs."""
    text = (SPECS / "tel.energy").read_text()
    start, end = text.index("let spread"), text.index("flow y")
    net = energyc.load(
        text[:start] + lets + "\n\n" + text[end:], dims={"I": INPUTS, "C": CHANNELS}, dtype=torch.float64
    )
    params = tel.draw_params(random, INPUTS, CHANNELS, STEPS)
    with torch.no_grad():
        for name, value in params.items():
            net.params[name].copy_(value)
    return net, params, random.normal(BATCH, INPUTS)


@pytest.mark.abridged
@pytest.mark.parametrize("name", ESTIMATES)
def test_other_estimates_of_the_entropy_are_lets(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    lets, estimate = ESTIMATES[name]
    net, params, x = estimated(lets, Random(1))
    monkeypatch.setattr(tel, "entropy", estimate)
    expected = tel.run(params, x, True)
    found = net.relax({"x": x}).states
    torch.testing.assert_close(found["y"], expected.y[-1], rtol=TOLERANCE, atol=TOLERANCE)
    torch.testing.assert_close(found["tau"], expected.tau[-1].expand(BATCH), rtol=TOLERANCE, atol=TOLERANCE)


def test_a_learned_estimate_is_trained_from_statistics_that_are_constant(monkeypatch: pytest.MonkeyPatch) -> None:
    """A network of two layers on the mean, the log deviation and the fourth moment, pooled over channels."""
    net, params, x = estimated(
        "dim H = 3\n"
        "param E_in[H], E_log[H], E_tail[H], e[H], E_out[H] ~ normal(1)\n"
        "let centre[c] = mean[batch](S'(y[c]))\n"
        "let spread[c] = mean[batch](S'(y[c])^2) - centre[c]^2\n"
        "let tails[c] = mean[batch]((S'(y[c]) - centre[c])^4)\n"
        "let hidden[h] = tanh(E_in[h] * mean[c](centre[c]) + E_log[h] * mean[c](1/2 * log(spread[c] + 1e-5))"
        " + E_tail[h] * mean[c](tails[c]) + e[h])\n"
        "let entropy = sum[h](E_out[h] * hidden[h])",
        Random(3),
    )
    learned = {n: net.params[n].detach().clone().requires_grad_() for n in ("E_in", "E_log", "E_tail", "e", "E_out")}
    for value in params.values():
        value.requires_grad_()

    def entropy(z: Tensor) -> Tensor:
        spread = z.var(0, correction=0)
        moments = {"E_in": z.mean(0), "E_log": 0.5 * (spread + 1e-5).log(), "E_tail": ((z - z.mean(0)) ** 4).mean(0)}
        inner = sum(learned[n] * value.mean() for n, value in moments.items()) + learned["e"]
        return (learned["E_out"] * torch.tanh(inner)).sum()

    monkeypatch.setattr(tel, "entropy", entropy)
    weights = Random(9).normal(BATCH, CHANNELS)
    owned = {**params, **learned}
    wanted = torch.autograd.grad((tel.run(params, x, True).y[-1] * weights).sum(), list(owned.values()))
    out = net({"x": x}, rule="bptt")["out"]
    found = torch.autograd.grad((out * weights).sum(), [net.params[n] for n in owned])
    for name, one, other in zip(owned, found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=TOLERANCE, atol=TOLERANCE, msg=name)
        assert float(other.abs().max()) > 0


def test_check_tells_which_temperatures_contract() -> None:
    """dS/dy = 1 - eta (1 - T silu'), with T silu' up to 1.0998 T: proposition 2.1 of the paper leaves this out."""
    claims = {
        limit: next(
            c for c in _classes(limit).claims if c.claim == "contraction" and c.about.startswith("step map of y")
        )
        for limit in (0.909, 1.5)
    }
    assert claims[0.909].verdict == "proved"
    assert claims[1.5].verdict == "refuted"
    assert "dS/dz = 1.6" in claims[1.5].evidence


def _classes(limit: float) -> Any:
    report = energyc.check(SPECS / "tel.energy", consts={"T_max": limit})
    assert report.classes is not None
    return report.classes
