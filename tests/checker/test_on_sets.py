"""Certificates of forces along the sets of their states, and at some sizes; identities by signs and at poles."""

from __future__ import annotations

from itertools import product

import pytest

from energyc.checker.judge import ON_SETS, QUANTIFIERS
from tests.checker.proofs import Json, answer, certified

SPEC = """network kept
dim N = {n}, D = 4
param a[D] ~ normal(1), A[N,N] ~ normal(1)
state z[N,D]{set}
energy q = 1/2*sum[n,d](a[d]*z[n,d]^2) + 0*sum[n,m in N](A[n,m])
force f on z[n,d] = {force}
"""
#: Sets, and forces that are gradients along them though they are none in all space.
ALONG = {
    " in simplex[D]": ("sum[e](a[e]*z[n,e])", "a[d] - 2*sum[m,e](a[e]*z[m,e]^2)"),
    " in sphere[D]": ("z[n,d]*sum[e](a[e]*z[n,e])", "tanh(z[n,d]) - z[n,d]*sum[m,e](tanh(z[m,e]))"),
    " in standardized[D]": (
        "(z[n,d] - 3)*sum[e](a[e]*z[n,e]) + sum[m,e](a[e]*z[m,e]^3)",
        "sum[m]((z[n,d] - z[m,d])*exp(-sum[e]((z[n,e] - z[m,e])^2))) + (z[n,d] - 3)*sum[e](a[e]*z[n,e]^3)",
    ),
    " in [-1, 1]": ("sum[e](relu(z[n,e] - 2)) + tanh(z[n,d])", "z[n,d]*sum[m](relu'(z[m,d] + tanh(z[n,d]) - 5/2))"),
}
#: Forces that are not: of another token, of each entry by itself, off another set, where the set does not decide.
CIRCLING = (
    (" in simplex[D]", "z[n,d]*sum[e](a[e]*z[n,e])"),
    (" in simplex[D]", "a[d]*sum[e](a[e]*z[n,e]^3)"),
    (" in sphere[D]", "sum[e](a[e]*z[n,e])"),
    (" in sphere[D]", "z[n,d]*tanh(z[n,d])*sum[e](a[e]*z[n,e])"),
    (" in sphere[N]", "z[n,d]*sum[e](a[e]*z[n,e])"),
    (" in [-1, 3]", "sum[e](relu(z[n,e] - 2))"),
    (" in nonnegative", "sum[e](relu(z[n,e] - 2))"),
)


def proof_of(force: str, on: str = "", n: int = 2) -> tuple[Json | None, str]:
    """The certificate of a force, if there is one, and the spec."""
    text = SPEC.format(n=n, set=on, force=force)
    entries = certified(text)["certificates"]
    return next((entry for entry in entries if entry["statement"]["of"] == ["f"]), None), text


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize(("on", "force"), [(on, force) for on, forces in ALONG.items() for force in forces])
def test_what_is_normal_to_a_set_does_no_work(on: str, force: str) -> None:
    proof, text = proof_of(force, on)
    assert proof is not None
    assert answer(proof, text).verdict == "yes"
    assert proof["statement"]["for"] == ON_SETS
    anywhere = {**proof, "statement": {**proof["statement"], "for": QUANTIFIERS}}
    assert answer(anywhere, text).verdict == "no"
    assert answer(proof, text.replace(on, "")).verdict == "no"


@pytest.mark.parametrize(("on", "force"), CIRCLING)
def test_what_circles_on_a_set_has_no_proof(on: str, force: str) -> None:
    proof, text = proof_of(force, on)
    assert proof is None
    statement = {"kind": "symmetric", "of": ["f"], "by": ["z"], "layer": None, "sizes": {}, "for": ON_SETS}
    formulas = {"force f on z[n,d]": force}
    for across, sizes in product((True, False), ({}, {"N": 2}, {"N": 2, "D": 4})):
        about = {**statement, "across": across, "sizes": sizes}
        made = {"claim": "forged", "statement": about, "formulas": formulas, "steps": []}
        assert answer(made, text).verdict != "yes"


SIZED = {
    "sum[m | m <= n + 1](z[m,d])": 2,
    "sum[m](A[n,m]*z[m,d])": 1,
    "(N - 3)*sum[m](A[n,m]*z[m,d])": 3,
    "sum[m | m > n](tanh(z[m,d])) + sum[m | m < n](tanh(z[m,d]))*(3 - N)/2": 1,
}


@pytest.mark.abridged(every=2)
@pytest.mark.parametrize("force", SIZED)
def test_a_proof_at_some_sizes_names_them(force: str) -> None:
    proof, text = proof_of(force, n=SIZED[force])
    assert proof is not None
    assert proof["statement"]["sizes"] == {"N": SIZED[force]}
    for sizes in ({}, {"N": SIZED[force] + 1}, {"D": SIZED[force]}, {"N": 0}, {"N": "1"}):
        made = {**proof, "statement": {**proof["statement"], "sizes": sizes}}
        assert answer(made, text).verdict == "no"


#: Energies with a state under a condition, and their slopes there.
SELECTED = {
    "where(a <= 0, exp(a), a + 1)": "where(a <= 0, exp(a), 1)",
    "where(a > 1, tanh(a)^2, exp(2*a))": "where(a > 1, 2*tanh(a)*(1 - tanh(a)^2), 2*exp(2*a))",
    "where(a + 1 <= 1, exp(a), exp(a))": "exp(a)",
    "where(a > 0, where(a > 1, log(a), sin(a)), cos(a))": "where(a > 0, where(a > 1, 1/a, cos(a)), -sin(a))",
}


@pytest.mark.parametrize("energy", SELECTED)
def test_slopes_of_selections(energy: str) -> None:
    text = f"network n\nstate a\nenergy e = {energy}\n"
    assert certified(text)["uncertified"] == []
    statement = {"kind": "gradient", "of": ["e"], "by": ["a"], "layer": None, "sizes": {}, "for": QUANTIFIERS}
    slope = SELECTED[energy]
    for force, holds in ((f"-({slope})", True), (slope, False), (f"-({slope}) + where(a > 2, 1, 0)", False)):
        steps = [{"rule": "slope", "force": "a", "is": force}]
        made = {"claim": "e", "statement": statement, "formulas": {"energy e": energy}, "steps": steps}
        assert (answer(made, text).verdict == "yes") == holds, force


#: Forces with a pole where a guard is, and whether they are gradients.
POLES = {
    "sum[m | m != n]((z[n,d] - z[m,d])/sum[e]((z[n,e] - z[m,e])^2))": True,
    "sum[m | m != n]((z[n,d] - z[m,d])*sum[e]((z[n,e] - z[m,e])^2)^(-3/2))": True,
    "sum[m | m != n](tanh(z[m,d])*(z[n,d] - z[m,d])/sum[e]((z[n,e] - z[m,e])^2))": False,
    "sum[m | m != n](1/(z[n,d] - 2*z[m,d]))": False,
}


@pytest.mark.parametrize("force", POLES)
def test_guards_at_poles(force: str) -> None:
    assert (proof_of(force)[0] is not None) == POLES[force]
