"""A class or a symmetry is printed as proved only if the checker accepts its proof, where its format covers it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from energyc.checker import algebra
from energyc.checker.case import Refused
from energyc.checker.claims import Claims
from energyc.checker.judge import Gradient
from energyc.checker.symmetry import ON_SETS, Symmetry
from energyc.language.network import Network
from energyc.pipeline import classify, read, resolve
from energyc.proofs.claims.classes import Classes
from energyc.proofs.conservativeness.certified import Symmetries
from energyc.proofs.conservativeness.classify import Classification
from energyc.proofs.verdicts import gate
from tests.checker.proofs import FORCES, Json, certified, path_of, text_of
from tests.cli.run import energyc

#: The force is a gradient where z is at most 1, but not beyond 2.
ON_A_BOX = """network box
dim D = 4
state z[D] in [-1, 1]
force f on z[d] = sum[e](relu(z[e] - 2)) - z[d]^3
relax { step = 0.1 }
"""
#: A force that is minus the gradient of an energy which the spec does not write.
LONE = """network lone
dim D = 4
param W[D, D] ~ normal(1) in symmetric
state z[D]
energy own = 1/2 * sum[d](z[d]^2)
force mem on z[d] = (1 - tanh(z[d])^2) * sum[e](W[d,e] * tanh(z[e]))
relax { step = 0.1 }
"""


def classes_of(text: str) -> Classes:
    return classify(resolve(read(text)))


def refuse(monkeypatch: pytest.MonkeyPatch, which: Callable[[Json], bool]) -> None:
    """Let the kernel say no to some statements."""
    says = {each: each.check for each in (Symmetry, Gradient)}

    def symmetric(self: Symmetry, statement: Json) -> Any:
        if which(statement):
            raise Refused("it is another one")
        return says[Symmetry](self, statement)

    def gradient(self: Gradient) -> None:
        if which({"kind": "gradient", "of": self.of}):
            raise Refused("it is another one")
        says[Gradient](self)

    monkeypatch.setattr(Symmetry, "check", symmetric)
    monkeypatch.setattr(Gradient, "check", gradient)


def test_a_refused_term_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    assert classes_of(LONE).verdict == "conservative"
    refuse(monkeypatch, lambda statement: statement["of"] == ["mem"])
    classes = classes_of(LONE)
    assert {term.name: term.verdict for term in classes.terms} == {"own": "conservative", "mem": "undecided"}
    (mem,) = (term for term in classes.terms if term.name == "mem")
    assert mem.evidence == "none"
    assert any("it is another one" in outcome for outcome in mem.tried)
    assert (classes.verdict, classes.unproved) == ("undecided", ("mem",))
    assert classes.rules["ep"].verdict != "exact"
    assert [entry["statement"]["of"] for entry in classes.certificates["certificates"]] == [["own"]]


def test_a_refused_sum_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    before = classes_of(FORCES)
    assert before.together is not None
    assert (before.verdict, before.together.verdict) == ("conservative", "conservative")
    refuse(monkeypatch, lambda statement: len(statement["of"]) == 2)
    classes = classes_of(FORCES)
    assert classes.together is not None
    assert (classes.verdict, classes.together.verdict) == ("undecided", "undecided")
    assert any("it is another one" in outcome for outcome in classes.together.tried)
    assert classes.unproved == ("first", "second")


def test_no_flow_descends_by_a_refused_metric(monkeypatch: pytest.MonkeyPatch) -> None:
    assert classes_of(text_of("cem_mlp")).verdict == "metric-descent"
    refuse(monkeypatch, lambda statement: isinstance(statement["of"], str))
    classes = classes_of(text_of("cem_mlp"))
    assert classes.verdict not in ("metric-descent", "conservative")
    assert not [claim for claim in classes.claims if claim.claim == "symmetric" and claim.verdict == "proved"]


def test_a_refused_claim_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    text = text_of("monotone")
    before = {claim.claim: claim.verdict for claim in classes_of(text).claims}
    assert (before["there is only one equilibrium"], before["an equilibrium exists"]) == ("proved", "proved")

    def unique(self: Claims, node: Json) -> None:
        raise Refused("the rule monotone: m is not above 0")

    monkeypatch.setattr(Claims, "unique", unique)
    classes = classes_of(text)
    claims = {claim.claim: claim for claim in classes.claims}
    assert claims["there is only one equilibrium"].verdict == "undecided"
    assert "the rule monotone: m is not above 0" in claims["there is only one equilibrium"].evidence
    assert claims["an equilibrium exists"].verdict == "proved"
    kinds = {entry["statement"]["kind"] for entry in classes.certificates["claims"]}
    assert "unique" not in kinds and "rest" in kinds


def test_a_class_that_is_not_covered_stays_with_the_reason() -> None:
    """A function of the language that a spec declares anew is one that the checker does not read."""
    text = "network anew\ndim D = 4\nfn softsign(u) = u^2\nstate z[D]\nenergy own = sum[d](softsign(z[d]))\n"
    classes = classes_of(f"{text}relax {{ step = 0.1 }}\n")
    assert {term.name: term.verdict for term in classes.terms} == {"own": "conservative"}
    reasons = {entry["claim"]: entry["reason"] for entry in classes.certificates["uncertified"]}
    because = "a function of the language that is declared anew"
    assert reasons["own: minus its slopes by z are its force"] == f"the checker answers not covered: {because}"


def test_a_claim_without_a_certificate_is_not_called_proved() -> None:
    text = "network anew\ndim D = 4\nfn softsign(u) = u^2\nstate z[D]\nenergy own = sum[d](softsign(z[d]))\n"
    classes = classes_of(f"{text}relax {{ step = 0.1 }}\n")
    assert {claim.verdict for claim in classes.claims} == {"undecided"}
    assert "it has a proof without a certificate" in classes.claims[0].evidence
    assert classes.certificates["claims"] == []
    named = {claim.verdict for claim in classes_of(text.replace("softsign", "own_square")).claims}
    assert "proved" in named


def test_a_proof_on_a_box_says_so() -> None:
    classes = classes_of(ON_A_BOX)
    (term,) = classes.terms
    assert term.verdict == "conservative"
    (statement,) = (entry["statement"] for entry in classes.certificates["certificates"])
    assert statement["for"] == ON_SETS
    (anywhere,) = classes_of(ON_A_BOX.replace(" in [-1, 1]", "")).terms
    assert anywhere.verdict == "not-conservative"


def test_check_classifies_once(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[Network] = []
    once = gate.classify

    def counted(network: Network, kernel: Symmetries) -> Classification:
        calls.append(network)
        return once(network, kernel)

    monkeypatch.setattr(gate, "classify", counted)
    done = energyc(capfd, "check", path_of("modern_hopfield"), "--certificates", tmp_path / "proofs.json")
    assert done.status == 0, done.err
    assert len(calls) == 1


def test_a_proof_of_too_many_products_is_not_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The checker ends, whatever a spec asks of it."""
    monkeypatch.setattr(algebra, "FACTORS", 3)
    reasons = [entry["reason"] for entry in certified(text_of("thick") + "\n# read anew\n")["uncertified"]]
    assert any("not covered: it takes too many products" in reason for reason in reasons)
