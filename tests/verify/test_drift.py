"""A one-sided contrast reads what the free phase still moves: where that is much, a remark says so."""

from __future__ import annotations

import pytest
import torch

import energyc
from energyc.studies.verify import measure_fidelity, random_probe

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
