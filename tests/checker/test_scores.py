"""Scores against a label, conditions on integer inputs, functions of several values, and numbers beyond the floats."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from energyc.checker.judge import judge
from energyc.language.diagnostics import SpecError
from energyc.mathematics.ir import Coefficient, nearest
from energyc.pipeline import classify, read, resolve
from energyc.proofs.claims.classes import Classes
from energyc.proofs.enclosures.intervals import NoEnclosure, number, rational

HEAD = "network n\ndim D = 3, K = 2\nclamp x[D], l : D, at[D] : D\n"
LEAK = "1/2*sum[d]((z[d] - x[d])^2)"
FLOOR = "bounded below"


def classes(body: str) -> Classes:
    """What check finds; every certificate of it is accepted."""
    text = f"{HEAD}{body}\n"
    found = classify(resolve(read(text)))
    answers = judge(json.loads(json.dumps(found.certificates)), text)
    assert all(answer.verdict == "yes" for answer in answers), answers
    return found


def floor(body: str) -> str:
    """The verdict on the floor of the energies."""
    (found,) = (claim.verdict for claim in classes(body).claims if claim.claim == FLOOR)
    return found


@pytest.mark.parametrize(
    "energy",
    [
        f"{LEAK} + cross_entropy[d](z[d], l)",
        f"{LEAK} + cross_entropy[d](tanh(z[d]), l)",
        f"{LEAK} + sum[k in D](cross_entropy[d](z[d] * x[d], at[k]))",
        f"{LEAK} + 3*correct[d](z[d], l)",
        f"{LEAK} - 2*cross_entropy[d](z[d], l)",
        f"{LEAK} + sum[d](where(at[d] == 1, z[d], 0))",
        f"{LEAK} + where(training, z[0], 0)",
        "sum[d](where(at[d] == 1, 1/2*(z[d] - x[d])^2, 1/4*z[d]^2))",
        "sum[d](where(training or at[d] < 2, z[d]^4, z[d]^2))",
    ],
)
def test_a_floor_beside_a_label_or_a_condition_on_integers(energy: str) -> None:
    assert floor(f"state z[D]\nenergy e = {energy}") == "proved"


@pytest.mark.parametrize(
    "energy",
    [
        "-cross_entropy[d](z[d], l)",
        "cross_entropy[d](z[d], l) - 2*sum[d](z[d])",
        f"{LEAK}*(1 - 2*correct[d](z[d], l))",
        "sum[d](where(at[d] == 1, z[d]^2, -z[d]^2))",
        "where(training, z[0]^2, z[0])",
    ],
)
def test_no_floor_where_there_is_none(energy: str) -> None:
    assert floor(f"state z[D]\nenergy e = {energy}") != "proved"


@pytest.mark.parametrize(
    "body",
    [
        "fn pull[d](u, v) = softmax[d](u) * v\nstate z[D]\n"
        f"let q[d] = pull[d](z[d], x[d])\nenergy e = {LEAK} + sum[d](q[d])",
        f"fn gap[d](u, v, w) = w * layernorm[d](u - v)\nstate z[D]\nenergy e = {LEAK} + sum[d](gap[d](z[d], x[d], 2))",
    ],
)
def test_a_function_of_several_values_along_an_index_is_judged(body: str) -> None:
    found = classes(body)
    assert [term.verdict for term in found.terms] == ["conservative"]
    assert len(found.certificates["certificates"]) == 1


@pytest.mark.parametrize("factor", ["1e150", "1e-150", "1e300", "2^900", "-1e200"])
@pytest.mark.parametrize("form", ["({c}*z[d])^2", "tanh({c}*z[d])^3", "{c}*z[d]^4", "exp({c}*z[d])"])
def test_very_large_and_small_numbers_are_answered(factor: str, form: str) -> None:
    """Their products in derivatives may be beyond the floats, those in the spec are refused."""
    body = f"state z[D]\nenergy leak = {LEAK}\nenergy e = sum[d]({form.format(c=factor)})"
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            found = classes(body)
        assert [term.verdict for term in found.terms] == ["conservative"] * 2
    except SpecError as error:
        assert [each.code for each in error.diagnostics] == ["E0704"]


def test_a_step_is_not_certified_at_very_large_numbers() -> None:
    text = f"{HEAD}state z[D]\nenergy e = {LEAK}\nflow z[d] = 1e300*tanh(1e150*z[0]) - grad(e, z[d])\n"
    with np.errstate(over="raise", divide="raise", invalid="raise"), pytest.raises(SpecError) as caught:
        resolve(read(f"{text}relax {{ step = certified, tolerance = 1e-6 }}\n"))
    assert [each.code for each in caught.value.diagnostics if each.severity == "error"] == ["E0504"]


BEYOND = Fraction(10) ** 400


def test_numbers_beyond_the_floats_keep_their_sign() -> None:
    assert nearest(BEYOND) == float("inf") and nearest(-BEYOND) == -float("inf") and nearest(1 / BEYOND) == 0
    assert Coefficient(BEYOND).number({}) == float("inf")
    with pytest.raises(NoEnclosure):
        number(float("inf"))
    with pytest.raises(NoEnclosure):
        rational(BEYOND)
    assert rational(1 / BEYOND).low <= 0 < rational(1 / BEYOND).high
