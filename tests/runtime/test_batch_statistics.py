"""Statistics of a batch: what they are, that nothing is trained through them, and what couples the samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import energyc
from energyc import pipeline
from tests.emit.judge import disagreements, judged, resolved

SPEC = """\
network coupled
dim D = 3, I = 4
clamp x[I]
target y[D]
param W[D, I] ~ normal(0.5), gain = 0.3, shift[D] ~ normal(1)
state z[D], tau
let a[d] = sum[i](W[d,i] * x[i])
let spread[d] = mean[batch](z[d]^2) - mean[batch](z[d])^2
energy E = 1/2 * sum[d]((z[d] - a[d])^2) - 1/4 * exp(tau) * sum[d](tanh(z[d]))
flow z[d] = -grad(E, z[d]) + gain * mean[batch](shift[d] * z[d])
flow tau = where(training, gain * mean[d](1/2 * log(spread[d] + 1e-5)) - tau, 0)
readout out[d] = z[d]
cost mse = sum[d]((z[d] - y[d] + gain * mean[batch](z[d]))^2)
relax { step = 1/2, steps = 6 }
train { rule = bptt }
"""
NAMES = ("W", "gain", "shift")
#: The same, where nothing but training looks at the batch.
FROZEN = SPEC.replace(" + gain * mean[batch](shift[d] * z[d])", " + gain * shift[d]").replace(
    " + gain * mean[batch](z[d])", ""
)


def loaded(spec: str = SPEC, **settings: object) -> Any:
    return energyc.load(spec, dtype=torch.float64, seed=3, settings=settings)


def inputs(batch: int = 5) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    random = torch.Generator().manual_seed(11)
    x, y = (torch.randn(batch, n, generator=random, dtype=torch.float64) for n in (4, 3))
    return {"x": x}, {"y": y}


def unrolled(net: Any, x: Tensor, y: Tensor, steps: int = 6) -> tuple[Tensor, Tensor, Tensor]:
    """States and mean cost, written out; statistics are detached."""
    weight, gain, shift = (net.params[name] for name in NAMES)
    a = x @ weight.T
    z, tau = torch.zeros_like(a), x.new_zeros(len(x))
    for _ in range(steps):
        spread = ((z**2).mean(0) - z.mean(0) ** 2).detach()
        pushed = gain * (shift * z).mean(0).detach()
        force = a - z + tau.exp()[:, None] / 4 * (1 - torch.tanh(z) ** 2) + pushed
        move = gain * 0.5 * (spread + 1e-5).log().mean() - tau if net.training else torch.zeros_like(tau)
        z, tau = z + force / 2, tau + move / 2
    cost = (z - y + gain * z.mean(0).detach()).square().sum(1).mean()
    return z, tau, cost


def test_every_routine_agrees_with_the_interpreter() -> None:
    assert disagreements(judged(resolved(SPEC), np.random.default_rng(1))) == {}


@pytest.mark.parametrize("training", [True, False])
def test_bptt_is_autograd_with_detached_statistics(training: bool) -> None:
    net = loaded().train(training)
    clamps, targets = inputs()
    z, tau, cost = unrolled(net, clamps["x"], targets["y"])
    wanted = torch.autograd.grad(cost, [net.params[name] for name in NAMES], materialize_grads=True)
    found = net.gradients(clamps, targets, rule="bptt")
    torch.testing.assert_close(found.states["z"], z.detach(), rtol=0, atol=1e-12)
    torch.testing.assert_close(found.states["tau"], tau.detach().expand(5), rtol=0, atol=1e-12)
    for name, want in zip(NAMES, wanted, strict=True):
        torch.testing.assert_close(found.params[name], want, rtol=1e-10, atol=1e-12)


def test_what_is_alike_in_all_samples_stays_alike() -> None:
    tau = loaded().relax(inputs()[0]).states["tau"]
    assert torch.equal(tau, tau[:1].expand(5))
    assert float(tau[0]) != 0


def test_a_sample_depends_on_its_batch_mates_where_check_says_so() -> None:
    clamps, _ = inputs()
    alone = {"x": clamps["x"][:1]}
    for spec, mates in ((SPEC, ("always", "always")), (FROZEN, ("training", None))):
        net = loaded(spec)
        for training, coupled in zip((True, False), mates, strict=True):
            net.train(training)
            together, single = (net.relax(c).states["z"][0] for c in (clamps, alone))
            assert net.coupled == (coupled is not None)
            assert torch.allclose(together, single, rtol=0, atol=1e-12) == (coupled is None)


def test_check_says_it() -> None:
    report = energyc.check(SPEC)
    assert report.to_json()["batch_mates"] == {"z": "always", "tau": "training", "mse": "always"}
    note = "a sample depends on its batch mates: z, tau and mse read statistics of the batch"
    assert note in report.notes
    frozen = energyc.check(FROZEN)
    assert frozen.to_json()["batch_mates"] == {"tau": "training"}
    assert f"in training {note.replace('z, tau and mse read', 'tau reads')}" in frozen.notes


def test_a_contrast_is_biased_by_statistics_that_move_with_the_nudge() -> None:
    rules = pipeline.classify(resolved(SPEC)).rules
    assert rules["centered-ep"].verdict == "biased"
    assert "a batch statistic of a state in z, tau" in str(rules["centered-ep"].why)
    assert rules["bptt"].verdict == "exact"


@pytest.mark.abridged(every=2)
@pytest.mark.parametrize(
    ("force", "kind"),
    [
        ("mean[batch](z[d])", "conservative"),
        ("z[d] * mean[batch](shift[d] * z[d])", "conservative"),
        ("sum[e](z[e] * mean[batch](z[d] * z[e]))", "conservative"),
        ("relu(z[d] - mean[batch](z[d]))", "conservative"),
        ("sum[e](z[e] * mean[batch](z[d] * a[e]))", "not-conservative"),
        ("mean[batch](z[d]) * sum[e](z[e])", "not-conservative"),
    ],
)
def test_a_force_is_classified_with_its_statistics_held(force: str, kind: str) -> None:
    """The proof and the differences that check it both take a mean over the batch for a constant."""
    moves = f"force f on z[d] = shift[d] - z[d] + {force}\nforce g on tau = -tau"
    lines = [line for line in SPEC.splitlines() if not line.startswith(("flow", "let spread"))]
    spec = "\n".join([*lines, moves])
    classes = energyc.check(spec).classes
    assert classes is not None
    assert {term.name: term.verdict for term in classes.terms}["f"] == kind


def test_coupled_samples_stop_together() -> None:
    net = loaded(**{"relax.tolerance": 1e-8, "relax.steps": 1, "relax.chunk": 1, "relax.max_steps": 200})
    steps = net.relax(inputs()[0]).steps
    assert len(set(steps.tolist())) == 1
    assert 1 < int(steps[0]) < 200


def test_an_explosion_takes_its_batch_mates_with_it() -> None:
    net = loaded()
    clamps, targets = inputs()
    clamps["x"][2] = 1e200
    found = net.gradients(clamps, targets, rule="bptt")
    assert found.residual.isinf().all()
    assert not found.kept.any()


def test_the_mean_of_what_is_the_same_for_all_is_itself() -> None:
    same = SPEC.replace("mean[batch](shift[d] * z[d])", "mean[batch](shift[d]) * mean[batch](z[d])")
    net = loaded(same)
    clamps, targets = inputs()
    _, _, cost = unrolled(net, clamps["x"], targets["y"])
    found = net.gradients(clamps, targets, rule="bptt")
    torch.testing.assert_close(found.cost.mean(), cost.detach())
    assert float(found.params["shift"].abs().max()) > 0


ALONE = "over the batch there are mean and median alone, of one sample's quantity, without a guard"
MEDIAN = "there is a median over the batch alone"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        *(
            ("mean[batch](z[d]^2)", f"{form}(z[d]^2)", ALONE)
            for form in ("sum[batch]", "mean[batch,d]", "mean[batch | d == 0]", "median[batch,d]")
        ),
        *(("mean[batch](z[d])^2", f"{form}(z[d])^2", MEDIAN) for form in ("median[d]", "median", "median[d | d < 2]")),
    ],
)
def test_over_the_batch_there_are_the_mean_and_the_median_alone(old: str, new: str, message: str) -> None:
    (error,) = (d for d in energyc.check(SPEC.replace(old, new)).diagnostics if d.severity == "error")
    assert (error.code, error.message) == ("E0405", message)


@pytest.mark.parametrize("batch", [1, 2, 5, 6])
def test_a_median_is_numpys_and_constant_in_every_derivative(batch: int) -> None:
    """z moves to x - median(|x - median(x)|) / 2 in one step from 0, and nothing is trained through the medians."""
    spec = """\
network spread
dim D = 3
clamp x[D]
target y[D]
param g[D] = 1
state z[D]
let centre[d] = median[batch](x[d])
let mad[d] = median[batch](abs(x[d] - centre[d]))
force f on z[d] = g[d] * x[d] - z[d] - g[d] * mad[d] / 2 + median[batch](g[d] * z[d])
relax { step = 1, steps = 1 }
cost mse = sum[d]((z[d] - y[d])^2)
train { rule = bptt }
"""
    net = energyc.load(spec, dtype=torch.float64)
    random = torch.Generator().manual_seed(batch)
    x, y = (torch.randn(batch, 3, generator=random, dtype=torch.float64) for _ in range(2))
    mad = np.median(np.abs(x.numpy() - np.median(x.numpy(), 0)), 0)
    z = x - torch.from_numpy(mad) / 2
    found = net.gradients({"x": x}, {"y": y}, rule="bptt")
    torch.testing.assert_close(found.states["z"], z, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(found.params["g"], (2 * (z - y) * z).mean(0), rtol=1e-12, atol=1e-12)
    assert disagreements(judged(resolved(spec), np.random.default_rng(batch))) == {}
