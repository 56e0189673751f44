"""The adversary contradicts false proofs of every kind of claim, and leaves true ones alone."""

from __future__ import annotations

import pytest

from energyc import pipeline
from energyc.pipeline import Choices, read, resolve
from energyc.proofs.claims.claims import Judge, preconditioners
from energyc.proofs.claims.judgement import Judgement, Step
from energyc.proofs.conservativeness.classify import classify
from tests.analysis.placed import kernel_of

HEAD = "network t\ndim D = 3, E = 2\nparam W[D, D] ~ normal(1), p[D] = 1\nclamp a[D]\n"
TAIL = "\nreadout all = sum[d](p[d] + a[d]) + sum[d,k](W[d,k])\nrelax { step = 1/2 }\n"


def judge(spec: str) -> Judge:
    network = resolve(read(HEAD + spec + TAIL))
    return Judge(network, classify(network), kernel_of(network), "the network")


def proved(rule: str, *about: str) -> Judgement:
    """What a rule would give that goes wrong."""
    return Judgement("proved", "by a rule that is wrong", Step(rule, "a statement", about=about))


def survives(found: Judgement) -> bool:
    """Whether the adversary let it pass; it says that a bug is the reason where not."""
    assert found.verdict == "proved" or "a bug in energyc" in found.because
    return found.verdict == "proved"


FLOORS = {
    "state z[D]\nenergy e = sum[d](z[d]^2 + sin(p[d]*z[d]))": True,
    "state z[D]\nenergy e = sum[d](log(sigmoid(p[d]*z[d])))": False,
    "state z[D], y[D]\nenergy e = sum[d](sigmoid(z[d])*y[d]^2 - p[d]*y[d])": False,
    "state z[D] in [0, 1]\nenergy e = sum[d](p[d]*log(z[d]))": False,
    "state z[D] in [0, 1]\nenergy e = sum[d](p[d]*z[d]*log(z[d]))": True,
}


@pytest.mark.parametrize(("spec", "true"), FLOORS.items())
def test_floors(spec: str, true: bool) -> None:
    assert survives(judge(spec).adversary.against_floor(proved("sum"))) == true


STEPS = {
    "state z[D]\nforce f on z[d] = a[d]*p[d] + tanh(z[d])/2 - z[d]": True,
    "state z[D]\nforce f on z[d] = p[d]*a[d] - 5*z[d]": False,
    "state z[D]\nforce f on z[d] = 3*sin(z[d]) + p[d] - z[d]": False,
}


@pytest.mark.parametrize(("spec", "true"), STEPS.items())
def test_contractions(spec: str, true: bool) -> None:
    assert survives(judge(spec).adversary.against_contraction("z", proved("contraction"))) == true


RESTS = {
    ("least", "state z[D]\nenergy e = sum[d](z[d]^2/2 + p[d]*sin(z[d]))"): True,
    ("least", "state z[D]\nenergy e = sum[d](abs(z[d] - a[d]) + abs(z[d] + p[d]) + z[d]^2)"): False,
    ("brouwer", "state z[D]\nforce f on z[d] = sum[k](W[d,k]*tanh(z[k])) + p[d] - z[d]"): True,
    ("brouwer", "state y[D] in [0, 1], z[D]\nforce f on y[d] = W[d,d]\nforce g on z[d] = p[d]*y[d] - z[d]"): True,
    ("brouwer", "state z[D] in [0, 1]\nforce f on z[d] = p[d]*z[d]"): True,
    ("brouwer", "state z[D]\nforce f on z[d] = p[d]*z[d] - z[d]/2"): False,
    (
        "brouwer",
        "state z[D], y[E] in [0, 1]\nforce f on z[d] = 2*p[d]*relu(z[d]) - z[d]\nforce g on y[i] = -y[i]",
    ): False,
}


@pytest.mark.parametrize(("rule", "spec", "true"), [(*case, true) for case, true in RESTS.items()])
def test_rest(rule: str, spec: str, true: bool) -> None:
    adversary = judge(spec).adversary
    found = survives(adversary.against_rest(proved(rule))) if rule == "least" else not adversary.pushes_outward
    assert found == true


def test_matrices() -> None:
    for matrix, true in (("W[d,k]", False), ("sum[j](W[j,d]*W[j,k])", True)):
        case = judge(
            f"state z[D]\nlet P[d in D,k in D] = {matrix}\nenergy e = sum[d](z[d]^2)\n"
            "flow z[d] = -sum[k](P[d,k]*grad(e, z[k]))"
        )
        ((*_, field),) = preconditioners(case.network, case.network.flows["z"], case.base)
        assert survives(case.adversary.against_positivity(field, proved("squares"))) == true


def test_uniqueness() -> None:
    """The bounds are those of another network, that pulls its states together."""
    apart, together = (judge(f"state z[D]\nenergy e = sum[d](cos({s}*z[d]) + z[d]^2)") for s in ("3", "1"))
    for case in (apart, together):
        found = case.adversary.against_monotone(together.monotone, proved("monotone"))
        assert survives(found) == (case is together)


def test_a_bounded_energy_that_oscillates_has_a_floor() -> None:
    """Sums of cosines may fall a few times in a row on a way outward."""
    network = resolve(read("kuramoto"), Choices(overrides={"pi": "-1"}))
    found = pipeline.classify(network).claims
    assert [claim.verdict for claim in found if claim.claim == "bounded below"] == ["proved"]
