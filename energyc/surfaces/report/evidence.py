"""The evidence for a class in words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from energyc.proofs.claims.classes import SumReport, TermReport
from energyc.surfaces.report.witness_text import entries

Paint = Callable[[str], str]


def evidence(term: TermReport | SumReport) -> str:
    """Describe the evidence for the class of a term."""
    if isinstance(term, TermReport) and term.metric is not None:
        return f"moves by its energy's gradient in the metric {term.metric}, which is proved symmetric"
    phrases = {"gradient": "written as an energy", "proof": "proved", "witness": "refuted by a witness"}
    phrases["none"] = "an energy that jumps" if term.witness is not None else ""
    description = phrases.get(term.evidence, term.evidence)
    if term.uncertified:
        description = "shown by a proof without a certificate"
    description += f" at {', '.join(f'{dim} = {size}' for dim, size in term.sizes)}" if term.sizes else ""
    description += " on the set of its states" if term.on_set else ""
    return f"{description}: {entries(term.witness)}" if term.witness is not None else description


def sum_evidence(group: SumReport, paint: Paint = str) -> str:
    """Describe the class of a sum of terms and its evidence, without the entries of a witness."""
    description = evidence(replace(group, witness=None))
    return f"{', '.join(group.terms)} together: {paint(group.verdict)}" + (f" ({description})" if description else "")
