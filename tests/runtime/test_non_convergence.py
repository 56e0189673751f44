"""Why samples do not settle: the cause is found on the network itself, and what is said to help is followed."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import Tensor

import energyc

HEAD = "network unsettled\ndim D = 4\nclamp x[D]\nparam w[D] = 1\n"
TAIL = """
readout out[d] = z[d]
cost c = sum[d](z[d]^2)
relax { step = 0.2, steps = 50, tolerance = 1e-4, max_steps = 200, proximal = off }
nudge { steps = 10 }
"""
PULL = "energy pull = 1/2 * sum[d](w[d] * (z[d] - x[d])^2)"
KINK = f"state z[D]\n{PULL} + sum[d](abs(z[d]))"
STIFF = f"state z[D] in [0.001, 0.999]\n{PULL} + 0.1 * sum[d](z[d] * log(z[d]) + (1 - z[d]) * log(1 - z[d]))"
#: What is made of each: the spec, the inputs, the cause.
CASES = {
    "abs": (KINK, (0.3, 2.0), "jump"),
    "sign": (f"state z[D]\n{PULL}\nforce back on z[d] = -sign(z[d])", (0.3, 0.8), "jump"),
    "edge of a box": (STIFF, (-1.0, -0.3), "step"),
    "saddle": (f"state z[D]\n{PULL} - sum[d](z[d]^2)", (0.5, 1.0), "no floor"),
    "quartic": (f"state z[D]\n{PULL} - sum[d](z[d]^4)", (2.0, 3.0), "no floor"),
    "slope": ("state z[D]\nenergy fall = -sum[d](w[d] * x[d] * z[d])", (0.5, 1.0), "no floor"),
    "drive": ("state z[D]\nforce drive on z[d] = w[d] * x[d] * z[d] + w[d]", (0.5, 1.0), "no floor"),
    "slow": (f"state z[D]\n{PULL.replace('w[d]', '0.02 * w[d]')}", (0.5, 1.0), "slow"),
    "settles": (f"state z[D]\n{PULL}", (0.5, 1.0), None),
}
CASES["step too long"] = (f"state z[D]\n{PULL.replace('1/2', '6')}", (0.5, 1.0), "step")


def network(body: str, settings: dict[str, Any] | None = None) -> Any:
    return energyc.load(HEAD + body + TAIL, rules=["implicit"], settings=settings or {}, dtype=torch.float32)


def inputs(low: float, high: float) -> dict[str, Tensor]:
    """Sixteen samples between two numbers."""
    return {"x": low + (high - low) * torch.rand((16, 4), generator=torch.Generator().manual_seed(0))}


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("case", CASES)
def test_the_cause_is_found(case: str) -> None:
    body, bounds, cause = CASES[case]
    net, clamps = network(body), inputs(*bounds)
    assert bool((net.relax(clamps).residual <= 1e-4).all()) == (cause is None)
    found = net.non_convergence(clamps)
    assert (found and found.cause) == cause


@pytest.mark.abridged
@pytest.mark.parametrize("case", ["step too long", "edge of a box", "slow"])
def test_settings_that_are_said_to_help_do(case: str) -> None:
    body, bounds, _ = CASES[case]
    told = network(body).non_convergence(inputs(*bounds)).helps
    settings = {name: float(value) for name, value in re.findall(r"([\w.]+) = ([\d.]+)", told)}
    assert settings
    whole = {name: int(value) if value == int(value) else value for name, value in settings.items()}
    helped = network(body, whole)
    assert (
        bool((helped.relax(inputs(*bounds)).residual <= 1e-4).all()) and helped.non_convergence(inputs(*bounds)) is None
    )


def test_steps_by_the_curvature_are_tried_before_a_lower_gain() -> None:
    """At rest on the rim the curvature is 5,000 and more: no 64th of a step of 0.2 is short enough."""
    body = f"state z[D] in [0.0001, 0.9999]\n{STIFF.partition(chr(10))[2].replace('0.1 *', '')}"
    told = network(body).non_convergence(inputs(-8.0, -7.0))
    assert told.cause == "step" and "relax.step is too large for the curvature there, of up to about" in told.why
    longer = r"relax\.max_steps = (\d+), nudge\.steps = \d+"
    found = re.match(rf"relax\.step = auto with {longer}, or relax\.step = ([\d.e-]+)$", told.helps)
    assert found is not None, told.helps
    for step, most in (("auto", int(found[1])), (float(found[2]), 100_000)):
        helped = network(body, {"relax.step": step, "relax.max_steps": most})
        assert helped.non_convergence(inputs(-8.0, -7.0)) is None


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize(
    ("case", "old", "new", "step"),
    [
        ("abs", "abs(z[d])", "sqrt(z[d]^2 + 1/100)", 0.1),
        ("sign", "sign(z[d])", "tanh(z[d] / 0.1)", 0.1),
        ("saddle", "state z[D]", "state z[D] in [-1, 1]", 0.2),
        ("quartic", "state z[D]", "state z[D] in [-1, 1]", 0.2),
        ("slope", "state z[D]", "state z[D] in [-1, 1]", 0.2),
        ("drive", "state z[D]", "state z[D] in [-1, 1]", 0.2),
    ],
)
def test_forms_that_are_said_to_help_do(case: str, old: str, new: str, step: float) -> None:
    body, bounds, _ = CASES[case]
    assert old in body
    assert network(body.replace(old, new), {"relax.step": step}).non_convergence(inputs(*bounds)) is None


def test_a_kink_that_moves_by_a_proximal_step_settles() -> None:
    assert network(KINK, {"relax.proximal": "auto"}).non_convergence(inputs(0.3, 2.0)) is None


def test_a_state_for_each_sign_settles_under_an_l1_norm() -> None:
    body = KINK.replace("state z[D]", "state p[D] in nonnegative, n[D] in nonnegative\nlet z[d] = p[d] - n[d]")
    assert network(body.replace("abs(z[d])", "p[d] + n[d]")).non_convergence(inputs(0.3, 2.0)) is None


def test_steps_of_single_states_are_named() -> None:
    body = f"state z[D], y[D]\n{PULL.replace('1/2', '6')} + 1/2 * sum[d](y[d]^2 - x[d] * y[d])"
    told = network(body, {"relax.step.y": 0.5}).non_convergence(inputs(0.5, 1.0))
    assert told.cause == "step" and "relax.step.z = 0.05, relax.step.y = 0.125" in told.helps


def test_a_host_is_told_where_to_ask() -> None:
    net, clamps = network(KINK), inputs(0.3, 2.0)
    with pytest.warns(
        RuntimeWarning, match=r"relax.tolerance = 0.0001 is not reached in 200 steps; its `non_convergence"
    ):
        net(clamps)
