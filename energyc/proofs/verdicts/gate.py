"""What the checker says to the proofs of a network, before they are printed.

A proof that :mod:`energyc.checker` refuses is not called one: its class or claim is undecided, and the reason given is
that this is a bug of the compiler. A claim whose proof the checker does not cover is undecided, with that reason. A
class whose proof it does not cover stays, and is not said to be proved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeGuard

from energyc.checker.formulas import Formulas
from energyc.checker.judge import FORMAT, ON_SETS, VERSION, Answer, judge
from energyc.checker.syntax import NotCovered, read_spec
from energyc.proofs.claims import claims, floor, positivity
from energyc.proofs.claims.classes import CONTRACTION, CONVERGES, EQUILIBRIUM, UNIQUE, Claim
from energyc.proofs.claims.judgement import at_sizes
from energyc.proofs.conservativeness.classify import Classification
from energyc.proofs.conservativeness.term_sums import TermSum
from energyc.proofs.conservativeness.verdict import Verdict
from energyc.proofs.verdicts.certified import OTHER_KIND, Writer, Written
from energyc.proofs.verdicts.trees import Trees

Json = dict[str, Any]
#: The claims that have rule trees, and the kinds of their statements.
WITH_TREES = {
    floor.CLAIM: "floor",
    EQUILIBRIUM: "rest",
    UNIQUE: "unique",
    CONVERGES: "converges",
    CONTRACTION: "contraction",
    positivity.CLAIM: "positive",
    claims.INVERTIBLE: "invertible",
}
LISTS = ("certificates", "claims")


@dataclass
class Gate:
    """Has the proofs of a network, or of a layer, judged: ``accepted`` are certificates, ``left_out`` has the rest.

    ``uncertified`` gives the reason of each sum of terms whose proof has no certificate. An energy is a gradient since
    its force is derived from it; the certificates that say so are made for the file alone.
    """

    writer: Writer
    accepted: list[Json] = field(default_factory=list)
    left_out: list[Json] = field(default_factory=list)
    uncertified: dict[tuple[str, ...], str] = field(default_factory=dict)
    classification: Classification | None = None

    def with_energies(self) -> Gate:
        """The same with the certificates of energies before the others."""
        whole = Gate(self.writer)
        for claim, written in self.writer.energies(self.classification) if self.classification is not None else ():
            whole._judged(claim, written)
        return replace(whole, accepted=whole.accepted + self.accepted, left_out=whole.left_out + self.left_out)

    def classes(self, classification: Classification) -> Classification:
        """The classes without those whose proof is refused."""
        refused: dict[tuple[str, ...], Verdict] = {}
        self.classification = classification
        for terms, claim, written in self.writer.classes(classification):
            answer = self._judged(claim, written)
            if answer.verdict == "no":
                refused[terms] = Verdict("undecided", "none", tried=(_bug(answer),))
            elif answer.verdict != "yes":
                self.uncertified[terms] = answer.reason
        return _without(classification, refused) if refused else classification

    def claims(
        self, classification: Classification, claims: Iterable[Claim]
    ) -> tuple[Classification, tuple[Claim, ...]]:
        """The claims beside the classes; where a symmetry is refused, no flow descends by it."""
        judged = []
        for claim, by_writer in self.writer.claims(classification, claims):
            written = self._tree_of(claim) if by_writer == OTHER_KIND else by_writer
            answer = None if written is None else self._noted(_named(claim), written)
            if answer is None or answer.verdict == "yes":
                judged.append(_at_its_sizes(claim, written))
                continue
            without = f"it has a proof without a certificate: {answer.reason}"
            because = _bug(answer) if answer.verdict == "no" else without
            judged.append(Claim(claim.about, claim.claim, "undecided", because))
            if claim.claim == "symmetric":
                classification = replace(classification, descents={})
            elif "factors" in claim.numbers:
                classification = replace(classification, scales=None)
        return classification, tuple(judged)

    @cached_property
    def consts(self) -> dict[str, str]:
        """The consts that are set from outside, with their values."""
        try:
            spec = read_spec(self._text, self.writer.layer)
            formulas = Formulas(spec, (), ())
        except NotCovered:
            return {}
        values = {name: value for name, value in self.writer.network.fractions.items() if name in spec["consts"]}
        consts = {name: value for name, value in values.items() if spec["consts"][name].word == "const"}
        return {name: str(value) for name, value in consts.items() if formulas.exact(spec["consts"][name]) != value}

    def _tree_of(self, claim: Claim) -> Written:
        kind = WITH_TREES.get(claim.claim)
        return self.trees.shown(kind, claim.proof) if kind is not None and claim.proof is not None else OTHER_KIND

    @cached_property
    def trees(self) -> Trees:
        """Writes rule trees."""
        return Trees(self.writer.network, self.writer.equations, self._text, self.writer.layer, self.consts)

    @property
    def _text(self) -> str:
        return self.writer.network.source.text

    def _judged(self, claim: str, written: Written) -> Answer:
        """The answer to a proof, which may hold on the sets of the states and params alone."""
        answer = self._answer(claim, written)
        if answer.verdict == "no" and not isinstance(written, str):
            kept = {**written, "statement": {**written["statement"], "for": ON_SETS}}
            if (again := self._answer(claim, kept)).verdict == "yes":
                return self._noted(claim, kept, again)
        return self._noted(claim, written, answer)

    def _noted(self, claim: str, written: Written, answer: Answer | None = None) -> Answer:
        """The answer to a proof, whose claim is then accepted or left out."""
        answer = answer or self._answer(claim, written)
        claim = self.writer.where + claim
        if answer.verdict == "yes" and not isinstance(written, str):
            self.accepted.append({"claim": claim, **written})
        else:
            self.left_out.append({"claim": claim, "reason": answer.reason})
        return answer

    def _answer(self, claim: str, written: Written) -> Answer:
        """The answer to a proof; a rule tree is one that the checker was asked for, and accepted."""
        if isinstance(written, str):
            return Answer(claim, "not covered", written)
        if _is_tree(written):
            return Answer(claim, "yes")
        proofs = {"certificates": [{"claim": claim, **written}], "claims": ()}
        (answer,) = judge({"format": FORMAT, "version": VERSION, "consts": self.consts, **proofs}, self._text)
        return answer._replace(reason=f"the checker answers {answer.verdict}: {answer.reason}")


def file_of(name: str, gates: Sequence[Gate]) -> Json:
    """The file of certificates of a network."""
    gates = [gate.with_energies() for gate in gates]
    return {
        "format": FORMAT,
        "version": VERSION,
        "network": name,
        "consts": {const: value for gate in gates for const, value in gate.consts.items()},
        **{part: [e for gate in gates for e in gate.accepted if _list_of(e) == part] for part in LISTS},
        "uncertified": [entry for gate in gates for entry in gate.left_out],
    }


def _list_of(entry: Json) -> str:
    """The list of a file that a proof belongs to."""
    return LISTS[_is_tree(entry)]


def _is_tree(written: Written | None) -> TypeGuard[Json]:
    """Whether a proof is a rule tree."""
    return isinstance(written, dict) and "rule" in written


def _named(claim: Claim) -> str:
    return f"{claim.about}: {claim.claim}"


def _at_its_sizes(claim: Claim, written: Written | None) -> Claim:
    """A claim of a floor with the sizes that its proof is of, where these are not all."""
    sizes = written["statement"]["sizes"] if isinstance(written, dict) and claim.claim == floor.CLAIM else {}
    return replace(claim, evidence=f"{claim.evidence} {at_sizes(sizes.items())}") if sizes else claim


def _bug(answer: Answer) -> str:
    return f"a proof was found, but {answer.reason}: a bug in energyc, please report it"


def _without(classification: Classification, refused: dict[tuple[str, ...], Verdict]) -> Classification:
    """The classes where the proofs of some sums of terms, or of terms, are refused."""
    terms = {name: refused.get((name,), verdict) for name, verdict in classification.terms.items()}
    unproved = tuple(name for name, verdict in terms.items() if verdict.kind != "conservative")
    together = classification.together
    if together is None or together.verdict.kind == "conservative":
        together = TermSum(unproved, refused.get(unproved, next(iter(refused.values()))))
    parts = tuple(part for part in together.parts if part.terms not in refused)
    return replace(
        classification,
        kind=together.verdict.kind,
        terms=terms,
        unproved=unproved,
        together=replace(together, terms=unproved, parts=parts),
        members={k: dict.fromkeys(v, "undecided") if (k,) in refused else v for k, v in classification.members.items()},
    )
