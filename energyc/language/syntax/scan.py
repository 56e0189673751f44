"""A spec as words and signs, whether or not it parses: for limits, error recovery and layout."""

from __future__ import annotations

import re
from dataclasses import dataclass

from energyc.language.diagnostics import Source, Span

DECLARATION_WORDS = frozenset({"dim", "const", "data", "clamp", "target", "param", "noise", "state"})
EQUATION_WORDS = frozenset(
    {"tie", "let", "start", "clamped", "energy", "force", "flow", "next", "readout", "cost", "metric", "fn"}
)
SETTINGS_WORDS = frozenset({"relax", "nudge", "train"})
BLOCK_WORDS = frozenset({"layer", "repeat"})
STATEMENT_WORDS = DECLARATION_WORDS | EQUATION_WORDS | SETTINGS_WORDS | BLOCK_WORDS | {"network", "preset"}
RESERVED = STATEMENT_WORDS | {"in", "on", "and", "or", "not"}
BRACKETS = {"(": ")", "[": "]", "{": "}"}
OPENERS = frozenset(BRACKETS)
CLOSERS = frozenset(BRACKETS.values())

_PIECE = re.compile(
    r"(?P<comment>#[^\n]*)|(?P<word>[A-Za-z_][A-Za-z_0-9]*)|(?P<number>(?:[0-9]|\.[0-9])[0-9.]*(?:[eE][+-]?[0-9]+)?[A-Za-z_0-9.]*)"
    r"|(?P<sign>\*\*|<=|>=|==|!=|\S)"
)


@dataclass(frozen=True)
class Scanned:
    """A word, number, sign or comment; ``first`` says that it starts its line."""

    kind: str
    text: str
    span: Span
    first: bool


def scan(source: Source, comments: bool = False) -> tuple[Scanned, ...]:
    """The pieces of a text; every character belongs to one."""
    pieces: list[Scanned] = []
    last_end = 0
    for match in _PIECE.finditer(source.text):
        kind = match.lastgroup or "sign"
        first = not pieces or "\n" in source.text[last_end : match.start()]
        last_end = match.end()
        pieces.append(Scanned(kind, match.group(), Span(match.start(), match.end()), first))
    return tuple(piece for piece in pieces if comments or piece.kind != "comment")
