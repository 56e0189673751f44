"""Rules that are biased in general, on networks on which they are exact: symmetry on sets, and in a metric."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import energyc
from energyc.studies.verify import Symmetry, random_probe, verify
from energyc.studies.verify.compare import measure_all
from energyc.studies.verify.rest import rest
from energyc.studies.verify.symmetry import symmetry
from energyc.surfaces.report.verify_text import report as report_parts
from energyc.surfaces.tables.layouts import printed
from tests.specs.judging import SPECS

#: Both forces come from one energy; the first is ``rate`` times as fast.
SCALES = """\
network scales
dim D = 4, M = 3
clamp x[D]
target y[M]
param W[D,M] ~ normal(0.5), b[M] = 1/10
{more}
state h[D], z[M]
force fast on h[d] = {rate} * (x[d] - h[d] + sum[m](W[d,m] * tanh(z[m])))
force slow on z[m] = (1 - tanh(z[m])^2) * (sum[d](W[d,m] * h[d]) + b[m]) - z[m]
cost c = 1/2 * sum[m]((z[m] - y[m])^2)
relax {{ step = 0.1, step.h = {step}, steps = 300, tolerance = 1e-10 }}
nudge {{ beta = auto, steps = 60 }}
train {{ rule = tracking-aep, dtype = float64 }}
"""
FIVE = SCALES.format(rate="5", step="0.1", more="")
#: As verify says to write it: the force on h times 1/5, and its step divided by as much.
REWRITTEN = SCALES.format(rate="1", step="0.5", more="")
RATES = SCALES.format(rate="r[d]", step="0.1", more="param r[D] ~ uniform(2, 4)")
#: The force f is normal to the set.
ON_SETS = """\
network on_set
dim J = 4, K = 3
clamp x[J]
target y[K]
param W[J,K] ~ normal(0.5), a[K] ~ normal(0.5)
state p[K] in {set}[K]
start p[k] = 1/2
energy e = {own} * sum[k](p[k]^2) - sum[j,k](x[j] * W[j,k] * p[k])
force f on p[k] = {along} * sum[m](a[m] * p[m])
cost c = 1/2 * sum[k]((p[k] - y[k])^2)
relax {{ step = 0.3, steps = 200, tolerance = 1e-10 }}
nudge {{ beta = 1/1000, steps = 60 }}
train {{ rule = implicit, dtype = float64 }}
"""
SIMPLEX = ON_SETS.format(set="simplex", own="2", along="1")
SPHERE = ON_SETS.format(set="sphere", own="0", along="p[k]")
LINEAR = """\
network linear
dim D = 3
clamp x[D]
param A[D,D] = 0
state z[D]
force pull on z[d] = x[d] - z[d] + sum[e](A[d,e] * z[e])
cost c = sum[d](z[d]^2)
relax { step = 0.2, steps = 400, tolerance = 1e-12 }
train { rule = implicit }
"""


def measured(net: Any) -> Symmetry:
    """At the equilibria of drawn inputs."""
    found = rest(net, random_probe(net), 4000)
    assert found.settled == found.samples
    at = symmetry(net, found.states, found.probe, net.relax_step)
    assert at is not None
    return at


@pytest.mark.abridged
@pytest.mark.parametrize("seed", range(3))
def test_two_time_scales_are_a_metric(seed: int) -> None:
    found = measured(energyc.load(FIVE, dtype=torch.float64, seed=seed))
    assert found.jacobian > 0.1 and not found.exact
    assert found.symmetrisable and found.in_metric < 1e-14
    assert {name: pytest.approx(factors, rel=1e-12) for name, factors in found.metric.items()} == {
        "h": (0.2,),
        "z": (1.0,),
    }


@pytest.mark.abridged
@pytest.mark.parametrize("seed", range(3))
def test_in_its_metric_the_rules_are_exact(seed: int) -> None:
    """The relaxation is the same, and centered-ep is wrong without and right with the metric, but for b."""
    nets = [
        energyc.load(text, rules=["centered-ep", "implicit"], dtype=torch.float64, seed=seed)
        for text in (FIVE, REWRITTEN)
    ]
    probe = random_probe(nets[0])
    errors, relaxed = [], [net.relax(probe.clamps, steps=7).states for net in nets]
    for name in ("h", "z"):
        torch.testing.assert_close(relaxed[0][name], relaxed[1][name], rtol=1e-12, atol=1e-12)
    for net in nets:
        exact = net.gradients(probe.clamps, probe.targets, "implicit").params
        settings = {"nudge_steps": None, "allow_biased": True, "beta": 1e-3}
        found = net.gradients(probe.clamps, probe.targets, "centered-ep", **settings).params
        errors.append({name: measure_all({name: found[name]}, {name: exact[name]}).relative_error for name in exact})
    assert errors[0]["W"] > 0.05 and errors[0]["b"] < 1e-4
    assert max(errors[1].values()) < 1e-4


def test_a_rate_for_each_unit_is_a_metric() -> None:
    net = energyc.load(RATES, dtype=torch.float64, seed=2)
    found = measured(net)
    assert found.symmetrisable and found.in_metric < 1e-14
    assert found.metric["h"] == pytest.approx((1 / net.params["r"].detach()).tolist(), rel=1e-9)
    assert found.metric["z"] == (1.0,)


@pytest.mark.parametrize(
    ("coupling", "symmetrisable"),
    [
        ([[0.0, 0.4, 0.0], [0.1, 0.0, 0.2], [0.0, 0.3, 0.0]], True),
        ([[0.0, 0.4, 0.0], [-0.1, 0.0, 0.2], [0.0, 0.3, 0.0]], False),
        ([[0.0, 0.4, 0.0], [0.0, 0.0, 0.2], [0.0, 0.3, 0.0]], False),
        ([[0.0, 0.4, 0.2], [0.1, 0.0, 0.2], [0.3, 0.3, 0.0]], False),
        ([[0.0, 0.4, 0.6], [0.2, 0.0, 0.3], [0.3, 0.3, 0.0]], True),
    ],
    ids=["chain", "predator and prey", "one way", "cycle", "cycle that closes"],
)
def test_what_can_be_made_symmetric(coupling: list[list[float]], symmetrisable: bool) -> None:
    """Kolmogorov's criterion: signs agree, and A_ij A_jk A_ki = A_ik A_kj A_ji round every cycle."""
    net = energyc.load(LINEAR, dtype=torch.float64)
    with torch.no_grad():
        net.params["A"].copy_(torch.tensor(coupling, dtype=torch.float64))
    found = measured(net)
    assert found.symmetrisable == symmetrisable
    jacobian = torch.tensor(coupling, dtype=torch.float64) - torch.eye(3, dtype=torch.float64)
    expected = float((jacobian - jacobian.T).norm() / jacobian.norm())
    assert found.jacobian == pytest.approx(expected, rel=1e-9)
    if symmetrisable:
        scaled = torch.tensor(found.metric["z"], dtype=torch.float64)[:, None] * jacobian
        assert float((scaled - scaled.T).norm()) < 1e-12


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("text", [SIMPLEX, SPHERE], ids=["simplex", "sphere"])
@pytest.mark.parametrize("seed", range(3))
def test_a_force_normal_to_a_set_does_no_harm(text: str, seed: int) -> None:
    net = energyc.load(text, rules=["all"], dtype=torch.float64, seed=seed)
    found = measured(net)
    assert found.jacobian > 0.01 and found.on_sets is not None and found.on_sets < 1e-12
    assert found.exact == "sets"


def test_a_network_that_is_not_symmetric_is_not_said_to_be() -> None:
    net = energyc.load(SPECS / "thick.energy", preset="verify", rules=["implicit"], dtype=torch.float64)
    found = measured(net)
    assert found.exact == "" and not found.symmetrisable and found.on_sets is None


# ---------------------------------------------------------------- what the report says


def said(text: str, tmp_path: Path, *rules: str, verdict: str | None = None) -> str:
    """The report of a spec, its lines joined; ``verdict`` replaces that of the analysis."""
    path = tmp_path / "spec.energy"
    path.write_text(text)
    found = verify(path, rules=rules)
    if verdict is not None:
        doctored = {name: replace(rule, verdict=verdict) for name, rule in found.fidelity.rules.items()}
        found = replace(found, fidelity=replace(found.fidelity, rules=doctored))
    return " ".join(printed(report_parts(found)).split())


@pytest.mark.slow
def test_a_metric_is_reported_with_its_remedy(tmp_path: Path) -> None:
    text = said(FIVE, tmp_path, "centered-ep", "vf")
    assert "With the force on h times 0.2, and step.h divided by as much, it relaxes as before" in text
    assert "not proved" in text
    text = said(RATES, tmp_path, "centered-ep")
    assert "by coordinate it rests at the same states" in text and "step.h" not in text


def test_a_set_that_holds_the_states_is_reported(tmp_path: Path) -> None:
    """The largest real part is that of J, which pushes along the normal."""
    text = said(SPHERE, tmp_path, "centered-ep", verdict="unproved")
    assert "J is symmetric along the sets that hold the states" in text and "not proved" in text
    assert "of J alone; the set of p holds these states" in text


@pytest.mark.slow
def test_of_proved_rules_nothing_is_measured_to_be_exact(tmp_path: Path) -> None:
    assert "not proved" not in said(REWRITTEN, tmp_path, "centered-ep")
