"""The analysis of a network in the words of the reports, and the answer to a rule that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from difflib import get_close_matches

from energyc.analysis.classify import classify
from energyc.analysis.rules import RULES as KNOWN_RULES
from energyc.analysis.rules import admissible
from energyc.analysis.verdict import Verdict
from energyc.analysis.witness_data import witness_data
from energyc.diagnostics import UserError
from energyc.emit.features import RULES
from energyc.ir import Node
from energyc.notation import of_network
from energyc.report.classes import Classes, RuleReport, TermReport
from energyc.resolve.network import Network, Term


def classes_of(network: Network) -> Classes:
    """Class, terms and rules."""
    found = classify(network)
    write = of_network(network).text
    terms = tuple(_term(network.terms[name], verdict, write) for name, verdict in found.terms.items())
    rules = {
        name: RuleReport(rule.verdict, rule.why or None, rule.use_instead)
        for name, rule in admissible(network, found).items()
    }
    return Classes(found.kind, terms, rules, found.unproved)


def _term(term: Term, verdict: Verdict, write: Callable[[Node], str]) -> TermReport:
    return TermReport(
        term.name,
        term.kind,
        verdict.kind,
        verdict.evidence,
        potential=None if verdict.potential is None else write(verdict.potential),
        witness=None if verdict.witness is None else witness_data(verdict.witness),
        ties=tuple(map(str, verdict.ties)),
        tried=tuple(verdict.tried),
    )


def available(classes: Classes) -> tuple[str, ...]:
    """The rules that a module of this network may hold."""
    return tuple(rule for rule in RULES if classes.rules[rule].verdict != "inadmissible")


def biased(classes: Classes, rules: Sequence[str]) -> dict[str, str]:
    """The rules among some that are biased on the network, each with the reason."""
    return {rule: classes.rules[rule].why or "" for rule in rules if classes.rules[rule].verdict == "biased"}


def check_rules(name: str, classes: Classes, asked: Sequence[str]) -> None:
    """Raise UserError for the first rule that does not exist, is not there yet, or is inadmissible on the network."""
    for rule in asked:
        if rule not in KNOWN_RULES:
            near = get_close_matches(rule, KNOWN_RULES, n=1)
            help_text = f"did you mean {near[0]}?" if near else f"rules: {', '.join(KNOWN_RULES)}"
            raise UserError(f"there is no rule {rule}", code="E0910", help=help_text)
        if rule not in RULES:
            raise UserError(f"the rule {rule} is not there yet", code="E0990", help=f"use one of {', '.join(RULES)}")
        verdict = classes.rules[rule]
        if verdict.verdict == "inadmissible":
            instead = f"use {verdict.use_instead}" if verdict.use_instead else None
            raise UserError(f"{rule} is not defined on {name}: {verdict.why}", code="E0920", help=instead)


def refuse_biased(name: str, classes: Classes, rule: str) -> None:
    """Raise UserError where a rule is biased on the network."""
    verdict = classes.rules[rule]
    if verdict.verdict == "biased":
        instead = f"use {verdict.use_instead}, or " if verdict.use_instead else ""
        message = f"{rule} is biased on {name}, because of {verdict.why}"
        raise UserError(message, code="E0921", help=f"{instead}insist with --allow-biased")
