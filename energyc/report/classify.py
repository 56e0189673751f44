"""The analysis of a network in the words of the reports, and the answer to a rule that is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from energyc.analysis.classify import classify
from energyc.analysis.rules import admissible
from energyc.analysis.together import Together
from energyc.analysis.verdict import Tie, Verdict
from energyc.analysis.witness_data import witness_data
from energyc.diagnostics import UserError, near
from energyc.ir import Map, Node, walk
from energyc.notation import Notation, left_side, of_network
from energyc.notation.spelling import DEFINITIONS
from energyc.report.classes import Classes, RuleReport, SumReport, TermReport
from energyc.resolve.network import Network
from energyc.rules import RULES


def classes_of(network: Network) -> Classes:
    """Class, terms and rules."""
    found = classify(network)
    notation = of_network(network)
    terms = tuple(_term(network, name, verdict, notation) for name, verdict in found.terms.items())
    rules = {
        name: RuleReport(rule.verdict, rule.why or None, rule.use_instead)
        for name, rule in admissible(network, found).items()
    }
    together = _together(network, found.together, notation)
    return Classes(found.kind, terms, rules, found.unproved, together)


def _term(network: Network, name: str, verdict: Verdict, notation: Notation) -> TermReport:
    term = network.terms[name]
    ties = tuple(" and ".join(_tie(network, notation, t) for t in suggested.ties) for suggested in verdict.ties)
    return TermReport(term.name, term.kind, ties=ties, **_judged(network, verdict, notation))


def _together(network: Network, together: Together | None, notation: Notation) -> SumReport | None:
    if together is None or len(together.terms) < 2:
        return None
    parts = tuple(SumReport(part.terms, **_judged(network, part.verdict, notation)) for part in together.parts)
    judged = _judged(network, together.verdict, notation)
    return SumReport(together.terms, parts=parts, deciding=together.deciding, **judged)


def _judged(network: Network, verdict: Verdict, notation: Notation) -> dict[str, Any]:
    """What the reports of a term and of a sum have in common."""
    return {
        "verdict": verdict.kind,
        "evidence": verdict.evidence,
        "potential": None if verdict.potential is None else notation.text(verdict.potential),
        "functions": () if verdict.potential is None else _functions(verdict.potential),
        "witness": None if verdict.witness is None else witness_data(verdict.witness, _consts(network)),
        "tried": tuple(verdict.tried),
    }


def _consts(network: Network) -> dict[str, float]:
    return {name: const.value for name, const in network.consts.items()}


def _tie(network: Network, notation: Notation, tie: Tie) -> str:
    """``U[i,j] = W[j,i]``, with indices that are free in the spec."""
    indices = notation.indices(network.params[tie.target].node)
    turned = [indices[tie.axes.index(k)] for k in range(len(indices))]
    return f"{left_side(tie.target, indices)} = {left_side(tie.source, turned)}"


def _functions(potential: Node) -> tuple[str, ...]:
    """Definitions, in the spec's notation, of the functions in a potential that the language has no name for."""
    used = {node.function.name for node in walk([potential]) if isinstance(node, Map)}
    return tuple(text for name, text in DEFINITIONS.items() if name in used)


def available(classes: Classes) -> tuple[str, ...]:
    """The rules that a module of this network may hold."""
    return tuple(rule for rule in RULES if classes.rules[rule].verdict != "inadmissible")


def biased(classes: Classes, rules: Sequence[str]) -> dict[str, str]:
    """The rules among some that are biased on the network, each with the reason."""
    return {rule: classes.rules[rule].why or "" for rule in rules if classes.rules[rule].verdict == "biased"}


def check_rules(name: str, classes: Classes, asked: Sequence[str]) -> None:
    """Raise UserError for the first rule that does not exist or is inadmissible on the network."""
    for rule in asked:
        if rule not in RULES:
            meant = near(rule, RULES)
            help_text = f"did you mean {meant[0]}?" if meant else f"rules: {', '.join(RULES)}"
            raise UserError(f"there is no rule {rule}", code="E0910", help=help_text)
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
