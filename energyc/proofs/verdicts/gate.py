"""The proofs of a network as the kernel accepts them: a claim that has none is undecided."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from energyc.checker.judge import FORMAT, VERSION
from energyc.mathematics.calculus import gradient
from energyc.proofs.claims import floor
from energyc.proofs.claims.classes import Claim
from energyc.proofs.claims.judgement import at_sizes
from energyc.proofs.conservativeness.certified import Symmetries
from energyc.proofs.conservativeness.classify import Classification, classify
from energyc.proofs.conservativeness.forces import field_from
from energyc.proofs.conservativeness.verdict import Verdict
from energyc.proofs.verdicts.trees import KINDS, Trees

Json = dict[str, Any]
#: A certificate, or the reason why there is none.
Written = Json | str
LISTS = ("certificates", "claims")


@dataclass
class Gate:
    """What the kernel proves of a network, or of a layer: ``accepted`` are certificates, ``left_out`` has the rest.

    An energy is a gradient since its force is derived from it; certificates that say so are made for the file alone.
    """

    symmetries: Symmetries
    accepted: list[Json] = field(default_factory=list)
    left_out: list[Json] = field(default_factory=list)
    classification: Classification | None = None

    @cached_property
    def trees(self) -> Trees:
        """Writes rule trees."""
        return Trees(self.symmetries)

    def with_energies(self) -> Gate:
        """The same with the certificates of energies before the others."""
        whole = Gate(self.symmetries)
        for claim, written in energies(self.symmetries, self.classification) if self.classification is not None else ():
            whole._note(claim, written)
        return replace(whole, accepted=whole.accepted + self.accepted, left_out=whole.left_out + self.left_out)

    def classes(self) -> Classification:
        """The classes of the network; the certificates of those that are proved are accepted."""
        self.classification = found = classify(self.symmetries.network, self.symmetries)
        together = found.together
        sums: list[tuple[tuple[str, ...], Verdict]] = [((name,), verdict) for name, verdict in found.terms.items()]
        if together is not None:
            sums += [(together.terms, together.verdict), *((part.terms, part.verdict) for part in together.parts)]
        for terms, verdict in dict(sums).items():
            if verdict.kind == "conservative" and verdict.certificate is not None:
                self._note(f"{', '.join(terms)}: conservative", dict(verdict.certificate))
        return found

    def claims(self, claims: Iterable[Claim]) -> tuple[Claim, ...]:
        """The claims beside the classes: what is proved without a certificate is undecided."""
        judged = []
        for claim in claims:
            written = self._written(claim) if claim.verdict == "proved" else None
            if written is not None:
                self._note(f"{claim.about}: {claim.claim}", written)
            if isinstance(written, str):
                claim = Claim(claim.about, claim.claim, "undecided", f"it has a proof without a certificate: {written}")
            judged.append(_at_its_sizes(claim, written))
        return tuple(judged)

    def _written(self, claim: Claim) -> Written:
        assert claim.proof is not None
        if claim.claim in KINDS:
            return self.trees.shown(KINDS[claim.claim], claim.proof)
        return claim.proof.tree or "the format has no certificate of this claim"

    def _note(self, claim: str, written: Written) -> None:
        """Keep a proof, or the reason why it has no certificate."""
        claim = (f"layer {self.symmetries.layer}: " if self.symmetries.layer else "") + claim
        if isinstance(written, str):
            self.left_out.append({"claim": claim, "reason": written})
        else:
            self.accepted.append({"claim": claim, **written})


def energies(symmetries: Symmetries, classification: Classification) -> Iterator[tuple[str, Written]]:
    """That the derived force of each energy is minus its slope by each state, or by what a flow takes it by."""
    network = symmetries.network
    for name, verdict in classification.terms.items():
        if verdict.kind != "conservative" or network.terms[name].kind != "energy":
            continue
        if name in network.acting:
            forces = [(s.name, s, force) for s, force in classification.forces[name].items()]
            claim = f"{name}: minus its slopes by {', '.join(f[0] for f in forces)} are its force"
            yield claim, symmetries.slopes(name, forces)
            continue
        graph = field_from(network).graph
        slopes = (slope for flow in network.flows.values() for slope in flow.slopes if name in slope.energies)
        for by, at in {slope.by: slope.at for slope in slopes}.items():
            slope = gradient(graph, network.terms[name].node, [at], frozen=False, strict=False)
            force = graph.scale(-1, slope.get(at, graph.zero(at.dims)))
            yield f"{name}: its slope by {by}", symmetries.slopes(name, [(by, at, force)])


def file_of(name: str, gates: Sequence[Gate]) -> Json:
    """The file of certificates of a network."""
    gates = [gate.with_energies() for gate in gates]
    return {
        "format": FORMAT,
        "version": VERSION,
        "network": name,
        "consts": {const: value for gate in gates for const, value in gate.symmetries.consts.items()},
        **{part: [e for gate in gates for e in gate.accepted if _list_of(e) == part] for part in LISTS},
        "uncertified": [entry for gate in gates for entry in gate.left_out],
    }


def _list_of(entry: Json) -> str:
    """The list of a file that a proof belongs to: rule trees are claims."""
    return LISTS["rule" in entry]


def _at_its_sizes(claim: Claim, written: Written | None) -> Claim:
    """A claim of a floor with the sizes that its proof is of, where these are not all."""
    sizes = written["statement"]["sizes"] if isinstance(written, dict) and claim.claim == floor.CLAIM else {}
    return replace(claim, evidence=f"{claim.evidence} {at_sizes(sizes.items())}") if sizes else claim
