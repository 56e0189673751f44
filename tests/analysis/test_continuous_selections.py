"""Energies with selections by real values: proved to be continuous, or undecided with what is not known."""

from __future__ import annotations

import pytest

from energyc.proofs.claims.claims import claims_of
from energyc.proofs.conservativeness.classify import classify
from energyc.proofs.conservativeness.verdict import Verdict
from tests.analysis.placed import kernel_of
from tests.resolve.helpers import network

HEAD = """
dim D = 4
const c = 1/2, delta = 3/4
clamp x[D]
param W[D, D] ~ normal(1)
state z[D], y[D]
energy base = sum[d,j](W[d,j] * y[d] * z[j] * x[d])
"""
#: The sides meet, which is proved without a number being drawn.
MEET = [
    "where(z[d] > 0, z[d], 0)",
    "where(z[d] > c, z[d]^2 - c^2, 0)",
    "where(z[d]^2 < 4, z[d]^2, 4)",
    "where(z[d]^2 < c, z[d]^4, c * z[d]^2)",
    "where(abs(z[d]) < delta, z[d]^2 / 2, delta * (abs(z[d]) - delta / 2))",
    "where(abs(z[d] - x[d]) < delta, (z[d] - x[d])^2 / 2, delta * (abs(z[d] - x[d]) - delta / 2))",
    "where(z[d] > y[d], z[d] - y[d], exp(y[d] - z[d]) - 1)",
    "where(z[d] > 0, z[d], exp(z[d]) - 1)",
    "where(not z[d] >= 0, z[d], sin(z[d]))",
    "where(sum[j](W[d,j] * z[j]) > 0, sum[j](W[d,j] * z[j])^2, 0)",
    "where(2 * (z[d] - 1) > 0, tanh(z[d]) - tanh(1), 0)",
    "where(z[d] > 0 and y[d] > 0, z[d] * y[d], 0)",
    "where(z[d] > 0 or y[d] > 0, z[d] * y[d], 0)",
    "where(0 < z[d] < 1, z[d] * (1 - z[d]), 0)",
    "where(d > 1 and z[d] > 0, z[d], 0)",
    "where(z[d] < -1, -1, where(z[d] > 1, 1, z[d]))",
    "where(x[d] > 0, z[d]^2, 1)",
    "max(z[d], 1, y[d])",
    "min(z[d] * y[d], x[d])",
    "y[d] * clip(sum[j](z[j]), -1, c)",
    "leaky_relu(z[d], x[d])",
    "where(z[d] * y[d] > 1, z[d] * y[d], 1)",
    "where(-2 * z[d] * y[d] > c, z[d] * y[d], -c / 2)",
    "where(z[d] * y[d] > 1, z[d]^2 * y[d]^2, 1)",
    "where(z[d] * y[d] * x[d] > 0, z[d] * y[d] * sin(x[d]), 0)",
    "where(z[d] * y[d] > 0, z[d]^2 * y[d]^2, 0)",
    "where(abs(z[d] * y[d]) < 1, z[d]^2 * y[d]^2, 1)",
    "where(1 < z[d] * y[d] < 2, 3 * z[d] * y[d] - z[d]^2 * y[d]^2, 2)",
    "z[d] * where(sum[j](y[j]) * x[d] > 1, x[d] * sum[j](y[j]), 1)",
    "where(z[d]^4 > 0, z[d], 0)",
    "where(exp(z[d]) > 1, z[d], 0)",
    "where(exp(z[d]) > 2, exp(2 * z[d]), 4)",
    "where(exp(z[d]) > exp(y[d]), z[d], y[d])",
    "where(exp(z[d]) * exp(y[d]) > 1, exp(z[d] + y[d]), 1)",
    "where(exp(z[d] * y[d]) > 1, z[d] * y[d], 0)",
    "where(sigmoid(z[d]) > 1/2, z[d], 0)",
    "where(tanh(z[d]) > tanh(y[d]), z[d], y[d])",
    "where(log(z[d]^2 + 1) > 0, z[d], 0)",
]
#: They do not, or they do for another reason than the proof finds.
APART = [
    "where(z[d] > 0, 1, 0)",
    "where(z[d] > 50, z[d], 49)",
    "where(z[d] > 2^200, 1, 0)",
    "where(z[d] > 1, z[d]^2, z[d] + 1e-12)",
    "where(z[d] > 0, z[d] * (1 / z[d]), 0)",
    "where(z[d] > 0, sum[j](z[j]), 0)",
    "where(z[d] > y[d], z[d] - y[d] + x[d], 0)",
    "where(abs(z[d]) < 1, z[d], 1)",
    "where(z[d] > 0 and y[d] > 1, z[d] * y[d], 0)",
    "where(sum[j](z[j]) - 9 > 0, sum[j](z[j])^2, 80) * y[d]",
    "where(z[d] * y[d] > 1, z[d] * y[d], 2)",
    "where(z[d] * y[d] > 0, z[d]^2, 0)",
    "where(z[d] * y[d] > 1, z[d]^2 * y[d], 1)",
    "where(z[d] * y[d] * x[d] > 1, z[d] * y[d], 1)",
    "where(exp(z[d]) > 1, z[d], 1)",
    "where(exp(z[d]) > 2, z[d], 2)",
    "where(exp(z[d]) > exp(y[d]), z[d], y[d] + 1)",
    "where(sigmoid(z[d]) > 1/4, z[d], 0)",
    "where(relu(z[d]) > 0, z[d], 1)",
    "where(sin(z[d]) > 0, z[d], 0)",
    "where(cos(z[d]) > 1, z[d], 0)",
]


def verdict(expression: str, word: str = "energy e = sum[d](") -> Verdict:
    return classify(network(f"{HEAD}{word}{expression})")).terms["e"]


@pytest.mark.parametrize("expression", MEET)
def test_sides_that_meet(expression: str) -> None:
    found = verdict(expression)
    assert (found.kind, found.evidence, found.tried) == ("conservative", "gradient", ())


@pytest.mark.abridged(every=11)
@pytest.mark.parametrize("expression", APART)
def test_sides_that_do_not(expression: str) -> None:
    found = verdict(expression)
    assert found.kind == "undecided"
    named = expression.removeprefix("where(").split(", ")[0]
    across = any("across its jumps the force does work" in text for text in found.tried)
    assert across or f"the sides of where({named}, ...) are not known to meet where it changes" in found.tried


def test_one_condition_for_two_selections() -> None:
    """One of them meets and the other does not: what computes the condition is the same node."""
    found = verdict("where(z[d] > 0, z[d]^2, 0) + where(z[d] > 0, 1e-9, 0)")
    assert found.kind == "undecided"


def test_a_raw_step_is_none_of_them() -> None:
    assert verdict("where(z[d] > 0, z[d]^2, 0) + relu'(z[d])").kind == "undecided"


def test_a_let_brings_its_doubt_along() -> None:
    spec = f"{HEAD}let u[d] = where(z[d] > 2^200, 1, 0)\nenergy e = sum[d](u[d] * y[d])\nenergy f = sum[d](y[d]^2)"
    terms = classify(network(spec)).terms
    assert (terms["e"].kind, terms["f"].kind) == ("undecided", "conservative")


def test_a_slope_of_a_function_with_cases() -> None:
    """The slope of relu jumps; what it multiplies is not seen to vanish there."""
    net = network(f"{HEAD}fn f(u) = where(u > 0, u^2, u)\nenergy e = sum[d](f'(z[d]) * y[d])")
    assert classify(net).terms["e"].kind == "undecided"


def bounded_below(energy: str, kept: str = "") -> str:
    net = network(f"dim D = 4\nclamp x[D]\nstate z[D]{kept}\nenergy e = sum[d]({energy}) + 0 * sum[d](x[d])")
    (claim,) = [
        claim for claim in claims_of(net, classify(net), kernel_of(net), "it") if claim.claim == "bounded below"
    ]
    return claim.verdict


def test_a_floor_under_selections() -> None:
    huber = "where(abs(z[d]) < 1, z[d]^2 / 2, abs(z[d]) - 1/2)"
    assert bounded_below(f"z[d]^2 + {huber}") == "proved"
    assert bounded_below(huber, " in [-5, 5]") == "proved"
    assert bounded_below("max(z[d], -3) + 1/2 * z[d]^2") == "proved"
    assert bounded_below("where(z[d] > 0, z[d], z[d]^3)") == "refuted"
    assert bounded_below("where(z[d] > 0, 1, 0)", " in [-5, 5]") != "refuted"


FORCES = [
    ("where(z[d] > 1, z[d], 1 - 2 * z[d])", "conservative"),  # of each element alone
    ("sum[j](where(z[j] > z[d], z[j] - z[d], 0) - where(z[d] > z[j], z[d] - z[j], 0))", "conservative"),
    ("sum[j](where(z[j] > 0, z[j], 0))", "not-conservative"),
    ("max(z[d], 0) * sum[j](max(z[j], 0)^2)", "conservative"),
    ("where(sum[j](z[j]) > 0, 1, -1)", "conservative"),
    ("where(sum[j](z[j]) > 0, x[d], -1)", "not-conservative"),
    ("min(z[d], y[d])", "not-conservative"),
    ("sum[j](W[j,d] * clip(sum[k](W[j,k] * z[k]), -1, 1))", "conservative"),
    ("sum[j](W[j,d] * max(sum[k](W[j,k] * z[k]), 1)^2)", "conservative"),
    ("sum[j](W[j,d] * leaky_relu(erf(sum[k](W[j,k] * z[k])), 1/5))", "conservative"),
    ("sum[j](W[j,d] * where(sum[k](W[d,k] * z[k]) > c, z[j], 0))", "not-conservative"),
]


@pytest.mark.abridged
@pytest.mark.parametrize(("expression", "kind"), FORCES)
def test_forces(expression: str, kind: str) -> None:
    found = classify(network(f"{HEAD}force e on z[d] = {expression}")).terms["e"]
    assert found.kind == kind
