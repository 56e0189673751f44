"""What each learning rule is worth on a network, and which term decides it (rules.md, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from energyc.analysis.classify import Classification
from energyc.analysis.holomorphy import obstacles
from energyc.resolve.network import Network
from energyc.rules import RULES, Declaration

Worth = Literal["exact", "biased", "unproved", "inadmissible"]


@dataclass(frozen=True)
class RuleVerdict:
    """``exact``, ``biased``, ``unproved`` or ``inadmissible``; why, and which rule to ask for instead.

    ``terms`` are those that decide.
    """

    verdict: Worth
    why: str = ""
    use_instead: str | None = None
    terms: tuple[str, ...] = ()


def admissible(network: Network, classification: Classification) -> dict[str, RuleVerdict]:
    """The verdict on every rule, in the order of the catalogue."""
    facts = Facts(classification, obstacles(network, classification), network.relax.solver == "newton")
    return {name: facts.verdict(rule) for name, rule in RULES.items()}


@dataclass(frozen=True)
class Facts:
    """What the verdicts rest on: the classes, why the force is not holomorphic, whether states relax by Newton."""

    classification: Classification
    not_holomorphic: list[str]
    newton: bool

    def verdict(self, rule: Declaration) -> RuleVerdict:
        """What a rule is worth."""
        classification = self.classification
        if "trajectory" in rule.needs and self.newton:
            why = "the states relax by Newton's method, whose steps are not taken back"
            return RuleVerdict("inadmissible", why, "implicit")
        if "holomorphic" in rule.needs and self.not_holomorphic:
            why = "not holomorphic: " + ", ".join(self.not_holomorphic)
            return RuleVerdict("inadmissible", why, self._real_rule())
        if rule.contrasts and classification.detached:
            why = "detach(...) of a state in " + ", ".join(classification.detached)
            return RuleVerdict("biased", why, "implicit", classification.detached)
        if rule.exact == "any" or classification.kind == "conservative":
            return RuleVerdict("exact")
        terms = classification.together.deciding if classification.together else ()
        worth: Worth = "unproved" if classification.kind == "undecided" else "biased"
        return RuleVerdict(worth, ", ".join(terms) + self._off_the_jumps(), rule.instead, terms)

    def _off_the_jumps(self) -> str:
        """Where the force is a gradient between its jumps: J is symmetric there, and the nudges of a contrast small."""
        whole = self.classification.whole
        jumps = whole is not None and whole.evidence == "witness" and whole.certificate is not None
        return ", which jumps (exact at equilibria off the jumps)" if jumps else ""

    def _real_rule(self) -> str:
        return "centered-ep" if self.classification.kind == "conservative" else "tracking-aep"
