"""The verdict on each learning rule for a network, and the terms that decide it (rules.md, section 4)."""

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
    """``exact``, ``biased``, ``unproved`` or ``inadmissible``, the reason, and a rule to use instead.

    ``terms`` are the terms that decide the verdict.
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
    """The premises of the verdicts: the classes, the obstacles to holomorphy, and whether the solver is Newton's."""

    classification: Classification
    not_holomorphic: list[str]
    newton: bool

    def verdict(self, rule: Declaration) -> RuleVerdict:
        """The verdict on a rule."""
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
        """A remark on forces that are gradients between their jumps: J is symmetric there, and the nudges are small."""
        verdict = self.classification.sum_verdict
        jumps = verdict is not None and verdict.evidence == "witness" and verdict.certificate is not None
        return ", which jumps (exact at equilibria off the jumps)" if jumps else ""

    def _real_rule(self) -> str:
        return "centered-ep" if self.classification.kind == "conservative" else "tracking-aep"
