"""Matrices of flows along gradients, what is held: right certificates, false ones, and changed ones."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import pytest

from energyc.checker.judge import QUANTIFIERS
from energyc.checker.nodes import FOR
from tests.analysis.test_claims_at_random import METRICS, RISING, flow_by
from tests.checker.forged import node
from tests.checker.proofs import Json, answer, certified
from tests.checker.test_slopes import root

HEAD = "network n\ndim D = 3, H = 2, J = 2\nparam A[H,D,J], B[D,D] ~ normal(1), s[D] = 1, p[H,D] in sphere[D]\n"
HEAD += "clamp b[D]\nstate x[H,D]\nreadout r = sum[h,d](x[h,d]*b[d]*s[d])\n"
BELOW = "energy e = sum[h,d](softplus(x[h,d] - b[d]))\n"
#: A matrix for each head, and whether it is positive semidefinite for all params.
OF_HEADS = {
    "sum[j](A[h,d,j]*A[h,k,j])": True,
    "sum[j](A[h,d,j]*A[h,k,j]) + where(d == k, s[d]^2, 0)": True,
    "where(d == k, 1, 0) - p[h,d]*p[h,k]": True,
    "where(d == k, 1, 0) - 11/10*p[h,d]*p[h,k]": False,
    "-sum[j](A[h,d,j]*A[h,k,j])": False,
    "where(d == k, s[d], 0)": False,
    "p[h,d]*p[0,k] + p[0,d]*p[h,k]": False,
}
SQUARES = ("sum[h,j](sum[d](A[h,d,j] * w.P[h,d])^2)", "sum[h,d](s[d]^2 * w.P[h,d]^2)", "sum[h,d](s[d] * w.P[h,d]^2)")


def of_heads(matrix: str) -> str:
    return f"{HEAD}{BELOW}let P[h in H,d,k in D] = {matrix}\nflow x[h,d] = -sum[k](P[h,d,k]*grad(e, x[h,k]))\n"


def kinds(text: str) -> dict[str, Json]:
    """The proofs of a spec by the kinds of their statements."""
    file = certified(text)
    return {entry["statement"]["kind"]: entry for part in ("certificates", "claims") for entry in file[part]}


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("matrix", OF_HEADS)
def test_matrices_of_heads(matrix: str) -> None:
    text, holds = of_heads(matrix), OF_HEADS[matrix]
    assert ("semidefinite" in kinds(text)) == holds
    assert {"matrix", "metric", "symmetric"} & {*kinds(text)} and certified(text)["uncertified"] == []
    statement = {"kind": "semidefinite", "of": "P", "layer": None, "for": FOR["semidefinite"]}
    for by in (["d", "k"], ["k", "d"], ["h", "d"], ["h", "k"], ["d", "d"], ["d"]):
        for squares in ([], *([each] for each in SQUARES), [*SQUARES[:2]]):
            made = root(text, node("form", {**statement, "by": by}, facts={"squares": squares}))
            assert holds or answer(made, text).verdict != "yes"
            assert {*by} == {"d", "k"} or answer(made, text).verdict != "yes"


# ---------------------------------------------------------------- metrics of flows


@pytest.mark.abridged(every=9)
@pytest.mark.parametrize("flow", METRICS)
@pytest.mark.parametrize("inner", RISING)
def test_flows_by_a_let(inner: str, flow: str) -> None:
    assert certified(flow_by(inner, flow))["uncertified"] == []


#: Flows by a gradient, what this is by, and whether the matrix before it is symmetric for all params.
FLOWS = {
    "-2*grad(e, g[d])": ("layernorm[d](x[d])", True),
    "grad(e, g[d])": ("2*rmsnorm[d](x[d])", True),
    "-s[0]^2*grad(e, g[d])": ("softmax[d](x[d])", True),
    "-s[d]*grad(e, g[d])": ("layernorm[d](x[d])", False),
    "-grad(e, g[d])^2": ("tanh(x[d])", False),
    "-grad(e, g[d]) + 1": ("layernorm[d](x[d])", False),
    "-grad(e, g[d])*exp(grad(e, g[d]))": ("tanh(x[d])", False),
    "-sum[k in D](B[d,k]*grad(e, g[k]))": ("layernorm[d](x[d])", False),
    "-sum[k in D](B[k,d]*sum[l in D](B[k,l]*grad(e, g[l])))": ("3*x[d]", True),
}


def along(flow: str, inner: str) -> str:
    text = "network n\ndim D = 3\nparam s[D] = 1, B[D,D] ~ normal(1)\nclamp b[D]\nstate x[D]\n"
    text += f"let g[d] = {inner}\nenergy e = sum[d](softplus(g[d] - b[d]))\nflow x[d] = {flow}\n"
    return text + "readout r = sum[d](s[d]) + sum[d,k in D](B[d,k])\n"


def forged(text: str) -> Json:
    statement = {"kind": "metric", "of": "x", "by": ["g"], "layer": None, "sizes": {}, "for": QUANTIFIERS}
    return {"claim": "forged", "statement": statement, "formulas": root(text, {})["formulas"], "steps": []}


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("flow", FLOWS)
def test_the_metric_of_a_flow(flow: str) -> None:
    inner, symmetric = FLOWS[flow]
    text = along(flow, inner)
    assert symmetric <= bool({"metric", "symmetric"} & {*kinds(text)})
    if not symmetric:
        assert "metric" not in kinds(text)
        assert answer(forged(text), text).verdict != "yes"


# ---------------------------------------------------------------- what is held, and other functions

#: Forces with parts that are held, and functions whose potentials have no name in the language.
FORCES = {
    "relu(detach(z[d]))": True,
    "sum[k](B[d,k]*frozen(z[k]))": False,
    "softplus(2*z[d])": True,
    "gelu(3*z[d] - b[d])": True,
    "softsign(z[d])": True,
    "z[d]/(2 + cos(z[d]))": True,
}
HELD = "network n\ndim D = 3\nparam B[D,D] ~ normal(1)\nclamp b[D]\nstate z[D]\nenergy q = sum[d](b[d]*z[d])\n{}\n"


@pytest.mark.abridged(every=2)
@pytest.mark.parametrize("force", FORCES)
def test_forces_with_what_is_held(force: str) -> None:
    """A force is judged with all that it reads, though nothing is learned through what is held."""
    text = HELD.format(f"force f on z[d] = {force}\nreadout r = sum[d,k in D](B[d,k])")
    assert certified(text)["uncertified"] == []
    about = [entry for entry in certified(text)["certificates"] if entry["statement"]["of"] == ["f"]]
    assert bool(about) == FORCES[force]


@pytest.mark.parametrize(
    ("energy", "slope", "holds"),
    [
        ("sum[d]((z[d] - frozen(2*z[d]))^2)", "2*z[d]", True),
        ("sum[d]((z[d] - frozen(2*z[d]))^2)", "-2*z[d]", False),
        ("sum[d]((z[d] - 2*z[d])^2)", "-2*z[d]", True),
        ("sum[d](detach(z[d])*tanh(z[d]))", "-z[d]*(1 - tanh(z[d])^2)", True),
        ("sum[d](detach(z[d])*tanh(z[d]))", "-tanh(z[d]) - z[d]*(1 - tanh(z[d])^2)", False),
        ("sum[d](detach(z[d]))", "0", True),
        ("sum[d](detach(z[d]))", "-1", False),
    ],
)
def test_what_is_held_has_no_part_in_a_slope(energy: str, slope: str, holds: bool) -> None:
    text = HELD.format(f"energy e = {energy}")
    statement = {"kind": "gradient", "of": ["e"], "by": ["z"], "layer": None, "sizes": {}, "for": QUANTIFIERS}
    steps = [{"rule": "slope", "force": "z[d]", "is": slope}]
    made = {"claim": "e", "statement": statement, "formulas": {"energy e": energy}, "steps": steps}
    assert (answer(made, text).verdict == "yes") == holds


# ---------------------------------------------------------------- changes


def changes(entry: Json) -> Iterator[Json]:
    """A certificate with one thing changed so that it means something else."""
    for field in entry["statement"]:
        made = copy.deepcopy(entry)
        del made["statement"][field]
        yield made
    for left in entry["formulas"]:
        made = copy.deepcopy(entry)
        made["formulas"][left] += " + 1e-20"
        yield made
    for step in ({"rule": "slope", "force": "x[d]", "is": "0"}, {"rule": "potential", "energy": "0"}):
        yield {**entry, "steps": [step]}


@pytest.mark.parametrize("text", [along("grad(e, g[d])", "2*rmsnorm[d](x[d])")])
def test_a_changed_certificate_is_refused(text: str) -> None:
    entry = kinds(text)["metric"]
    assert answer(entry, text).verdict == "yes"
    made = [each for each in changes(entry) if each != entry]
    assert len(made) > 8
    assert [each for each in made if answer(each, text).verdict == "yes"] == []
