"""What each learning rule is worth on a network, and which term decides it (rules.md, section 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from energyc.analysis.classify import Classification
from energyc.analysis.holomorphy import obstacles
from energyc.resolve.network import Network

Worth = Literal["exact", "biased", "unproved", "inadmissible"]
SYMMETRIC = ("ep", "centered-ep", "vf", "holomorphic-ep")
CORRECTED = ("aep", "tracking-aep", "adjoint", "holomorphic-aep")
UNROLL = ("tbptt", "bptt")
RULES = (
    "ep",
    "centered-ep",
    "vf",
    "aep",
    "tracking-aep",
    "adjoint",
    "holomorphic-ep",
    "holomorphic-aep",
    "tbptt",
    "bptt",
    "implicit",
)


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
    """The verdict on every rule, in the order of ``RULES``."""
    reasons = obstacles(network, classification)
    verdicts = {rule: _verdict(rule, classification, reasons) for rule in RULES}
    if network.relax.solver == "newton":
        why = "the states relax by Newton's method, whose steps are not taken back"
        verdicts |= dict.fromkeys(UNROLL, RuleVerdict("inadmissible", why, "implicit"))
    return verdicts


def _verdict(rule: str, classification: Classification, reasons: list[str]) -> RuleVerdict:
    if rule.startswith("holomorphic") and reasons:
        return RuleVerdict("inadmissible", "not holomorphic: " + ", ".join(reasons), _best(classification))
    if classification.detached and rule not in (*UNROLL, "implicit", "adjoint"):
        why = "detach(...) of a state in " + ", ".join(classification.detached)
        return RuleVerdict("biased", why, "implicit", classification.detached)
    if rule not in SYMMETRIC or classification.kind == "conservative":
        return RuleVerdict("exact")
    return _on_unproved(rule, classification)


def _on_unproved(rule: str, classification: Classification) -> RuleVerdict:
    names = classification.together.deciding if classification.together else ()
    instead = "holomorphic-aep" if rule == "holomorphic-ep" else "tracking-aep"
    if classification.kind == "undecided":
        return RuleVerdict("unproved", ", ".join(names), instead, names)
    return RuleVerdict("biased", ", ".join(names), instead, names)


def _best(classification: Classification) -> str:
    return "centered-ep" if classification.kind == "conservative" else "tracking-aep"
