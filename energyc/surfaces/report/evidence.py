"""The evidence for a class in words: a proof, or a witness with its two entries and the point of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from energyc.proofs.claims.classes import SumReport, TermReport

Paint = Callable[[str], str]
#: The length of the longest point shown on a line of a terminal.
ROOM = 100


def evidence(term: TermReport | SumReport) -> str:
    """Describe the evidence for the class of a term."""
    if isinstance(term, TermReport) and term.metric is not None:
        return f"gradient flow with metric {term.metric}, which is proved symmetric"
    phrases = {"gradient": "written as an energy", "proof": "proved", "witness": "refuted by a witness"}
    phrases["none"] = "an energy that jumps" if term.witness is not None else ""
    description = phrases.get(term.evidence, term.evidence)
    description += f" at {', '.join(f'{dim} = {size}' for dim, size in term.sizes)}" if term.sizes else ""
    description += " on the set of its states" if term.on_set else ""
    return f"{description}: {entries(term.witness)}" if term.witness is not None else description


def sum_evidence(group: SumReport, paint: Paint = str) -> str:
    """Describe the class of a sum of terms and its evidence, without the entries of a witness."""
    description = evidence(replace(group, witness=None))
    return f"{', '.join(group.terms)} together: {paint(group.verdict)}" + (f" ({description})" if description else "")


def entries(witness: Mapping[str, Any]) -> str:
    """Describe the two entries that differ, or the work that is not zero."""
    if witness["kind"] == "loop":
        return f"work {witness['work']:.6g} round a closed loop"
    row, column = (_element(witness[f"{key}_state"], witness[key]) for key in ("row", "column"))
    certified = "certified" if witness["certified"] else "in floats alone"
    entry, mirror = _apart(witness["entry"], witness["mirror"])
    return f"dF {row} / d {column} = {entry}, but dF {column} / d {row} = {mirror} ({certified})"


def _apart(a: float, b: float) -> tuple[str, str]:
    """Format two numbers with enough digits to tell them apart, at least six."""
    pairs = ((f"{a:.{digits}g}", f"{b:.{digits}g}") for digits in range(6, 18))
    return next((pair for pair in pairs if pair[0] != pair[1]), (repr(a), repr(b)))


def point(witness: Mapping[str, Any], room: int = ROOM) -> str:
    """Describe the sizes and the point, or only its two coordinates if it is long."""
    sizes = ", ".join(f"{dim} = {size}" for dim, size in witness["sizes"].items())
    shown = _loop(witness, room) if witness["kind"] == "loop" else _point(witness, room)
    return f"at {sizes}: {shown}" if sizes else f"at {shown}" if witness["kind"] != "loop" else shown


def _point(witness: Mapping[str, Any], room: int) -> str:
    values = witness["point"]
    shown = ", ".join(f"{name} = {value}" for name, value in values.items())
    if len(shown) <= room:
        return shown
    count = sum(_count(value) for value in values.values())
    return f"{_coordinates(witness)}; all {count:,} numbers: check --format json"


def _loop(witness: Mapping[str, Any], room: int) -> str:
    """Describe the corners of a loop, or only count them if they are long."""
    corners = witness["corners"]
    names = ", ".join(corners[0])
    shown = " to ".join(f"({', '.join(map(str, corner.values()))})" for corner in corners)
    others = ", ".join(f"{name} = {value}" for name, value in witness["point"].items())
    if len(shown) + len(others) <= 2 * room:
        return f"through ({names}) = {shown} and back" + (f", with {others}" if others else "")
    return f"through {len(corners)} corners: check --format json"


def _coordinates(witness: Mapping[str, Any]) -> str:
    places = [(witness[f"{key}_state"], tuple(witness[key])) for key in ("row", "column")]
    values = ((state, index, _at(witness["point"][state], index)) for state, index in places)
    return ", ".join(f"{_element(state, index)} = {value}" for state, index, value in values)


def _at(value: Any, index: Iterable[int]) -> Any:
    for k in index:
        value = value[k]
    return value


def _element(name: str, index: Sequence[int]) -> str:
    return f"{name}[{', '.join(map(str, index))}]" if index else name


def _count(value: Any) -> int:
    return sum(map(_count, value)) if isinstance(value, list) else 1
