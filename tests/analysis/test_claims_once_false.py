"""Claims that were once printed as proved or refuted and are false, each alone and in a layer; and their kin."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from energyc.language.diagnostics import Source, SpecError
from energyc.pipeline import Choices, resolve
from energyc.proofs.claims.classes import Claim, Classes
from energyc.proofs.verdicts.in_notation import classes_of
from tests.analysis.placed import in_copies, in_families, in_layer

#: A spec, and the claim that is not proved of it.
NOT_PROVED = {
    "a contraction on a sphere": (
        "state y[D] in sphere[D]\nstart y[d] = 1\nenergy g = 3/4*sum[d](y[d]^2)\nflow y[d] = -grad(g, y[d])",
        ("contraction", "an equilibrium exists"),
    ),
    "a contraction of standardized values": (
        "state y[D] in standardized[D]\nstart y[d] = x[d]\nnext y[d] = 1/2*y[d]",
        ("contraction",),
    ),
    "a contraction across a jump": (
        "state y[D]\nnext y[d] = where(y[d] > 0, -1, 1) + 1/2*y[d]",
        ("contraction", "an equilibrium exists"),
    ),
    "a contraction past what is detached": ("state y[D]\nnext y[d] = 1/2*y[d] + detach(y[d])", ("contraction",)),
    "a contraction past a mean of the batch": (
        "state y[D]\nnext y[d] = 1/2*y[d] - 2*mean[batch](y[d])",
        ("contraction", "an equilibrium exists"),
    ),
    "a least energy on a sphere under a long step": (
        "state z[D] in sphere[D]\nstart z[d] = 1\nenergy e = 10*sum[d](z[d]^2)",
        ("an equilibrium exists",),
    ),
    "a least energy with a frozen part": (
        "state y[D]\nenergy e = 1/2*sum[d](y[d]^2)\nenergy f = 1/2*sum[d]((y[d] - frozen(2*y[d] + 1))^2)",
        ("an equilibrium exists",),
    ),
    "a least energy with a detached part": (
        "state y[D]\nenergy e = sum[d](y[d]^2)\nenergy f = 3*sum[d]((y[d] - detach(2*y[d] + 1))^2)",
        ("an equilibrium exists",),
    ),
    "a least energy on a kink": (
        "param W[D, N] ~ normal(0.5)\nstate s[N]\nenergy fit = 1/2*sum[d]((x[d] - sum[n](W[d,n]*s[n]))^2)\n"
        "energy sparse = sum[n](abs(s[n])) + 1/2*sum[n](s[n]^2)\nrelax { proximal = off }",
        ("an equilibrium exists",),
    ),
    "a least energy on a hinge": (
        "state y[D]\nenergy e = sum[d](relu(1 - x[d]*y[d])) + 1/2*sum[d](y[d]^2)",
        ("an equilibrium exists",),
    ),
    "a force that reads the number of the step": (
        "dim T = 5\nstate y[D] in [-1, 1]\nforce f on y[d] = where(t < 2, 1, -1)\nrelax t in T { step = 1/2 }",
        ("an equilibrium exists",),
    ),
    "a floor at the first index alone": (
        "state z[D]\nenergy e = sum[d](where(d < 2, 1, 0)*z[d]^2) - sum[d](log(1 + z[d]^2))",
        ("bounded below", "an equilibrium exists"),
    ),
    "a floor at all indices but the last": (
        "state z[D]\nenergy e = sum[d](where(d == D - 1, 0, 1)*z[d]^2 - log(1 + z[d]^2))",
        ("bounded below", "an equilibrium exists"),
    ),
    "a floor at index 0 as a number": (
        "state z[D]\nenergy e = sum[d]((1 - d)*z[d]*tanh(z[d]))",
        ("bounded below", "an equilibrium exists"),
    ),
    "a floor at a size of 1": (
        "state z[D]\nenergy e = sum[d]((2 - D)*log(1 + z[d]^2))",
        ("bounded below", "an equilibrium exists"),
    ),
    "a contraction on one side of a condition": (
        "state z[D]\nnext z[d] = where(x[d] > 0, 11/10*tanh(z[d]), 1/2*z[d])",
        ("contraction", "it converges", "there is only one equilibrium"),
    ),
    "a contraction of each state but not of all": (
        "state z[D], y[D]\nnext z[d] = y[d] + x[d]\nnext y[d] = z[d]",
        ("it converges", "there is only one equilibrium", "an equilibrium exists"),
    ),
    "the logarithm of a sigmoid": ("state z[D]\nenergy e = sum[d](log(sigmoid(z[d])))", ("bounded below",)),
    "the inverse of a sigmoid": ("state z[D]\nenergy e = sum[d](-1/sigmoid(z[d]))", ("bounded below",)),
    "the inverse of a bell": ("state z[D]\nenergy e = sum[d](z[d]^2/2 - 1/exp(-z[d]^2))", ("bounded below",)),
    "a square times what may vanish": ("state a, b\nenergy e = sigmoid(a)*b^2 - b", ("bounded below",)),
    "a square times what vanishes on a rim": ("state a in [0, 1], b\nenergy e = a*b^2 - b", ("bounded below",)),
    "a pole on the rim of a box": ("state y[D] in [0, 1]\nenergy e = sum[d](log(y[d]))", ("bounded below",)),
    "a pole on the rim of a simplex": (
        "state y[D] in simplex[D]\nenergy e = sum[d](log(1 - y[d]))",
        ("bounded below",),
    ),
    "a metric upward": (
        "state z[D]\nlet g[d] = 2*layernorm[d](z[d])\nenergy e = sum[d](log(1 + exp(g[d] - x[d])))\n"
        "flow z[d] = grad(e, g[d])",
        ("positive semidefinite",),
    ),
    "a metric that exchanges axes": (
        "state z[D, D]\nlet g[d,k] = z[d,k] + tanh(z[d,k])\n"
        "energy e = sum[d,k](log(1 + exp(g[d,k] - x[d])))\nflow z[d,k] = -grad(e, g[k,d])",
        ("positive semidefinite",),
    ),
    "a scale that reads the state": (
        "state z[D]\nlet g[d] = exp(-sum[k in D](z[k]^2))*rmsnorm[d](z[d])\n"
        "energy e = sum[d](log(1 + exp(g[d] - x[d])))\nflow z[d] = -grad(e, g[d])",
        ("positive semidefinite",),
    ),
    "a square that the same state cancels": (
        "param W[D, D] ~ normal(0.1)\nstate y[D]\n"
        "energy e = 1/2*sum[d]((y[d] - sum[k](W[d,k]*y[k]))^2) - sum[d](x[d]*y[d])",
        ("bounded below", "an equilibrium exists"),
    ),
    "a square that is cancelled on a rim": (
        "state y, s in [0, 1]\nenergy e = y^2*(1 - s)^2 - abs(y)",
        ("bounded below",),
    ),
    "a product with a pole": (
        "state y, z, u in [0, 1]\nenergy e = (y - z/u)^2 + z^2 - abs(y)",
        ("bounded below",),
    ),
    "a product with a logarithm": (
        "state y, z, u in [0, 1]\nenergy e = (y - z*log(u))^2 + z^2 - abs(y)",
        ("bounded below",),
    ),
    "a convex function times a pole": (
        "fn S'(v) = exp(v) - 20\nstate z, u in [0, 1]\nenergy e = z^2 + u^(-2)*S(z)",
        ("bounded below",),
    ),
    "a number times its absolute value": ("state z[D]\nenergy e = 1e-40*sum[d](z[d]*abs(z[d]))", ("bounded below",)),
    "a root at 0": (
        "state y[D]\nenergy e = 1/2*sum[d]((y[d] - x[d])^2) + sqrt(sum[d](y[d]^2))\nrelax { proximal = off }",
        ("an equilibrium exists",),
    ),
    "an exponential below the floats": (
        "param w = -1500 in [-2000, -1000]\nstate z\nenergy e = -exp(w)*z^2",
        ("bounded below",),
    ),
    "a product below the floats": (
        "param w = 1e-200 in [1e-200, 1e-190]\nstate z\nenergy e = -w^2*z^2",
        ("bounded below",),
    ),
    "a const near the least float": ("const c = 1e-150\nstate z\nenergy e = -c^2*z^2", ("bounded below",)),
    "a slope below the floats": (
        "param w = -1500 in [-2000, -1000]\nstate z\nnext z = exp(w)*z^2 + x[0]",
        ("contraction", "an equilibrium exists"),
    ),
    "a sum at its own size": (
        "param w[N] = 0.7 in [0.6, 0.8]\nstate z[D]\nenergy e = sum[d]((2.8 - sum[n](w[n]))*z[d]^4)",
        ("bounded below",),
    ),
    "what is detached far out": ("state z\nenergy e = z^2 - 1e-60*detach(z)^4", ("bounded below",)),
    "the inverse of an exponential far out": (
        "state z\nenergy e = z^2 - 2*z^2*exp(50*z)/(2 + exp(50*z))",
        ("bounded below",),
    ),
    "the logarithm of an exponential far out": (
        "state z\nenergy e = z^2/2 - z*log(exp(50*z) + exp(-50*z))",
        ("bounded below",),
    ),
    "a square as often as an index that it does not read": (
        "param g = 1 in [1/10, 3]\nstate y[D], u[N] in sphere[N]\nstart u[n] = 1\n"
        "energy e = 2*sum[d](y[d]^2)*sum[n](u[n]^2) - 1/2*sum[d,n](g*(y[d] - u[n])^2)",
        ("bounded below",),
    ),
    "a normaliser with a negative epsilon": (
        "state z[D]\nenergy e = sum[d](z[d]^2) - sum[d](z[d]*(mean[d](z[d]^2) - 1)^(-1/2))",
        ("bounded below",),
    ),
}
#: A spec, and the claim that is not refuted of it.
NOT_REFUTED = {
    "a sum that is smaller at fewer entries": (
        "param w[N] = 0.7 in [0.6, 0.8]\nstate y[D]\nnext y[d] = (2.8 - sum[n](w[n]))*y[d] + x[d]",
        "contraction",
    ),
    "a share of a whole": (
        "param a[N] = 0 in [-1, 1]\nlet p[n] = softmax[n](a[n])\nstate y[N]\nnext y[n] = 1.3*p[n]*y[n]",
        "contraction",
    ),
    "a diagonal of zeros": (
        "param W[D, D] ~ normal(0.1) in zero_diagonal and [-1, 1]\nstate y[D]\nnext y[d] = 3*W[d,d]*y[d] + x[d]",
        "contraction",
    ),
    "a factor above 0 at its own size": (
        "param w[N] = 0.7 in [0.6, 0.8]\nstate z\nenergy e = (sum[n](w[n]) - 2)*z^2",
        "bounded below",
    ),
    "an exponential that comes late": (
        "state z\nenergy e = -z^2 + 2*z^2*exp(z^2/1e8)/(1e10 + exp(z^2/1e8))",
        "bounded below",
    ),
    "a slope beyond 1 outside of the box": (
        "state y[D] in [0, 1]\nenergy g = sum[d](y[d]^4 - y[d]^3 + y[d]^2)\nflow y[d] = -1/5*grad(g, y[d])",
        "contraction",
    ),
    "a step that is chosen": (
        "state y[D]\nenergy g = 3*sum[d](y[d]^2)\nflow y[d] = -grad(g, y[d])\nrelax { step = auto }",
        "contraction",
    ),
    "a fall that ends far out": ("state z[D]\nenergy e = sum[d](1e-12*z[d]^4 - z[d]^2)", "bounded below"),
    "a fall that ends further out": ("state z[D]\nenergy e = sum[d](1e-30*z[d]^4 - z[d]^2)", "bounded below"),
}


def classes(body: str) -> Classes:
    text = f"network n\ndim D = 3, N = 4\nclamp x[D]\n{body}\nreadout r = sum[d](x[d])\n"
    return classes_of(resolve(Source("spec.energy", text), Choices()))


def claims(body: str, claim: str) -> list[Claim]:
    return [one for one in classes(body).claims if one.claim == claim]


@pytest.mark.abridged(every=7)
@pytest.mark.parametrize("name", NOT_PROVED)
def test_a_false_claim_is_not_proved(name: str) -> None:
    body, names = NOT_PROVED[name]
    for claim in names:
        for one in claims(body, claim):
            assert one.verdict != "proved", one
            assert "a bug in energyc" not in one.evidence, one


@pytest.mark.parametrize(
    "body",
    ["const c = 1e200\nstate z\nenergy e = z^2 + tanh(c*z)^3", "const c = 1e200\nstate z\nnext z = tanh(c*tanh(c*z))"],
)
def test_a_power_beyond_the_floats_is_no_error(body: str) -> None:
    assert classes(body).claims


#: Where else the body of a spec may stand; a `relax` with the number of the step stands in no layer.
PLACES: dict[str, Callable[[str], str]] = {
    "a layer": in_layer,
    "a repeat": partial(in_layer, repeated=True),
    "families": in_families,
    "copies": in_copies,
}


@pytest.mark.abridged(every=22)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", NOT_PROVED)
def test_nor_elsewhere(name: str, place: str) -> None:
    body, names = NOT_PROVED[name]
    if place in ("a layer", "a repeat") and ("relax" in body or "\nlet p" in body):
        pytest.skip("it is about what no layer has")
    for one in classes(PLACES[place](body)).claims:
        assert one.claim not in names or one.verdict != "proved", one
        assert "a bug in energyc" not in one.evidence, one


#: What is true, and was once called a bug of the compiler by the adversary or the checker.
RIGHT = {
    "an equilibrium by the curvature at the sizes of the spec": (
        "param W[D, D] ~ normal(0.02) in symmetric and zero_diagonal and [-1/8, 1/8]\nstate z[D]\n"
        "energy e = 1/2*sum[d](z[d]^2) - 1/2*sum[d,k in D](W[d,k]*z[d]*z[k]) - sum[d](x[d]*z[d])",
        "an equilibrium exists",
    ),
    "a floor by the curvature at the sizes of the spec": (
        "param W[D, D] ~ normal(0.02) in symmetric and zero_diagonal and [-1/8, 1/8]\nstate z[D]\n"
        "energy e = 1/2*sum[d](z[d]^2) - 1/2*sum[d,k in D](W[d,k]*z[d]*z[k]) - sum[d](x[d]*z[d])",
        "bounded below",
    ),
    "next values that are closer": ("state z[D]\nnext z[d] = 9/10*tanh(z[d]) + x[d]", "it converges"),
    "next values by a matrix of a norm below 1": (
        "param W[D, D] ~ normal(1) in norm[9/10]\nstate z[D]\nnext z[d] = tanh(sum[k in D](W[d,k]*z[k]) + x[d])",
        "it converges",
    ),
    "next values that a condition on an input selects": (
        "state z[D]\nnext z[d] = where(x[d] > 0, 9/10*tanh(z[d]), 8/10*sin(z[d])) + x[d]",
        "contraction",
    ),
    "next values that a condition on the index selects": (
        "state z[D]\nnext z[d] = where(d < 2, 9/10*tanh(z[d]), -8/10*tanh(z[d])) + x[d]",
        "it converges",
    ),
    "a step by conditions that add up to more than 1": (
        "state z[D]\nflow z[d] = where(x[d] > 1, -9/5*z[d], where(x[d] > 0, -z[d], -1/5*z[d]))",
        "contraction",
    ),
    "lone elements with a factor by a condition on the index": (
        "state z[D]\nenergy e = sum[d](where(d < 2, 1/2, 3)*z[d]*tanh(z[d]))",
        "an equilibrium exists",
    ),
    "lone elements with a factor by the index": (
        "state z[D]\nenergy e = sum[d]((d + 1)*(exp(z[d]) + exp(-z[d])))",
        "an equilibrium exists",
    ),
    "a family, at other sizes": ("state z[D]\nenergy e[f in N] = 1/4*sum[d](z[d]^2)", "there is only one equilibrium"),
    "a logarithm before its argument": ("state z[D] in simplex[D]\nenergy e = sum[d](log(z[d])*z[d])", "bounded below"),
    "kinks in a let": (
        "state z[D]\nlet u = sum[d](abs(z[d])) + 1/2*sum[d]((z[d] - x[d])^2)\nenergy e = u",
        "an equilibrium exists",
    ),
    "a norm": (
        "state z[D]\nenergy e = 1/2*sum[d]((z[d] - x[d])^2) + sqrt(sum[d](z[d]^2))",
        "an equilibrium exists",
    ),
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_true_is_no_bug(name: str) -> None:
    body, claim = RIGHT[name]
    assert [one.verdict for one in claims(body, claim)] == ["proved"]


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("name", NOT_REFUTED)
def test_a_true_claim_is_not_refuted(name: str) -> None:
    body, claim = NOT_REFUTED[name]
    assert all(one.verdict != "refuted" for one in claims(body, claim))


def test_the_last_steps_of_a_numbered_relaxation_are_not_the_gradient() -> None:
    body = (
        "dim T = 5\ntarget y[D]\nparam a[D] = 0.3\nstate s[D] in [-1, 1]\n{start}"
        "force f on s[d] = (x[d] - s[d])/(1 + t) + where(t == 0, a[d], 0)\ncost c = sum[d]((s[d] - y[d])^2)\n"
        "relax t in T {{ step = 1 }}\nnudge {{ steps = {last} }}"
    )
    short = classes(body.format(start="", last=3)).rules["tbptt"]
    assert (short.verdict, short.use_instead) == ("biased", "bptt")
    assert "the first 2 of 5 steps" in str(short.why)
    assert classes(body.format(start="", last=5)).rules["tbptt"].verdict == "exact"
    assert "the start of s" in str(classes(body.format(start="start s[d] = a[d]*x[d]\n", last=5)).rules["tbptt"].why)


def test_a_step_that_no_state_takes_is_an_error() -> None:
    with pytest.raises(SpecError, match=r"`relax\.step` moves no state: y goes to its `next` value whole"):
        classes("state y[D]\nnext y[d] = tanh(x[d])\nrelax { step = 1/2 }")
    assert classes("state y[D]\nnext y[d] = tanh(x[d])\nrelax { step.y = 1/2 }")
    assert classes("state y[D], z[D]\nnext y[d] = tanh(x[d])\nflow z[d] = -z[d]\nrelax { step = 1/2 }")
