"""The classification of a network in the notation of its spec: words, numbers and formulas in place of nodes."""

from __future__ import annotations

from typing import Any

from energyc.analysis.classes import Classes, RuleReport, SumReport, TermReport
from energyc.analysis.classify import classify
from energyc.analysis.rules import admissible
from energyc.analysis.together import Together
from energyc.analysis.verdict import Tie, Verdict
from energyc.analysis.witness_data import witness_data
from energyc.functions import FUNCTIONS
from energyc.ir import Map, Node, walk
from energyc.notation import Notation, left_side, of_network
from energyc.resolve.network import Network


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
        "on_set": verdict.on_set,
        "sizes": verdict.pinned,
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
    functions = [node.function for node in walk([potential]) if isinstance(node, Map)]
    used = {function.entry for function in functions if function.slope is None}
    return tuple(entry.definition for entry in FUNCTIONS.values() if entry.definition and entry in used)
