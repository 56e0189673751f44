"""Forces that a symmetric Jacobian, or a witness at the wrong sizes, would have judged wrongly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import energyc
from energyc.proofs.conservativeness.quadrature import work_round

PLANE = """network plane
target lab
param a = 1/2
state x, y
start x = 1
start y = 1/2
energy q = 1/4*(x^2 + y^2)^2 - 1/2*(x^2 + y^2) - 1/100*a*x
{terms}
cost c = 1/2*(y - lab)^2
"""
TOKENS = """network tokens
dim {dims}
target lab[N,D]
param {params} ~ normal
state z[N,D]
energy q = 1/2*sum[n,d](z[n,d]^2)
force f on z[n,d] = {force}
cost c = 1/2*sum[n,d]((z[n,d] - lab[n,d])^2)
"""


def judged(text: str) -> dict[str, Any]:
    """The sum of all terms that are not proved alone, or the one term that is not; ``class`` of the network where all
    are proved."""
    report = energyc.check(text).to_json()
    unproved = [term for term in report["terms"] if term["class"] != "conservative"]
    return dict(report["together"] or (unproved[0] if unproved else report))


def in_plane(*terms: str) -> dict[str, Any]:
    return judged(PLANE.format(terms="\n".join(terms)))


def of_forces(f: str, g: str) -> dict[str, Any]:
    return in_plane(f"force f on x = {f}", f"force g on y = {g}")


# ---------------------------------------------------------------- poles, holes and jumps


@pytest.mark.parametrize(
    ("f", "g"),
    [
        ("-1/y/(1 + (x/y)^2)", "(x/y)/y/(1 + (x/y)^2)"),
        ("-y/(x^2 + y^2)", "x/(x^2 + y^2)"),
        ("-(y - 5)/((x + 3)^2 + (y - 5)^2)", "(x + 3)/((x + 3)^2 + (y - 5)^2)"),
        ("-1/(y - 5)/(1 + ((x + 3)/(y - 5))^2)", "((x + 3)/(y - 5))/(y - 5)/(1 + ((x + 3)/(y - 5))^2)"),
    ],
)
def test_a_vortex_does_two_pi_of_work_however_it_is_written(f: str, g: str) -> None:
    found = of_forces(f, g)
    assert found["class"] == "not-conservative" and found["witness"]["kind"] == "loop"
    assert abs(found["witness"]["work"]) == pytest.approx(2 * np.pi, abs=1e-9)


def test_a_step_written_by_poles_is_refuted() -> None:
    report = energyc.check(
        PLANE.format(terms="force f on x = relu(y)^2/y^2\nforce g on y = x*(2*relu(y)/y^2 - 2*relu(y)^2/y^3)")
    )
    assert report.to_json()["class"] == "not-conservative"


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize(
    "energy", ["-x*abs(y)/y", "x*tanh(1/y)", "x*y/sqrt(y^2)", "x*relu(y - 9)/(y - 9)", "x*sign(y)"]
)
def test_an_energy_that_jumps_is_neither(energy: str) -> None:
    """Off its jumps the force is minus its gradient; round a loop across them it does work."""
    report = energyc.check(PLANE.format(terms=f"energy e = {energy}")).to_json()
    found = next(term for term in report["terms"] if term["name"] == "e")
    assert report["class"] == found["class"] == "undecided" and found["evidence"] == "none"
    assert found["witness"]["kind"] == "loop" and abs(found["witness"]["work"]) > 0.1
    assert f"{found['witness']['work']:.6g} round a closed loop" in found["tried"][0]
    rule = report["rules"]["ep"]
    assert rule["verdict"] == "unproved" and "exact at equilibria off jumps and poles" in rule["why"]


def test_two_energies_that_jump_are_neither_together() -> None:
    report = energyc.check(PLANE.format(terms="energy e = x*sign(y)\nenergy g = -2*x*sign(y + 1)")).to_json()
    assert report["class"] == report["together"]["class"] == "undecided"


def test_energies_whose_jumps_cancel_are_one() -> None:
    report = energyc.check(PLANE.format(terms="energy e = x*sign(y)\nenergy g = -x*abs(y)/y + x^2")).to_json()
    assert report["class"] == "conservative"


@pytest.mark.parametrize(
    "energy",
    ["-log(abs(y))", "1/y", "x^2/(y^2 + 1)", "log(x^2 + y^2)", "x*exp(-1/y^2)", "y*sqrt(y^2)", "abs(x - y)", "log(x)"],
)
def test_an_energy_that_is_infinite_or_has_a_kink_is_one(energy: str) -> None:
    report = energyc.check(PLANE.format(terms=f"energy e = {energy}")).to_json()
    assert {term["name"]: term["evidence"] for term in report["terms"]}["e"] == "gradient"


@pytest.mark.parametrize(
    "force", ["relu(y)", "relu(y - 2)", "relu'(y)", "relu(y - 30)", "abs(y + 7) - y", "relu'(y - 3)"]
)
def test_a_force_that_begins_beyond_a_kink_is_refuted(force: str) -> None:
    assert in_plane(f"force f on x = {force}")["class"] == "not-conservative"


@pytest.mark.parametrize("difference", ["1e-9", "1e-12"])
def test_fractions_that_hardly_differ_are_told_apart(difference: str) -> None:
    found = of_forces(f"a*y + {difference}*y", "a*x")
    assert found["class"] == "not-conservative" and found["witness"]["arithmetic"] == "fractions"


# ---------------------------------------------------------------- sizes


@pytest.mark.parametrize(
    ("dims", "params", "force"),
    [
        (
            "N = 2, D = 6, H = 2, A = D / H",
            "B[D,D], c0[H,A,D]",
            "(D - H*A)*sum[e](B[d,e]*z[n,e]) + sum[h,a](c0[h,a,d])",
        ),
        ("N = 4, D = 2", "B[D,D]", "(N - 4)*sum[e](B[d,e]*z[n,e])"),
        ("N = 4, D = 2", "B[D,D]", "(N^2 - 4*N)*sum[e](B[d,e]*z[n,e])"),
    ],
)
def test_no_witness_is_of_sizes_that_the_spec_does_not_have(dims: str, params: str, force: str) -> None:
    assert judged(TOKENS.format(dims=dims, params=params, force=force))["class"] != "not-conservative"


def test_a_witness_at_small_sizes_holds_at_the_specs() -> None:
    found = judged(TOKENS.format(dims="N = 7, D = 6", params="B[D,D]", force="(N - 4)*sum[e](B[d,e]*z[n,e])"))
    assert found["class"] == "not-conservative" and found["witness"]["load"]["dims"].keys() == {"N", "D"}


# ---------------------------------------------------------------- sets

ON_A_SET = """network kept
dim K = 4
clamp x[K]
param W[K,K] ~ normal(0.5), a[K] ~ normal(0.5)
state p[K] in {kind}[K]
start p[k] = 1/2
energy e = 1/2*sum[k](p[k]^2) - sum[j,k](x[j]*W[j,k]*p[k])
force f on p[k] = {force}
readout out[k] = p[k]
cost c = sum[k](p[k]^2)
"""


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize(
    ("kind", "force", "expected"),
    [
        ("simplex", "sum[m](a[m]*p[m])", "conservative"),
        ("sphere", "p[k]*sum[m](a[m]*p[m])", "conservative"),
        ("sphere", "p[k]*sum[m](a[m]*p[m]^3) - tanh(p[k])", "conservative"),
        ("standardized", "sum[m](a[m]*p[m])", "conservative"),
        ("standardized", "p[k]*sum[m](a[m]*p[m])", "conservative"),
        ("standardized", "(p[k] - 3)*sum[m](a[m]*p[m]^2) + tanh(p[k])", "conservative"),
        ("simplex", "p[k]*sum[m](a[m]*p[m])", "not-conservative"),
        ("standardized", "a[k]*mean[m](p[m])", "conservative"),
        ("standardized", "p[k]^2*sum[m](a[m]*p[m]^3)", "not-conservative"),
        ("standardized", "sum[m](W[k,m]*p[m]) + 0*a[k]", "not-conservative"),
        ("sphere", "sum[m](a[m]*p[m])", "not-conservative"),
        ("sphere", "sum[m](W[k,m]*p[m]) + 0*a[k]", "not-conservative"),
        ("simplex", "sum[m](W[k,m]*p[m]) + 0*a[k]", "not-conservative"),
    ],
)
def test_what_is_normal_to_a_set_does_no_work(kind: str, force: str, expected: str) -> None:
    report = energyc.check(ON_A_SET.format(kind=kind, force=force)).to_json()
    assert report["class"] == expected
    (term,) = (term for term in report["terms"] if term["name"] == "f")
    assert term.get("on_set", False) == (expected == "conservative")


@pytest.mark.abridged(every=2)
@pytest.mark.parametrize(
    ("kind", "force", "expected"),
    [
        ("[-1, 1]", "sum[m](a[m]*relu(p[m] - 2))", "conservative"),
        ("[-1, 1]", "abs(sum[m](a[m]) + 0*p[k]) - relu(3 + p[k])*relu(p[k])", "conservative"),
        ("[-1, 1]", "sum[m](a[m]*relu'(p[m] - 3/2))", "conservative"),
        ("[1/8, 1]", "sum[m](a[m]*(abs(p[m]) - p[m]))", "conservative"),
        ("[0, 1]", "(relu'(p[k]) - relu'(p[k] - 1))*sum[m](relu(p[m]) - relu(p[m] - 1)) + a[k]", "conservative"),
        ("[-1, 1]", "sum[m](relu(p[m] - 1/2)) + a[k]", "not-conservative"),
        ("[-1, 1]", "sum[m](a[m]*abs(p[m] + 2))", "not-conservative"),
        ("nonnegative", "sum[m](a[m]*abs(p[m]))", "not-conservative"),
    ],
)
def test_a_kink_outside_of_a_box_is_none(kind: str, force: str, expected: str) -> None:
    text = ON_A_SET.replace("{kind}[K]", "{kind}").format(kind=kind, force=force)
    assert energyc.check(text).to_json()["class"] == expected


# ---------------------------------------------------------------- what was undecided


@pytest.mark.abridged
@pytest.mark.parametrize(
    ("f", "g"),
    [
        ("sqrt(1 + y^2)", "x*y/sqrt(1 + y^2)"),
        ("silu(y)", "x*(sigmoid(y) + y*sigmoid(y)*(1 - sigmoid(y)))"),
        ("relu(y) - 0.1*relu(-y)", "x*(relu'(y) + 0.1*relu'(-y))"),
        ("(relu'(x) - relu'(x - 1))*(relu(y) - relu(y - 1))", "(relu(x) - relu(x - 1))*(relu'(y) - relu'(y - 1))"),
        ("y/(1 + abs(y))", "x/(1 + abs(y)) - x*y*abs'(y)/(1 + abs(y))^2"),
        ("exp(x + y)", "exp(x)*exp(y)"),
        ("y/(1 + abs(y))", "x/(1 + abs(y))^2"),
        ("(2*y - 1)/(1 + abs(2*y - 1))*sigmoid(x)*(1 - sigmoid(x))", "2*sigmoid(x)/(1 + abs(2*y - 1))^2"),
        ("y/(1 + relu(y))", "x/(1 + relu(y)) - x*relu(y)/(1 + relu(y))^2"),
        ("log(abs(1 - 3*y))", "-3*x/(1 - 3*y)"),
        ("1/x*tanh(y)", "log(abs(2*x))*(1 - tanh(y)^2)"),
        ("abs(y)^3", "3*x*y*abs(y)"),
        ("2*abs(x)*(relu(-y - 3) - 0.2*relu(-(-y - 3)))", "-x*abs(x)*(0.2 + 0.8*relu'(-y - 3))"),
    ],
)
def test_gradients_across_kinks_and_by_other_names_are_proved(f: str, g: str) -> None:
    assert of_forces(f, g)["class"] == "conservative"


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize(
    ("dims", "params", "force", "sizes"),
    [
        ("N = 4, D = 2", "A[D,D]", "sum[m](exp(-abs(n - m))*z[m,d]) + 0*A[d,d]", {}),
        ("N = 4, D = 2", "A[D,D]", "sum[m](exp(-(n - m)^2)*z[m,d]) + 0*A[d,d]", {}),
        ("N = 1, D = 2", "A[N,N]", "sum[m](A[n,m]*z[m,d])", {"N": 1}),
        ("N = 3, D = 2", "A[D,D]", "sum[m | m <= n + 2](z[m,d]) + 0*A[d,d]", {"N": 3}),
        ("N = 4, D = 2", "A[D,D]", "(N - 4)*sum[e](A[d,e]*z[n,e])", {"N": 4}),
        (
            "N = 4, D = 3",
            "A[D,D]",
            "sum[m | m != n]((z[n,d] - z[m,d])*(sum[e]((z[n,e] - z[m,e])^2))^(-3/2)) + 0*A[d,d]",
            {},
        ),
    ],
)
def test_a_proof_says_at_which_sizes_it_holds(dims: str, params: str, force: str, sizes: dict[str, int]) -> None:
    report = energyc.check(TOKENS.format(dims=dims, params=params, force=force)).to_json()
    (term,) = (term for term in report["terms"] if term["name"] == "f")
    assert (term["class"], term.get("sizes", {})) == ("conservative", sizes)


# ---------------------------------------------------------------- quadrature


def test_work_round_polygons_against_closed_forms() -> None:
    square = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])

    def vortex(z: np.ndarray) -> np.ndarray:
        return np.stack([-z[:, 1], z[:, 0]], axis=1) / np.sum(z * z, axis=1, keepdims=True)

    def step(z: np.ndarray) -> np.ndarray:
        return np.stack([np.where(z[:, 1] > 0.3, 1.0, 0.0), 0 * z[:, 0]], axis=1)

    def pole(z: np.ndarray) -> np.ndarray:
        return np.stack([1 / z[:, 1], -z[:, 0] / z[:, 1] ** 2], axis=1)

    round_origin, round_nothing = (work_round([square + shift], vortex) for shift in (0.0, 3.0))
    assert round_origin.total[0] == pytest.approx(2 * np.pi, abs=1e-10)
    assert round_nothing.total[0] == pytest.approx(0, abs=1e-12)
    assert work_round([square], step).total[0] == pytest.approx(-2, abs=1e-8)
    with np.errstate(all="ignore"):
        assert not work_round([square], pole).error[0] < 1
