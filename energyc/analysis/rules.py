"""The verdict on each learning rule for a network, and the terms that decide it (rules.md, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from energyc.analysis.classify import Classification
from energyc.analysis.descent import only_through
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
    descent = descent_facts(network, classification) if classification.descents else None
    numbered = [] if network.step is None else [f"{name} reads {network.step.name}" for name in network.numbered]
    facts = Facts(
        classification,
        obstacles(network, classification),
        network.relax.irreversible,
        numbered,
        bool(network.batch_mates),
        descent,
    )
    return {name: facts.verdict(rule) for name, rule in RULES.items()}


@dataclass(frozen=True)
class DescentFacts:
    """Why a contrast of energies is exact in a network that goes down them in a metric, and what speaks against it.

    ``rest`` says where its equilibria must be; with ``against`` it is biased, with ``doubt`` unproved.
    """

    rest: str
    against: str = ""
    doubt: str = ""


def descent_facts(network: Network, classification: Classification) -> DescentFacts:
    """The facts of a metric descent.

    With dC/dg for the nudge the contrast of dE/dtheta tends to the gradient where dE/dg = 0 at rest (docs/rules.md).
    """
    lets = ", ".join(dict.fromkeys(d.by for d in classification.descents.values()))
    rest = f"where the states rest at a critical point of the energy in {lets}"
    for descent in classification.descents.values():
        state = network.states[descent.state]
        if not descent.energies:
            return DescentFacts(rest, f"the flow of {descent.state}, whose energy is not written")
        if state.constraint is not None:
            return DescentFacts(rest, f"the set of {descent.state}, on which the energy need not be critical")
        if network.cost is not None and not only_through(network.cost.node, state.node, descent.at):
            return DescentFacts(rest, f"the cost, which reads {descent.state} beside {descent.by}")
        if not descent.plain:
            return DescentFacts(rest, doubt=f"P in the flow of {descent.state}, which may be singular")
    return DescentFacts(rest)


@dataclass(frozen=True)
class Facts:
    """The premises of the verdicts: the classes, the obstacles to holomorphy.

    ``irreversible`` says why steps cannot be taken back, ``numbered`` which forces read the number of the step,
    ``coupled`` whether a statistic of the batch is.
    """

    classification: Classification
    not_holomorphic: list[str]
    irreversible: str
    numbered: list[str]
    coupled: bool
    descent: DescentFacts | None = None

    def verdict(self, rule: Declaration) -> RuleVerdict:
        """The verdict on a rule."""
        classification = self.classification
        if "trajectory" in rule.needs and self.irreversible:
            return RuleVerdict("inadmissible", self.irreversible, "implicit")
        if "trajectory" not in rule.needs and self.numbered:
            why = f"the force changes from step to step, so that nothing is at rest: {', '.join(self.numbered)}"
            return RuleVerdict("inadmissible", why, "bptt")
        if "holomorphic" in rule.needs and self.not_holomorphic:
            why = "not holomorphic: " + ", ".join(self.not_holomorphic)
            return RuleVerdict("inadmissible", why, self._real_rule())
        if rule.contrasts and classification.detached:
            cut = "a batch statistic" if self.coupled else "detach(...)"
            why = f"{cut} of a state in " + ", ".join(classification.detached)
            return RuleVerdict("biased", why, "implicit", classification.detached)
        if rule.exact == "any" or classification.kind == "conservative":
            return RuleVerdict("exact")
        if self.descent is not None and "holomorphic" not in rule.needs:
            return self._of_descent(rule, self.descent)
        terms = classification.together.deciding if classification.together else ()
        worth: Worth = "unproved" if classification.kind == "undecided" else "biased"
        return RuleVerdict(worth, ", ".join(terms) + self._off_the_jumps() + self._in_scales(), rule.instead, terms)

    def _of_descent(self, rule: Declaration, descent: DescentFacts) -> RuleVerdict:
        terms = tuple(self.classification.descents)
        if descent.against:
            return RuleVerdict("biased", descent.against, rule.instead, terms)
        if descent.doubt:
            return RuleVerdict("unproved", descent.doubt, rule.instead, terms)
        return RuleVerdict("exact", descent.rest)

    def _off_the_jumps(self) -> str:
        """A remark where J is known to be symmetric off jumps and poles, since nudges are small.

        It is by a certificate, or since the force is minus the gradient of an energy that jumps.
        """
        verdict = self.classification.sum_verdict
        symmetric = verdict is not None and (verdict.certificate is not None or verdict.potential is not None)
        return " (exact at equilibria off jumps and poles, where J is symmetric)" if symmetric else ""

    def _in_scales(self) -> str:
        """A remark on what is exact in a network of time scales."""
        scales = self.classification.scales
        if scales is None:
            return ""
        return f" (exact for {', '.join(scales.exact)} alone: time scales)" if scales.exact else " (time scales)"

    def _real_rule(self) -> str:
        return "centered-ep" if self.classification.kind == "conservative" else "tracking-aep"
