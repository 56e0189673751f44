"""The classification of a network as a report shows it: words, numbers and formulas, without nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from energyc.proofs.claims.judgement import Step, Word


@dataclass(frozen=True)
class TermReport:
    """One term: its class and the evidence for it.

    ``potential``, the definitions of the ``functions`` in it, and ``ties`` are in the spec's notation; ``remedies`` say
    how to write each of the ties; ``witness`` has the keys of ``check --format json``. ``metric`` names the matrix of
    a metric descent. ``members`` are those of a family of energies, with the class of each.
    """

    name: str
    kind: str
    verdict: str
    evidence: str
    potential: str | None = None
    functions: tuple[str, ...] = ()
    witness: Mapping[str, Any] | None = None
    ties: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    on_set: bool = False
    sizes: tuple[tuple[str, int], ...] = ()
    metric: str | None = None
    remedies: tuple[str, ...] = ()
    members: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The entry of ``terms``."""
        members = {"members": [{"name": name, "class": kind} for name, kind in self.members.items()]}
        ties = {} if self.verdict == "conservative" else {"ties": list(self.ties)}
        metric = {} if self.metric is None else {"metric": self.metric}
        return {
            "name": self.name,
            "kind": self.kind,
            **_verdict_json(self),
            **metric,
            **ties,
            **(members if self.members else {}),
        }


@dataclass(frozen=True)
class SumReport:
    """The sum of terms that are not proved individually: its class and the evidence, as for a term.

    ``parts`` are proved sums of subsets of them, ``deciding`` the terms that determine the class.
    """

    terms: tuple[str, ...]
    verdict: str
    evidence: str
    potential: str | None = None
    functions: tuple[str, ...] = ()
    witness: Mapping[str, Any] | None = None
    tried: tuple[str, ...] = ()
    on_set: bool = False
    sizes: tuple[tuple[str, int], ...] = ()
    parts: tuple[SumReport, ...] = ()
    deciding: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The object ``together``, and an entry of its ``parts``."""
        entry = {"terms": list(self.terms), **_verdict_json(self)}
        if self.parts:
            entry["parts"] = [part.to_json() for part in self.parts]
        if self.deciding:
            entry["deciding"] = list(self.deciding)
        return entry


def _verdict_json(report: TermReport | SumReport) -> dict[str, Any]:
    """The class, the evidence, and the remaining fields that are not empty."""
    optional: dict[str, Any] = {"potential": report.potential, "functions": list(report.functions)}
    optional |= {"witness": report.witness and dict(report.witness), "tried": list(report.tried)}
    optional |= {"on_set": report.on_set, "sizes": dict(report.sizes)}
    present = {key: value for key, value in optional.items() if value}
    return {"class": report.verdict, "evidence": report.evidence, **present}


#: What claims call a network that is no layer.
WHOLE = "the network"
#: What is claimed of steps: that they have an equilibrium, and that they converge.
EQUILIBRIUM = "an equilibrium exists"
UNIQUE = "there is only one equilibrium"
CONVERGES = "it converges"
CONTRACTION = "contraction"


@dataclass(frozen=True)
class Claim:
    """A statement ``claim`` ``about`` a part of the network, proved, refuted or undecided; ``evidence`` in words.

    ``condition``: it is proved where this holds; ``numbers`` are the figures behind it, or a witness; ``proof`` has the
    rules of inference by which it follows.
    """

    about: str
    claim: str
    verdict: Word
    evidence: str = ""
    condition: str | None = None
    numbers: Mapping[str, Any] = field(default_factory=dict)
    proof: Step | None = None

    def to_json(self) -> dict[str, Any]:
        """The entry of ``claims``."""
        entry = {"about": self.about, "claim": self.claim, "verdict": self.verdict, "evidence": self.evidence}
        proof = self.proof.to_json() if self.proof else None
        optional = {"condition": self.condition, "numbers": dict(self.numbers), "proof": proof}
        return {**entry, **{key: value for key, value in optional.items() if value}}


def reason(verdict: str, why: str | None) -> str:
    """Why a rule has its verdict, as it follows that in a sentence."""
    if not why:
        return ""
    if verdict in ("biased", "unproved"):
        return f", because of {why}"
    return f" {why}" if verdict == "exact" else f": {why}"


@dataclass(frozen=True)
class RuleReport:
    """The verdict on a learning rule for this network; ``needed`` is what makes an ``unproved`` rule exact."""

    verdict: str
    why: str | None = None
    use_instead: str | None = None
    needed: str = ""

    @property
    def reason(self) -> str:
        """Why, as it follows the verdict in a sentence."""
        return reason(self.verdict, self.why)

    def to_json(self) -> dict[str, Any]:
        """The entry of ``rules``."""
        entry = {"verdict": self.verdict, "why": self.why, "use_instead": self.use_instead}
        return {key: value for key, value in entry.items() if value is not None}


@dataclass(frozen=True)
class Classes:
    """A network's class, its terms and its rules; ``unproved`` names the terms whose Jacobian makes up J_nc.

    ``together`` is the sum of the terms that are not proved individually, None if there are fewer than two. ``claims``
    are further statements about the network, each with its verdict and evidence. ``layers`` are those of its layers.
    ``certify`` makes the file of the proofs that the checker accepts (docs/certificates.md).
    """

    verdict: str
    terms: tuple[TermReport, ...]
    rules: Mapping[str, RuleReport] = field(default_factory=dict)
    unproved: tuple[str, ...] = ()
    together: SumReport | None = None
    claims: tuple[Claim, ...] = ()
    layers: Mapping[str, Classes] = field(default_factory=dict)
    certify: Callable[[], Mapping[str, Any]] = field(default=dict, repr=False, compare=False)

    @property
    def certificates(self) -> Mapping[str, Any]:
        """The file of certificates."""
        return self.certify()

    @property
    def own_claims(self) -> tuple[Claim, ...]:
        """The claims that are not of one of the layers."""
        return tuple(claim for claim in self.claims if not self.layers or claim.about == WHOLE)

    @property
    def descends(self) -> bool:
        """Whether the network goes down its energies in a metric."""
        return self.verdict == "metric-descent" and not self.layers
