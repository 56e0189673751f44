"""Networks of coupled time scales: what `check` says of them, and whether contrasts do what it says."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import energyc
from energyc.studies.verify import random_probe

SCALES = """network scales
dim D = 4, M = 3
clamp x[D]
target y[M]
{consts}param W[D,M] ~ normal(0.4), b[M] = 1/10, e[D] = 1/5{params}
state h[D]{kept}, z[M]
force fast on h[d] = {rate} * (x[d] + e[d] - h[d] + sum[m](W[d,m] * tanh(z[m])))
force slow on z[m] = {other} * ((1 - tanh(z[m])^2) * (sum[d](W[d,m] * h[d]) + b[m]) - z[m])
cost c = 1/2 * sum[m]((z[m] - y[m])^2){more}
relax {{ step = 0.1, steps = 400, tolerance = 1e-11 }}
nudge {{ beta = 1/1000, steps = 400 }}
train {{ rule = implicit, dtype = float64 }}
"""


def scales(rate: str, other: str = "1", consts: str = "", params: str = "", more: str = "", kept: str = "") -> str:
    return SCALES.format(rate=rate, other=other, consts=consts, params=params, more=more, kept=kept)


def claimed(text: str) -> dict[str, Any]:
    """The factors that are claimed, by state; empty if none are."""
    report = energyc.check(text).to_json()
    assert report["class"] == "not-conservative" and report["rules"]["centered-ep"]["verdict"] == "biased"
    found = [claim for claim in report["claims"] if "factors" in claim.get("numbers", {})]
    return dict(found[0]["numbers"]["factors"]) if found else {}


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize(
    ("text", "factors"),
    [
        (scales("5"), {"h": "5"}),
        (scales("1/3", "2"), {"h": "1/6"}),
        (scales("1/tau", consts="const tau = 0.3\n"), {"h": "1/tau"}),
        (scales("1", "tau", consts="const tau = 0.3\n"), {"h": "1/tau"}),
        (scales("r", params=", r = 2 in [1, 3]"), {"h": "r"}),
        (scales("exp(r)", "3", params=", r = 1"), {"h": "1/3 * exp(r)"}),
        (scales("r[d]", params=", r[D] ~ uniform(2, 4) in [1, 5]"), {"h": "r[d]"}),
        (scales("2", kept=" in [-1, 1]"), {"h": "2"}),
        (scales("2", kept=" in sphere[D]"), {"h": "2"}),
    ],
)
def test_the_factor_of_a_state_is_found(text: str, factors: dict[str, str]) -> None:
    assert claimed(text) == factors


@pytest.mark.parametrize(
    "text",
    [
        scales("(-5)"),
        scales("r", params=", r = 2"),
        scales("(1 + h[d]^2)"),
        scales("(2 + x[d]^2)"),
        scales("r[d]", params=", r[D] ~ uniform(2, 4) in [1, 5]", kept=" in sphere[D]"),
        scales("5").replace("sum[d](W[d,m] * h[d])", "sum[d](W[d,m] * tanh(h[d]))"),
    ],
    ids=["negative", "of either sign", "of the state", "of a clamp", "uneven on a sphere", "no gradient"],
)
def test_what_is_no_positive_constant_is_no_factor(text: str) -> None:
    assert claimed(text) == {}


def test_factors_must_close_round_a_cycle() -> None:
    """Kolmogorov's criterion: with c_x c_y c_z one way round as large as the other."""
    force = "force on_{0} on {0} = {a} * {1} + {b} * {2} - 4 * {0}\n"
    states = (("x", "y", "z"), ("y", "z", "x"), ("z", "x", "y"))

    def cycle(*pairs: tuple[int, int]) -> str:
        forces = (force.format(*names, a=a, b=b) for names, (a, b) in zip(states, pairs, strict=True))
        return "network cycle\nparam w = 1\nstate x, y, z\n" + "".join(forces) + "cost c = w * x^2\n"

    assert claimed(cycle((1, 1), (2, 2), (3, 3))) == {"y": "2", "z": "3"}
    assert claimed(cycle((1, 1), (2, 1), (1, 1))) == {}


def relative(text: str, seed: int = 3) -> dict[str, torch.Tensor]:
    """The gradient of centered-ep over that of implicit, by param, elementwise."""
    net = energyc.load(text, rules=["centered-ep", "implicit"], dtype=torch.float64, seed=seed)
    probe = random_probe(net)
    found, exact = (
        net.gradients(probe.clamps, probe.targets, rule, nudge_steps=None, allow_biased=True).params
        for rule in ("centered-ep", "implicit")
    )
    return {name: found[name] / exact[name] for name in exact}


def test_a_contrast_has_the_part_of_each_state_times_its_factor() -> None:
    ratio = relative(scales("5"))
    torch.testing.assert_close(ratio["b"], torch.ones_like(ratio["b"]), rtol=1e-4, atol=0)
    torch.testing.assert_close(ratio["e"], torch.full_like(ratio["e"], 5), rtol=1e-4, atol=0)
    assert float((ratio["W"] - 1).abs().max()) > 0.1


def test_written_as_check_says_the_rules_are_exact() -> None:
    text = scales("1").replace("step = 0.1", "step = 0.1, step.h = 0.5")
    for ratio in relative(text).values():
        torch.testing.assert_close(ratio, torch.ones_like(ratio), rtol=1e-4, atol=0)


def test_params_of_the_factor_of_the_cost_are_named() -> None:
    report = energyc.check(scales("5")).to_json()
    (claim,) = (claim for claim in report["claims"] if "factors" in claim.get("numbers", {}))
    assert "ep, centered-ep and vf are exact for b;" in claim["evidence"]
    assert "relax.step.h times 5" in claim["evidence"]
    assert report["rules"]["vf"]["why"] == "fast, slow (exact for b alone: time scales)"


def test_a_cost_that_reads_both_scales_names_none() -> None:
    report = energyc.check(scales("5", more=" + sum[d](h[d]^2)")).to_json()
    (claim,) = (claim for claim in report["claims"] if "factors" in claim.get("numbers", {}))
    assert "exact for" not in claim["evidence"]
    assert report["rules"]["vf"]["why"] == "fast, slow (time scales)"
