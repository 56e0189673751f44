"""The classification of a network in the notation of its spec: words, numbers and formulas in place of nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from energyc.derivation.notation import Notation, left_side
from energyc.language.network import Network, under_linear_cost
from energyc.mathematics.functions import FUNCTIONS
from energyc.mathematics.ir import Map, Node, walk
from energyc.proofs.claims.claims import claims_of
from energyc.proofs.claims.classes import EQUILIBRIUM, UNIQUE, WHOLE, Claim, Classes, RuleReport, SumReport, TermReport
from energyc.proofs.conservativeness.certified import Symmetries
from energyc.proofs.conservativeness.descent import Descent
from energyc.proofs.conservativeness.term_sums import TermSum
from energyc.proofs.conservativeness.verdict import Tie, Verdict
from energyc.proofs.conservativeness.witness_data import witness_data
from energyc.proofs.verdicts.gate import Gate, file_of
from energyc.proofs.verdicts.rules import RuleVerdict, admissible
from energyc.runtime import RULES, Declaration

#: The classes of a network, from the best one to the worst.
BEST_FIRST = ("conservative", "metric-descent", "undecided", "not-conservative")
#: The rules that differentiate a layer for whatever is made of its states, beside those by whose phases it is nudged.
THROUGH_LAYERS = ("bptt", "implicit")
#: The verdicts on a rule in a layer, from the best one to the worst.
FROM_EXACT = ("exact", "unproved", "biased", "inadmissible")


def classes_of(network: Network) -> Classes:
    """The class, the terms and the rules of a network, in its notation, as far as the checker accepts their proofs.

    A bound beyond the floats is infinite, which says nothing to a user.
    """
    gates = {name: Gate(Symmetries(layer.network, network.tree, name)) for name, layer in network.layers.items()}
    gate = Gate(Symmetries(network, network.tree))
    with np.errstate(all="ignore"):
        classes = _of_layers(network, gates) if gates else _of_network(network, gate)
    return replace(classes, certify=partial(file_of, network.name, [*gates.values()] or [gate]))


def _of_layers(network: Network, gates: Mapping[str, Gate]) -> Classes:
    """The classes of a network's layers, and what follows for the whole.

    Its class is the worst of theirs. It is differentiated through its layers, each of which a rule nudges alone.
    """
    called = {name: f"layer {name}" for name in network.layers}
    layers = {name: _of_network(layer.network, gates[name], called[name]) for name, layer in network.layers.items()}
    terms = (replace(term, name=f"{name}.{term.name}") for name, own in layers.items() for term in own.terms)
    claims = (
        claim if claim.about == called[name] else replace(claim, about=f"{name}: {claim.about}")
        for name, own in layers.items()
        for claim in own.claims
    )
    worst = max((own.verdict for own in layers.values()), key=BEST_FIRST.index)
    unproved = tuple(f"{name}.{term}" for name, own in layers.items() for term in own.unproved)
    rules = {rule: _rule_through(rule, layers) for rule in RULES}
    together = _of_the_whole(layers) if len(layers) > 1 or network.copies else ()
    return Classes(worst, tuple(terms), rules, unproved, claims=(*claims, *together), layers=layers)


def _of_the_whole(layers: Mapping[str, Classes]) -> Iterator[Claim]:
    """What is known of the layers together: they rest where each of them does, given those before it."""
    for name in (EQUILIBRIUM, UNIQUE):
        claims = [claim for own in layers.values() for claim in own.claims if claim.claim == name]
        if len(claims) == len(layers) and all(c.verdict == "proved" and c.condition is None for c in claims):
            yield Claim(WHOLE, name, "proved", "each layer has one, whatever goes into it, and none reads one after it")


def _rule_through(rule: str, layers: Mapping[str, Classes]) -> RuleReport:
    """The verdict on a rule for a network that is differentiated through its layers: the worst of theirs."""
    if rule not in THROUGH_LAYERS and not RULES[rule].serves_layers:
        tracks = all(own.rules["tracking-aep"].verdict == "exact" for own in layers.values())
        instead = "tracking-aep" if tracks and rule != "tbptt" else "bptt"
        return RuleReport("inadmissible", _beyond_layers(RULES[rule]), instead)
    verdicts = {name: own.rules[rule] for name, own in layers.items()}
    worst = max(verdicts.values(), key=lambda verdict: FROM_EXACT.index(verdict.verdict))
    deciding = {name: verdict.why for name, verdict in verdicts.items() if verdict.verdict == worst.verdict}
    whys = dict.fromkeys(why for why in deciding.values() if why)
    named = {why: [name for name, own in deciding.items() if own == why] for why in whys}
    why = "; ".join(f"{why} in {', '.join(names)}" for why, names in named.items()) or None
    needed = [f"{own.rules[rule].needed} in {name}" for name, own in layers.items() if own.rules[rule].needed]
    return replace(worst, why=why, needed=" and ".join(needed))


def _beyond_layers(rule: Declaration) -> str:
    """Why a rule does not serve a layer."""
    if "trajectory" in rule.needs:
        return "the last steps of a layer alone are not taken back"
    if "clamped" in rule.needs:
        return "no state of a layer is clamped at a target: what comes back to it is dC/dz at its rest"
    return "its predictions go from the clamps to the cost within one network"


def _of_network(network: Network, gate: Gate, called: str = WHOLE) -> Classes:
    classification, notation = gate.classes(), gate.symmetries.notation
    claims = gate.claims(claims_of(network, classification, gate.trees, called))
    terms = tuple(
        replace(
            _term_report(network, name, verdict, notation, classification.descents.get(name)),
            members=classification.members.get(name, {}),
        )
        for name, verdict in classification.terms.items()
    )
    rests = all(claim.verdict == "proved" for claim in claims if claim.claim == EQUILIBRIUM)
    judged = network if called == WHOLE else under_linear_cost(replace(network, graph=network.graph.fork()))
    rules = {
        name: RuleReport(rule.verdict, _reason(name, rule, rests), rule.use_instead, rule.needed)
        for name, rule in admissible(judged, classification, claims, layer=called != WHOLE).items()
    }
    together = _sum_report(network, classification.together, notation)
    return Classes(classification.class_name, terms, rules, classification.unproved, together, claims)


def _reason(name: str, rule: RuleVerdict, rests: bool) -> str | None:
    """The reason of a verdict; an exact rule of equilibria says so where no equilibrium is proved."""
    if rests or rule.verdict != "exact" or "trajectory" in RULES[name].needs:
        return rule.why or None
    return "; ".join(part for part in (rule.why, "if there is an equilibrium, which is not proved") if part)


def _term_report(
    network: Network, name: str, verdict: Verdict, notation: Notation, descent: Descent | None
) -> TermReport:
    term = network.terms[name]
    if descent is not None and verdict.kind != "conservative":
        return TermReport(term.name, term.word, "metric-descent", "proof", metric=descent.metric)
    ties = tuple(" and ".join(_tie_text(network, notation, t) for t in suggested.ties) for suggested in verdict.ties)
    remedies = tuple(" and ".join(_remedy(network, notation, t) for t in suggested.ties) for suggested in verdict.ties)
    return TermReport(term.name, term.word, ties=ties, remedies=remedies, **_report_fields(network, verdict, notation))


def _sum_report(network: Network, together: TermSum | None, notation: Notation) -> SumReport | None:
    if together is None or len(together.terms) < 2:
        return None
    sums = [(together.terms, together.verdict), *((part.terms, part.verdict) for part in together.parts)]
    whole, *parts = (SumReport(terms, **_report_fields(network, verdict, notation)) for terms, verdict in sums)
    return replace(whole, parts=tuple(parts), deciding=together.deciding)


def _report_fields(network: Network, verdict: Verdict, notation: Notation) -> dict[str, Any]:
    """The fields common to the reports of a term and of a sum."""
    return {
        "verdict": verdict.kind,
        "evidence": verdict.evidence,
        "potential": None if verdict.potential is None else notation.text(verdict.potential),
        "functions": () if verdict.potential is None else _definitions(verdict.potential),
        "witness": None if verdict.witness is None else witness_data(verdict.witness, _consts(network)),
        "tried": tuple(verdict.tried),
        "on_set": verdict.on_set,
        "sizes": verdict.pinned,
    }


def _consts(network: Network) -> dict[str, float]:
    return {name: const.value for name, const in network.consts.items()}


def _tie_text(network: Network, notation: Notation, tie: Tie) -> str:
    """A tie such as ``U[i,j] = W[j,i]``, with indices that are unused in the spec."""
    indices = notation.indices(network.params[tie.target].node)
    turned = [indices[tie.axes.index(k)] for k in range(len(indices))]
    return f"{left_side(tie.target, indices)} = {left_side(tie.source, turned)}"


def _remedy(network: Network, notation: Notation, tie: Tie) -> str:
    """How to write a tie; that of a param with itself is a set, or its symmetric part where no set says which axes."""
    written = _tie_text(network, notation, tie)
    if tie.target != tie.source:
        return f"with the tie {written}"
    dims = network.params[tie.target].node.dims
    if tie.symmetry is not None and all(dims.count(dims[axis]) == 2 for axis in tie.symmetry.rows):
        return f"with `in {tie.symmetry.written(dims)}` of param {tie.target}"
    left, right = written.split(" = ")
    return f"with 1/2 * ({left} + {right}) in the place of {left}"


def _definitions(potential: Node) -> tuple[str, ...]:
    """Definitions, in the spec's notation, of the functions in a potential for which the language has no name."""
    functions = [node.function for node in walk([potential]) if isinstance(node, Map)]
    used = {function.entry for function in functions if function.slope is None}
    return tuple(entry.definition for entry in FUNCTIONS.values() if entry.definition and entry in used)
