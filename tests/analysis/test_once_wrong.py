"""Forces and energies that were once judged wrongly, each with the answer that is right, by what `check` prints."""

from __future__ import annotations

from typing import Any

import pytest

import energyc

PLANE = """network plane
target lab
param a = 1/2
state x, y
start x = 1
start y = 1/2
{functions}energy q = 1/4*(x^2 + y^2)^2 - 1/2*(x^2 + y^2) - 1/100*a*x
{terms}
cost c = 1/2*(y - lab)^2
"""
TOKENS = """network tokens
dim {dims}
target lab[N,D]
{params}state z[N,D]{kept}
{functions}energy q = 1/2*sum[n,d](z[n,d]^2)
force f on z[n,d] = {force}
cost c = 1/2*sum[n,d]((z[n,d] - lab[n,d])^2)
"""


def plane(*terms: str, functions: str = "") -> str:
    return PLANE.format(terms="\n".join(terms), functions=functions)


def pair(f: str, g: str, functions: str = "") -> str:
    return plane(f"force f on x = {f}", f"force g on y = {g}", functions=functions)


def tokens(force: str, dims: str = "N = 4, D = 2", params: str = "", functions: str = "", kept: str = "") -> str:
    params = f"param {params} ~ normal\n" if params else ""
    return TOKENS.format(dims=dims, params=params, force=force, functions=functions, kept=kept)


def judged(text: str) -> dict[str, Any]:
    """The report, with what is said of all that is not the energy q."""
    report = energyc.check(text).to_json()
    terms = [term for term in report["terms"] if term["name"] != "q"]
    return {**report, "found": report.get("together") or terms[0]}


#: Said to be conservative, with a proof.
NO_GRADIENT = {
    "a vortex by a ratio": pair("-1/y/(1 + (x/y)^2)", "(x/y)/y/(1 + (x/y)^2)"),
    "a step by poles": pair("relu(y)^2/y^2", "x*(2*relu(y)/y^2 - 2*relu(y)^2/y^3)"),
}
#: Said to be their own proof, though they jump.
JUMPS = {
    "x*abs(y)/y": plane("energy e = -x*abs(y)/y"),
    "x*tanh(1/y)": plane("energy e = x*tanh(1/y)"),
    "x*y/sqrt(y^2)": plane("energy e = x*y/sqrt(y^2)"),
}
#: Rightly undecided then and now.
STILL = {"x*sign(y)": plane("energy e = x*sign(y)")}
#: Refuted at sizes that the spec cannot have, or does not have.
AT_OTHER_SIZES = {
    "D - H*A": tokens(
        "(D - H*A)*sum[e](B[d,e]*z[n,e]) + sum[h,a](c0[h,a,d])", "N = 2, D = 6, H = 2, A = D / H", "B[D,D], c0[H,A,D]"
    ),
    "N - 4": tokens("(N - 4)*sum[e](B[d,e]*z[n,e])", params="B[D,D]"),
}
LEAKY, HARD, SOFT = (
    f"fn rho(u) = {text}\n" for text in ("relu(u) - 0.1*relu(-u)", "relu(u) - relu(u - 1)", "u/(1 + abs(u))")
)
#: Undecided, though a gradient.
GRADIENTS = {
    "sqrt beside its inverse": pair("sqrt(1 + y^2)", "x*y/sqrt(1 + y^2)"),
    "silu's product rule": pair("silu(y)", "x*(sigmoid(y) + y*sigmoid(y)*(1 - sigmoid(y)))"),
    "leaky relu": pair("rho(y)", "x*rho'(y)", LEAKY),
    "hard sigmoids": pair("rho'(x)*rho(y)", "rho(x)*rho'(y)", HARD),
    "softsign": pair("rho(y)", "x*rho'(y)", SOFT),
    "softsigns": pair("rho'(x)*rho(y)", "rho(x)*rho'(y)", SOFT),
    "exp(a + b)": pair("exp(x + y)", "exp(x)*exp(y)"),
    "a distance": tokens("sum[m](exp(-abs(n - m))*z[m,d])"),
    "a squared distance": tokens("sum[m](exp(-(n - m)^2)*z[m,d])"),
    "a dim of size 1": tokens("sum[m](A[n,m]*z[m,d])", "N = 1, D = 2", "A[N,N]"),
    "neurons": tokens("rho'(z[n,d])*sum[e]((A[d,e] + A[e,d])*rho(z[n,e]))", "N = 2, D = 3", "A[D,D]", functions=HARD),
    "soft neurons": tokens(
        "rho'(z[n,d])*sum[e]((A[d,e] + A[e,d])*rho(z[n,e]))", "N = 2, D = 3", "A[D,D]", functions=SOFT
    ),
    "Coulomb": tokens("sum[m | m != n]((z[n,d] - z[m,d])*(sum[e]((z[n,e] - z[m,e])^2))^(-3/2))", "N = 4, D = 3"),
    "a guard that is true at this size": tokens("sum[m | m <= n + 2](z[m,d])", "N = 3, D = 2"),
}
#: Undecided, though none.
FAR_AND_NEAR = {
    "relu(y - 2)": plane("force f on x = relu(y - 2)"),
    "relu(y)": plane("force f on x = relu(y)"),
    "a step": plane("force f on x = relu'(y)"),
    "coefficients 1e-9 apart": pair("a*y + 1e-9*y", "a*x"),
}
#: Refuted, though gradients along the set.
ON_SETS = {
    "normal to a simplex": tokens("sum[e](a[e]*z[n,e])", params="a[D]", kept=" in simplex[D]"),
    "radial on a sphere": tokens("z[n,d]*sum[e](a[e]*z[n,e])", params="a[D]", kept=" in sphere[D]"),
    "normal to standardized": tokens(
        "(1 + z[n,d])*sum[e](a[e]*z[n,e])", "N = 2, D = 4", "a[D]", kept=" in standardized[D]"
    ),
}


@pytest.mark.parametrize("text", NO_GRADIENT.values(), ids=list(NO_GRADIENT))
def test_what_does_work_round_a_loop_is_no_gradient(text: str) -> None:
    report = judged(text)
    assert report["class"] == "not-conservative" and report["found"]["witness"]["kind"] == "loop"


@pytest.mark.parametrize("text", [*JUMPS.values(), *STILL.values()], ids=[*JUMPS, *STILL])
def test_an_energy_that_jumps_is_no_proof(text: str) -> None:
    report = judged(text)
    assert report["class"] == "undecided" and report["found"]["evidence"] == "none"


@pytest.mark.parametrize("text", AT_OTHER_SIZES.values(), ids=list(AT_OTHER_SIZES))
def test_a_witness_holds_at_sizes_of_the_spec(text: str) -> None:
    assert judged(text)["class"] == "conservative"


@pytest.mark.abridged
@pytest.mark.parametrize("text", GRADIENTS.values(), ids=list(GRADIENTS))
def test_a_gradient_that_was_undecided(text: str) -> None:
    report = judged(text)
    assert report["class"] == "conservative" and report["found"]["evidence"] == "proof"


@pytest.mark.parametrize("text", FAR_AND_NEAR.values(), ids=list(FAR_AND_NEAR))
def test_what_is_none_and_was_undecided(text: str) -> None:
    report = judged(text)
    assert report["class"] == "not-conservative" and report["found"]["witness"]


@pytest.mark.parametrize("text", ON_SETS.values(), ids=list(ON_SETS))
def test_a_gradient_along_a_set_that_was_refuted(text: str) -> None:
    report = judged(text)
    assert report["class"] == "conservative" and report["rules"]["ep"]["verdict"] == "exact"
