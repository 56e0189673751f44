"""When a sample leaves its free phase: what is measured, how often it must hold, early exits outside of training."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

import energyc

SPEC = """\
network leaving
dim D = 3
clamp x[D]
target y[D]
param W[D, D] ~ normal(0.3)
state z[D] in [-2, 2], u[D]
energy pull = 1/2 * sum[d]((z[d] - x[d])^2) + 1/2 * sum[d](u[d]^2) - sum[d,e](u[d] * W[d,e] * tanh(z[e]))
relax { step = 0.5, step.u = 0.6, steps = 40, tolerance = 1e-3 }
readout out[d] = z[d] + u[d]
cost mse = sum[d]((z[d] + u[d] - y[d])^2)
train { rule = bptt }
"""
NUMBERED = (
    SPEC.replace("D = 3", "D = 3, T = 40")
    .replace("normal(0.3)", "normal(0.3), rate[T] = 0.5")
    .replace(
        "readout", "flow z[d] = -rate[t] * grad(pull, z[d])\nflow u[d] = -1.5 * rate[t] * grad(pull, u[d])\nreadout"
    )
    .replace("relax { step = 0.5, step.u = 0.6, steps = 40,", "relax t in T { step = 1, step.u = 0.6,")
)
BATCH = 6
MEASURES = ("residual", "gradient", "energy")


def loaded(spec: str = SPEC, **settings: object) -> Any:
    settings = {"relax.exit": "inference", **{f"relax.{name}": value for name, value in settings.items()}}
    return energyc.load(spec, dtype=torch.float64, seed=5, settings=settings).eval()


def inputs() -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    random = torch.Generator().manual_seed(2)
    scale = torch.logspace(-2, 1, BATCH, dtype=torch.float64)[:, None]
    x, y = (torch.randn(BATCH, 3, generator=random, dtype=torch.float64) for _ in range(2))
    return {"x": scale * x}, {"y": y}


def measure(net: Any, name: str, before: tuple[Tensor, Tensor], after: tuple[Tensor, Tensor], x: Tensor) -> Tensor:
    """The change by a step of one sample, from its definition; where u has a flow, its gradient without the rate."""
    if name == "energy":
        values = [net.energy({"z": z[None], "u": u[None]}, {"x": x[None]})[0] for z, u in (before, after)]
        return (values[1] - values[0]).abs()
    moves = [a - b for a, b in zip(after, before, strict=True)]
    if name == "gradient":
        z, u = before
        slopes = [m / h for m, h in zip(moves, net.relax_step, strict=True)]
        return torch.cat(
            [slopes[0], u - net.params["W"].detach() @ torch.tanh(z) if "rate" in net.params else slopes[1]]
        ).norm()
    return torch.stack([m.norm() / (b.norm() + 1e-12) for m, b in zip(moves, before, strict=True)]).max()


@pytest.mark.abridged(every=6)
@pytest.mark.parametrize("patience", [1, 3])
@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("spec", [SPEC, NUMBERED], ids=["plain", "numbered"])
def test_a_sample_leaves_once_it_has_settled(spec: str, name: str, patience: int) -> None:
    net = loaded(spec, measure=name, patience=patience)
    clamps, _ = inputs()
    trace = net.relax(clamps, steps=40, record=("z", "u")).trace
    found = net.relax(clamps)
    for k in range(BATCH):
        path = list(zip(trace["z"][:, k], trace["u"][:, k], strict=True))
        values = [measure(net, name, path[i], path[i + 1], clamps["x"][k]) for i in range(40)]
        small = [float(value) <= 1e-3 for value in values]
        ends = (i + 1 for i in range(40) if i + 1 >= patience and all(small[i + 1 - patience : i + 1]))
        last = next(ends, 40)
        assert int(found.steps[k]) == last
        # A product of fewer rows may round otherwise.
        torch.testing.assert_close(found.states["z"][k], path[last][0], rtol=1e-12, atol=1e-14)
        torch.testing.assert_close(found.residual[k], values[last - 1], rtol=1e-9, atol=1e-15)
    assert len(set(found.steps.tolist())) > 1
    assert int(found.steps.max()) < 40


def test_training_makes_every_step() -> None:
    net, (clamps, targets) = loaded().train(), inputs()
    assert torch.equal(net.relax(clamps).steps, torch.full((BATCH,), 40))
    assert torch.equal(net.gradients(clamps, targets, rule="bptt").steps, torch.full((BATCH,), 40))
    assert torch.equal(net.eval().relax(clamps, steps=7).steps, torch.full((BATCH,), 7))


@pytest.mark.parametrize("spec", [SPEC, NUMBERED], ids=["plain", "numbered"])
def test_backpropagation_through_the_steps_that_were_made(spec: str) -> None:
    """In evaluation each sample's own steps are taken back, alone and in a batch alike."""
    net, (clamps, targets) = loaded(spec), inputs()
    together = net.gradients(clamps, targets, rule="bptt")
    assert len(set(together.steps.tolist())) > 1
    alone = []
    for k, steps in enumerate(together.steps.tolist()):
        one = ({"x": clamps["x"][k : k + 1]}, {"y": targets["y"][k : k + 1]})
        alone.append(net.gradients(*one, rule="bptt", steps=steps))
    for name, gradient in together.params.items():
        mean = torch.stack([part.params[name] for part in alone]).mean(0)
        torch.testing.assert_close(gradient, mean, rtol=1e-10, atol=1e-13)
    clamps["x"].requires_grad_()
    out = net(clamps, rule="bptt")["out"]
    (out - targets["y"]).square().sum(1).mean().backward()
    for name, gradient in together.params.items():
        torch.testing.assert_close(net.params[name].grad, gradient, rtol=1e-10, atol=1e-13)


@pytest.mark.abridged
@pytest.mark.parametrize("name", MEASURES)
def test_without_early_exits_the_measure_is_that_of_the_next_step(name: str) -> None:
    settings = {"exit": "settled", "measure": name, "steps": 5, "chunk": 4, "max_steps": 60, "patience": 2}
    net, (clamps, _) = loaded(**settings), inputs()
    found = net.relax(clamps)
    z, u = found.states["z"], found.states["u"]
    after = net.relax(clamps, steps=1, states=found.states).states
    for k in range(BATCH):
        value = measure(net, name, (z[k], u[k]), (after["z"][k], after["u"][k]), clamps["x"][k])
        torch.testing.assert_close(found.residual[k], value, rtol=1e-9, atol=1e-15)
    assert float(found.residual.max()) <= 1e-3
    looks = (found.steps - 5) / 4
    assert torch.equal(looks, looks.round())
    sooner = loaded(**{**settings, "patience": 1}).relax(clamps).steps
    assert torch.equal(found.steps, sooner + 4)


def test_an_exploded_sample_leaves_with_an_infinite_residual() -> None:
    net, (clamps, _) = loaded(measure="gradient"), inputs()
    start = net.start(clamps)
    start["z"][1] = float("nan")
    assert net.relax(clamps, states=start).residual.isinf().tolist() == [k == 1 for k in range(BATCH)]


@pytest.mark.parametrize(
    ("settings", "note"),
    [
        ({"relax.exit": "inference"}, "in training exactly 40 steps; otherwise a sample stops once it has settled"),
        (
            {"relax.exit": "inference", "relax.tolerance": "none"},
            "relax.exit = inference does nothing: relax has no tolerance",
        ),
        ({"relax.patience": 2, "relax.tolerance": "none"}, "relax.patience = 2 does nothing: relax has no tolerance"),
    ],
)
def test_check_says_what_the_settings_do(settings: dict[str, object], note: str) -> None:
    assert note in energyc.check(SPEC, settings=settings).notes


def test_a_network_without_energies_has_none_to_measure() -> None:
    spec = "network n\nstate z\nforce f on z = -z\nrelax { measure = energy }\n"
    layered = f"network n\nlayer rest {{ {spec.partition(chr(10))[2]} }}\nreadout out = rest.z\n"
    for text, called in ((spec, "this network"), (layered, "layer `rest`")):
        (error,) = energyc.check(text).diagnostics
        assert (error.code, error.message) == ("E0503", f"`relax.measure` is the energy, and {called} has none")
