"""Classes and verdicts as plain data: the part of ``check --format json`` that this package answers for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from energyc.analysis.classify import Classification
from energyc.analysis.rules import RuleVerdict
from energyc.analysis.verdict import Verdict, Witness
from energyc.ir import Node
from energyc.resolve.network import Network

Printer = Callable[[Node], str]


def as_data(
    network: Network, classification: Classification, rules: Mapping[str, RuleVerdict], text: Printer
) -> dict[str, Any]:
    """``class``, ``terms`` and ``rules`` as interface.md has them; ``text`` writes an energy in the spec's notation."""
    return {
        "class": classification.kind,
        "terms": [
            {"name": name, "kind": network.terms[name].kind, **term_data(verdict, text)}
            for name, verdict in classification.terms.items()
        ],
        "rules": {name: rule_data(verdict) for name, verdict in rules.items()},
    }


def term_data(verdict: Verdict, text: Printer) -> dict[str, Any]:
    """One term's class with its evidence."""
    data: dict[str, Any] = {"class": verdict.kind, "evidence": verdict.evidence}
    if verdict.potential is not None:
        data["potential"] = text(verdict.potential)
    if verdict.witness is not None:
        data["witness"] = witness_data(verdict.witness)
        data["ties"] = [str(tie) for tie in verdict.ties]
    if verdict.kind == "undecided":
        data["tried"] = list(verdict.tried)
    return data


def witness_data(witness: Witness) -> dict[str, Any]:
    """The two entries, where they stand, and the enclosures that tell them apart."""
    entries = {"entry": witness.entry, "mirror": witness.mirror}
    return {
        "row": list(witness.row.index),
        "column": list(witness.column.index),
        "row_state": witness.row.state,
        "column_state": witness.column.state,
        **{name: e.middle for name, e in entries.items()},
        "enclosures": {name: [str(e.low), str(e.high)] for name, e in entries.items()},
        "certified": witness.certified,
        "arithmetic": witness.arithmetic,
        "sizes": dict(witness.sizes),
    }


def rule_data(verdict: RuleVerdict) -> dict[str, Any]:
    """One rule's verdict, without what is empty."""
    data: dict[str, Any] = {"verdict": verdict.verdict}
    if verdict.why:
        data["why"] = verdict.why
    if verdict.use_instead:
        data["use_instead"] = verdict.use_instead
    return data
