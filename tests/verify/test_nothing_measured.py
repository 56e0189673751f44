"""Where a gradient, or a slope of the cost, is zero beside rounding, nothing is measured, and that is what is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import energyc
from energyc.studies.verify import random_probe, verify
from energyc.studies.verify.limits import Laboratory, differences
from energyc.studies.verify.rest import rest
from energyc.surfaces.cli import main
from energyc.surfaces.cli.failures import UNFAITHFUL
from energyc.surfaces.report.verify_text import report as report_parts
from energyc.surfaces.tables.layouts import printed

#: The equilibrium and so the cost do not change with the scale of W, which is all there is to learn.
SPHERE = """\
network sphere
dim J = 4, K = 3
clamp x[J]
target y[K]
param W[J,K] ~ normal(0.5)
state p[K] in sphere[K]
start p[k] = 1/2
energy e = -sum[j,k](x[j] * W[j,k] * p[k])
cost c = 1/2 * sum[k]((p[k] - y[k])^2)
relax { step = 0.3, steps = 100, tolerance = 1e-10 }
nudge { beta = 1/1000, steps = 40 }
train { rule = implicit, dtype = float64 }
"""
#: a pushes along the normal of the set alone.
SIMPLEX = """\
network simplex
dim J = 4, K = 3
clamp x[J]
target y[K]
param W[J,K] ~ normal(0.5), a[K] ~ normal(0.5)
state p[K] in simplex[K]
energy e = 1/2 * sum[k](p[k]^2) - 0.4 * sum[j,k](x[j] * W[j,k] * p[k])
force f on p[k] = sum[m](a[m] * p[m])
cost c = 1/2 * sum[k]((p[k] - y[k])^2)
relax { step = 0.4, steps = 100, tolerance = 1e-10 }
nudge { beta = 1/1000, steps = 40 }
train { rule = implicit, dtype = float64 }
"""
#: z = 0 is at rest whatever W is; where the states start elsewhere they come near 0 and not to it.
RESTING = """\
network resting
dim D = 3
clamp x[D]
target y[D]
param W[D,D] ~ normal(0.3)
state z[D]
start z[d] = {start}
energy pull = 1/2 * sum[d](z[d]^2) - 1/2 * sum[d,e](W[d,e] * z[d] * z[e]) + 1/4 * sum[d](x[d] * z[d]^4)
cost c = 1/2 * sum[d]((z[d] - y[d])^2)
relax {{ step = 0.5, steps = 100, tolerance = 1e-5 }}
nudge {{ beta = auto, steps = 20 }}
train {{ rule = centered-ep }}
"""
NOTHING = "the exact gradient is zero beside rounding: nothing was measured"


def written(path: Path, spec: str) -> Path:
    path.write_text(spec)
    return path


def laboratory(spec: str, seed: int) -> Laboratory:
    """The network with all its rules, at rest."""
    net = energyc.load(spec, rules=["all"], dtype=torch.float64, seed=seed)
    return Laboratory(net, rest(net, random_probe(net), 4000), None)


@pytest.mark.parametrize("seed", range(4))
def test_the_directions_of_differences_are_not_the_weights(seed: int) -> None:
    """Along W this cost has no slope, whatever seed drew W: a difference there measures rounding alone."""
    lab = laboratory(SPHERE, seed)
    found = differences(lab)
    assert not found.breach
    assert len(found.sweep.points) == 3 and max(error for _, error in found.sweep.points) < 1e-6


@pytest.mark.slow
def test_the_verification_of_such_a_spec_passes(tmp_path: Path) -> None:
    assert main(["verify", str(written(tmp_path / "sphere.energy", SPHERE)), "--quiet"]) == 0


def test_a_wrong_gradient_is_still_found_by_differences() -> None:
    lab = laboratory(SPHERE, 1)
    lab.reference = {name: value + 0.01 * torch.ones_like(value) for name, value in lab.reference.items()}
    assert "another slope" in differences(lab).breach


def test_a_gradient_of_zero_where_the_cost_has_a_slope_is_found() -> None:
    lab = laboratory(SPHERE, 1)
    lab.reference = {name: torch.zeros_like(value) for name, value in lab.reference.items()}
    assert "another slope" in differences(lab).breach


def test_a_cost_without_a_slope_is_no_evidence() -> None:
    lab = laboratory(RESTING.format(start="0"), 0)
    found = differences(lab)
    assert not found.breach and found.sweep.points == ()
    assert "no slope" in found.law


@pytest.mark.slow
def test_a_param_whose_gradient_cancels_is_not_measured(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path / "simplex.energy", SIMPLEX)
    found = verify(path)
    assert found.fidelity.zero == ("a",) and found.fidelity.passed
    text = printed(report_parts(found))
    assert f"a: {NOTHING}" in text
    for rule in found.fidelity.rules.values():
        assert rule.limit_params.keys() == rule.configured_params.keys() == {"W"}
    if found.precision is not None:
        assert {row.param for row in found.precision.rows} <= {"W"}
    assert main(["verify", str(path), "--format", "json", "--rule", "centered-ep"]) == 0
    assert json.loads(capfd.readouterr().out)["not_measured"] == {"a": NOTHING}


@pytest.mark.abridged
@pytest.mark.parametrize("start", ["0", "1/2", "1/1000"])
def test_where_every_gradient_is_zero_nothing_is_measured(
    start: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Neither an alarm nor a cosine of 1."""
    path = written(tmp_path / "resting.energy", RESTING.format(start=start))
    found = verify(path)
    assert found.fidelity.passed and found.fidelity.zero == ("W",) and found.precision is None
    for rule in found.fidelity.rules.values():
        assert (rule.limit, rule.configured, rule.fault, rule.note) == (None, None, "", NOTHING)
    assert main(["verify", str(path)]) == 0
    text = capfd.readouterr().out
    assert "NOT MEASURED" in text and "NOT FAITHFUL" not in text and "1.0000" not in text


def test_a_small_gradient_is_measured() -> None:
    """Of 1e-9 of another one, and of a network all of whose gradients are 1e-12."""
    both = SPHERE.replace("sum[j,k](x[j] * W[j,k] * p[k])", "sum[j,k](x[j] * (W[j,k] + 1/10^9 * V[j,k]) * p[k])")
    both = both.replace("W[J,K] ~ normal(0.5)", "W[J,K] ~ normal(0.5), V[J,K] ~ normal(0.5)")
    assert laboratory(both, 0).nonzero == ("W", "V")
    assert laboratory(SPHERE.replace("c = 1/2", "c = 1/10^12"), 0).nonzero == ("W",)


def test_a_network_that_could_not_be_measured_for_another_reason_still_fails(tmp_path: Path) -> None:
    """That exit status 4 is kept for it."""
    wild = RESTING.format(start="1").replace("1/2 * sum[d](z[d]^2) -", "-1/2 * sum[d](z[d]^2) -")
    path = written(tmp_path / "wild.energy", wild.replace("+ 1/4", "- 1/4"))
    assert main(["verify", str(path), "--rule", "centered-ep"]) == UNFAITHFUL
