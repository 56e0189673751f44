"""A budget of work, and what is shown while it is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import energyc
from energyc.studies.verify import measure_fidelity, random_probe
from energyc.studies.verify.rest import FACTORS
from energyc.studies.verify.work import OutOfWork, budget
from energyc.surfaces.cli import main
from energyc.surfaces.cli.console import now_and_then
from tests.specs.judging import SPECS

RULES = ["centered-ep", "holomorphic-ep", "tbptt", "implicit"]

SLOW = """\
network slow
dim D = 3
clamp x[D]
target y[D]
param W[D,D] ~ normal(0.5)
state z[D]
energy pull = 1/2 * sum[d](z[d]^2) - sum[d,e](W[d,e] * x[d] * z[e])
cost c = 1/2 * sum[d]((z[d] - y[d])^2)
relax { step = 0.1, steps = 10, tolerance = 1e-3, max_steps = 1000 }
nudge { beta = auto, steps = 20 }
train { rule = ep }
"""


@pytest.fixture
def net() -> Any:
    return energyc.load(SPECS / "modern_hopfield.energy", rules=RULES, dtype=torch.float64)


@pytest.mark.parametrize("rule", ["centered-ep", "holomorphic-ep", "implicit"])
def test_evaluations_are_counted(net: Any, rule: str) -> None:
    """Of the holomorphic extension too; afterwards the network is as it was."""
    probe, before = random_probe(net, batch=2), set(net.__dict__)
    free = net.gradients(probe.clamps, probe.targets, rule).params
    with pytest.raises(OutOfWork), budget(4, net):
        net.gradients(probe.clamps, probe.targets, rule, steps=0, nudge_steps=40)
    with budget(10**6, net):
        spent = net.gradients(probe.clamps, probe.targets, rule).params
    again = net.gradients(probe.clamps, probe.targets, rule).params
    assert set(net.__dict__) - {"last_beta"} == before - {"last_beta"}
    for name, value in free.items():
        assert torch.equal(value, spent[name]) and torch.equal(value, again[name])


def test_what_was_not_measured_is_said(net: Any) -> None:
    shown: list[str] = []
    found = measure_fidelity(net, net, random_probe(net), RULES, evaluations=150, progress=shown.append)
    rule = found.rules["centered-ep"]
    assert rule.limit is None and rule.configured is None and not rule.passed
    assert rule.note == rule.fault == "its limit takes more than 150 evaluations of the force"
    assert shown[0] == "the free phase" and set(RULES) <= set(shown)
    assert measure_fidelity(net, net, random_probe(net), RULES).passed


def test_a_line_now_and_then() -> None:
    now, lines = 0.0, []  # type: ignore[var-annotated]
    show = now_and_then(lines.append, clock=lambda: now, pause=10)
    for now in (1.0, 9.0, 10.0, 12.0, 19.0, 25.0, 40.0):
        show(f"at {now}")
    assert lines == ["at 10.0", "at 25.0", "at 40.0"]


def test_progress_goes_to_standard_error(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("energyc.surfaces.cli.console.now_and_then", lambda write: write)
    spec = str(Path(SPECS / "modern_hopfield.energy"))
    assert main(["verify", spec, "--rule", "centered-ep"]) == 0
    out, err = capfd.readouterr()
    assert "verify: centered-ep, beta = " in err and "verify: " not in out
    assert main(["verify", spec, "--rule", "centered-ep", "--quiet"]) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.abridged
@pytest.mark.parametrize(
    ("spec", "evaluations", "named"),
    [
        (SLOW, 40, "the free phase after 40 steps"),
        ("cet", 40, "the implicit gradient"),
        ("modern_hopfield", 5, "the Jacobian at rest"),
        ("modern_hopfield", 150, "centered-ep"),
        ("modern_hopfield", 150, "centered-ep by residual"),
    ],
)
def test_the_budget_covers_every_measurement(spec: str, evaluations: int, named: str) -> None:
    """No measurement evaluates the force more often, and what was ended is named."""
    source = spec if spec is SLOW else SPECS / f"{spec}.energy"
    preset = "verify" if spec == "cet" else None
    net = energyc.load(source, preset=preset, rules=["centered-ep", "implicit"], dtype=torch.float64)
    counts: list[int] = []

    def counted(*arguments: Any) -> Any:
        counts[-1] += 1
        return force(*arguments)

    def begin(name: str) -> None:
        counts.append(0)

    force, net._force = net._force, counted
    found = measure_fidelity(
        net, net, random_probe(net), ["centered-ep"], sweep_residual=True, evaluations=evaluations, progress=begin
    )
    assert named in found.left_out and found.to_json()["left_out"] == list(found.left_out)
    assert max(counts[1:], default=0) <= evaluations and counts[0] <= 2 * len(FACTORS) * evaluations


def test_the_budget_is_an_option(capfd: pytest.CaptureFixture[str]) -> None:
    spec = str(Path(SPECS / "modern_hopfield.energy"))
    assert main(["verify", spec, "--rule", "centered-ep", "--budget", "150"]) == 4
    out = capfd.readouterr().out
    assert "The budget ended" in out and "a larger --budget measures" in out
    assert main(["verify", spec, "--rule", "centered-ep", "--budget", "100000"]) == 0
    assert "The budget ended" not in capfd.readouterr().out


# ------------------------------------------------------------------ drift of the free phase

REMARK = "the free phase still moves"


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize(
    ("settings", "remarked"),
    [
        ({"nudge.beta": 1e-4}, True),
        ({"nudge.beta": 1e-4, "relax.tolerance": 1e-9}, False),
        ({"nudge.beta": 1.0}, False),
        ({"relax.tolerance": 1e-9}, False),
        ({"relax.tolerance": 0.05}, True),
    ],
    ids=["small nudge", "tight", "large nudge", "auto", "auto cannot"],
)
def test_a_drift_is_remarked_on(settings: dict[str, float], remarked: bool) -> None:
    net = energyc.load(SLOW, rules=["ep", "centered-ep", "implicit"], dtype=torch.float64, settings=settings)
    found = measure_fidelity(net, net, random_probe(net), ["ep", "centered-ep"])
    assert found.passed
    assert (REMARK in found.rules["ep"].note) == remarked
    assert REMARK not in found.rules["centered-ep"].note


def test_the_remark_is_true() -> None:
    """With a nudge of 1e-4 the gradient is mostly drift; the chosen one is right to a tenth."""
    net = energyc.load(SLOW, rules=["ep", "implicit"], dtype=torch.float64)
    probe = random_probe(net)
    exact = net.gradients(probe.clamps, probe.targets, "implicit", tolerance=1e-14).params["W"]
    errors = []
    for beta in (1e-4, "auto"):
        found = net.gradients(probe.clamps, probe.targets, "ep", beta=beta, nudge_steps=None).params["W"]
        errors.append(float((found - exact).norm() / exact.norm()))
    assert errors[0] > 2 and errors[1] < 0.2
