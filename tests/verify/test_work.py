"""A budget of work, and what is shown while it is spent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import energyc
from energyc.cli import main
from energyc.cli.progress import now_and_then
from energyc.verify import measure_fidelity, random_probe
from energyc.verify.work import OutOfWork, budget
from tests.specs.judging import SPECS

RULES = ["centered-ep", "holomorphic-ep", "tbptt", "implicit"]


@pytest.fixture
def net() -> Any:
    return energyc.load(SPECS / "modern_hopfield.energy", rules=RULES, dtype=torch.float64)


@pytest.mark.parametrize("rule", ["centered-ep", "holomorphic-ep", "implicit"])
def test_evaluations_are_counted(net: Any, rule: str) -> None:
    """Of the holomorphic extension too; afterwards the network is as it was."""
    probe, before = random_probe(net, batch=2), set(net.__dict__)
    free = net.gradients(probe.clamps, probe.targets, rule).params
    with pytest.raises(OutOfWork), budget(net, 10):
        net.gradients(probe.clamps, probe.targets, rule, steps=0, nudge_steps=40)
    with budget(net, 10**6):
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
    monkeypatch.setattr("energyc.cli.progress.now_and_then", lambda write: write)
    spec = str(Path(SPECS / "modern_hopfield.energy"))
    assert main(["verify", spec, "--rule", "centered-ep"]) == 0
    out, err = capfd.readouterr()
    assert "verify: centered-ep, beta = " in err and "verify: " not in out
    assert main(["verify", spec, "--rule", "centered-ep", "--quiet"]) == 0
    assert capfd.readouterr().err == ""
