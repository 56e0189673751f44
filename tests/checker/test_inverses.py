"""Rule trees of matrices that are invertible, steps that bring states closer, and claims at sizes; false ones too."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from energyc.checker.nodes import FOR
from tests.analysis.test_skew_gradients import BEFORE, skew_of
from tests.checker.forged import node
from tests.checker.proofs import Json, certified
from tests.checker.test_slopes import verdict
from tests.drawing import SEED


def inverse(rule: str, squares: list[str] | None = None, sign: int = 1) -> Json:
    statement = {"kind": "invertible", "of": "w", "by": "w", "layer": None, "for": FOR["invertible"]}
    return node(rule, statement, facts={} if squares is None else {"squares": squares, "sign": sign})


def converges(text: str, length: str, rate: str, sizes: dict[str, int]) -> str:
    statement = {"kind": "converges", "steps": "plain", "lengths": {"z": length}, "rate": rate, "sizes": sizes}
    return verdict(text, node("lipschitz", {**statement, "layer": None, "for": FOR["converges"]}))


@pytest.mark.parametrize("before", [before for before, invertible in BEFORE.items() if not invertible])
def test_no_tree_says_that_a_singular_matrix_is_invertible(before: str) -> None:
    class First(np.random.Generator):
        def integers(self, high: int) -> int:  # type: ignore[override]
            return [*BEFORE].index(before) if high == len(BEFORE) else 1

    text, invertible = skew_of(First(np.random.PCG64(SEED)))
    assert not invertible
    squares: list[list[str]] = [[], ["sum[n](w.w[n]^2)"], ["sum[n](r[n]^2 * w.w[n]^2)"]]
    assert verdict(text, inverse("elementwise")) != "yes"
    for chosen, sign in product(squares, (1, -1)):
        assert verdict(text, inverse("form", chosen, sign)) != "yes", (chosen, sign)


#: Next values, flows and forces of a state z[D] with a param W of norm 9/10 and one V in [-1/8, 1/8], a step, sizes,
#: and the norm of the Jacobian of a step, which some params have.
STEPS = {
    "next z[d] = tanh(sum[k in D](W[d,k]*z[k]))": ("1", {}, Fraction(9, 10)),
    "next z[d] = 9/10*tanh(z[d])": ("1", {}, Fraction(9, 10)),
    "next z[d] = where(d < 1, 9/10, -4/5)*z[d]": ("1", {}, Fraction(9, 10)),
    "next z[d] = sum[k in D](V[d,k]*z[k])": ("1", {"D": 4}, Fraction(1, 2)),
    "next z[d] = sum[k in D](V[d,k]*sin(z[k]))": ("1/2", {"D": 4}, Fraction(3, 4)),
    "force f on z[d] = sum[k in D](W[d,k]*z[k]) - z[d]": ("1/2", {}, Fraction(19, 20)),
}


@pytest.mark.parametrize("body", STEPS)
def test_a_rate_is_accepted_as_far_as_it_is_true(body: str) -> None:
    step, sizes, norm = STEPS[body]
    text = (
        "network n\ndim D = 4\nclamp x[D]\nparam W[D,D] ~ normal(1) in norm[9/10], V[D,D] ~ normal(1) in [-1/8, 1/8]\n"
    )
    text += f"state z[D]\n{body}\nreadout r = sum[d,k in D](W[d,k] + V[d,k])\nrelax {{ step.z = {step} }}\n"
    assert converges(text, step, str(norm), sizes) == "yes"
    assert converges(text, step, str(norm - Fraction(1, 1000)), sizes) == "no"
    if sizes:
        assert converges(text, step, str(norm), {"D": 5}) == converges(text, step, str(norm), {}) == "no"


def test_a_floor_is_of_the_sizes_that_its_statement_names() -> None:
    text = "network n\ndim D = 4\nparam W[D,D] ~ normal(0.02) in symmetric and [-1/8, 1/8]\nstate z[D]\n"
    text += "energy e = 1/2*sum[d](z[d]^2) - 1/2*sum[d,k in D](W[d,k]*z[d]*z[k])\n"
    claims = {entry["statement"]["kind"]: entry for entry in certified(text)["claims"]}
    for kind in ("floor", "rest"):
        entry = claims[kind]
        assert entry["statement"]["sizes"] == {"D": 4} and verdict(text, entry) == "yes"
        for sizes in ({}, {"D": 9}):
            assert verdict(text, {**entry, "statement": {**entry["statement"], "sizes": sizes}}) == "no"
