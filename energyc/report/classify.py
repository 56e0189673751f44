"""The analysis of a network in the words of the reports, and the answer to a rule that is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from energyc.diagnostics import UserError
from energyc.emit.features import RULES
from energyc.ir import Stop, walk
from energyc.notation import of_network
from energyc.report.classes import Classes, RuleReport, TermReport
from energyc.resolve.network import Network, Term

#: Every rule that the language knows; those of ``RULES`` are there.
KNOWN_RULES = (
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


def classes_of(network: Network) -> Classes:
    """Class, terms and rules."""
    terms = tuple(_term(network, term) for term in network.terms.values())
    kinds = {term.verdict for term in terms}
    verdict = "conservative" if kinds <= {"conservative"} else "undecided"
    return Classes(verdict, terms, _rules(verdict, terms))


def _term(network: Network, term: Term) -> TermReport:
    frozen = any(isinstance(node, Stop) for node in walk([term.node]))
    if term.kind == "force" or frozen:
        return TermReport(term.name, term.kind, "undecided", "none", tried=("nothing: the analysis is not there yet",))
    return TermReport(term.name, term.kind, "conservative", "gradient", of_network(network).text(term.node))


def _rules(verdict: str, terms: Sequence[TermReport]) -> Mapping[str, RuleReport]:
    undecided = ", ".join(term.name for term in terms if term.verdict == "undecided")
    contrast = RuleReport("exact") if verdict == "conservative" else RuleReport("unproved", undecided)
    rules = {rule: RuleReport("exact") for rule in KNOWN_RULES if rule in RULES}
    return {**rules, **{rule: contrast for rule in ("ep", "centered-ep") if rule in rules}}


def available(network: Network) -> tuple[str, ...]:
    """The rules that a module of this network may hold."""
    verdicts = classes_of(network).rules
    return tuple(rule for rule in RULES if rule in verdicts and verdicts[rule].verdict != "inadmissible")


def check_rules(network: Network, asked: Sequence[str]) -> None:
    """Raise UserError for the first rule that does not exist, is not there yet, or is inadmissible."""
    for rule in asked:
        if rule not in KNOWN_RULES:
            near = get_close_matches(rule, KNOWN_RULES, n=1)
            help_text = f"did you mean {near[0]}?" if near else f"rules: {', '.join(KNOWN_RULES)}"
            raise UserError(f"there is no rule {rule}", code="E0910", help=help_text)
        if rule not in RULES:
            raise UserError(f"the rule {rule} is not there yet", code="E0990", help=f"use one of {', '.join(RULES)}")
        verdict = classes_of(network).rules[rule]
        if verdict.verdict == "inadmissible":
            instead = f"use {verdict.use_instead}" if verdict.use_instead else None
            raise UserError(f"{rule} is not defined on {network.name}: {verdict.why}", code="E0911", help=instead)
