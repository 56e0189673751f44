"""A witness in words: its two entries, and the point where they were computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: The longest point that is shown on a line of a terminal.
ROOM = 100


def entries(witness: Mapping[str, Any]) -> str:
    """The two entries that differ."""
    row, column = (_element(witness[f"{key}_state"], witness[key]) for key in ("row", "column"))
    certified = "certified" if witness["certified"] else "in floats alone"
    entry, mirror = f"{witness['entry']:.6g}", f"{witness['mirror']:.6g}"
    return f"dF {row} / d {column} = {entry}, but dF {column} / d {row} = {mirror} ({certified})"


def point(witness: Mapping[str, Any], room: int = ROOM) -> str:
    """The sizes and the point: all of it where it is small, else the two coordinates and where the rest is found."""
    values = witness["point"]
    sizes = ", ".join(f"{dim} = {size}" for dim, size in witness["sizes"].items())
    shown = ", ".join(f"{name} = {value}" for name, value in values.items())
    if len(shown) > room:
        count = sum(_count(value) for value in values.values())
        shown = f"{_coordinates(witness)}; all {count:,} numbers: check --format json"
    return f"at {sizes}: {shown}" if sizes else f"at {shown}"


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
