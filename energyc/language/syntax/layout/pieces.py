"""A spec that parses, as the words, signs and comments of its text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from energyc.language.diagnostics import Source
from energyc.language.syntax import ast
from energyc.language.syntax.grammar import grammar

OPENERS = frozenset({"LPAR", "LSQB", "LBRACE"})
CLOSERS = frozenset({"RPAR", "RSQB", "RBRACE"})
_COMMENT = re.compile(r"#[^\n]*")


@dataclass(frozen=True)
class Piece:
    """A word, sign or comment.

    ``kind`` is the grammar's terminal or COMMENT, ``column`` where it stood (from 0), ``breaks`` the line breaks before
    it, ``touching`` whether no blank stood before it, ``head`` whether it opens a statement, ``gap`` the blanks to be
    set before it where it does not open a line.
    """

    kind: str
    text: str
    column: int
    breaks: int
    touching: bool
    head: bool = False
    gap: int = 1


def pieces_of(spec: ast.Spec, source: Source) -> tuple[Piece, ...]:
    """The pieces of a spec that parses, in order."""
    heads = set(_heads(spec.statements)) | {_network(source)}
    pieces: list[Piece] = []
    end = 0
    for kind, text, start in _raw(source.text):
        between = source.text[end:start]
        column = source.position(start).column - 1
        pieces.append(Piece(kind, text, column, between.count("\n"), not between, head=start in heads))
        end = start + len(text)
    return tuple(pieces)


def outside_brackets(pieces: Sequence[Piece]) -> Iterator[tuple[int, Piece]]:
    """The pieces of a line that stand in no bracket, each with its place; an opening bracket is one of them."""
    depth = 0
    for place, piece in enumerate(pieces):
        depth -= piece.kind in CLOSERS
        if depth == 0:
            yield place, piece
        depth += piece.kind in OPENERS


def _raw(text: str) -> Iterator[tuple[str, str, int]]:
    end = 0
    for token in grammar().parse_interactive(text).exhaust_lexer():
        assert token.start_pos is not None and token.end_pos is not None
        yield from _comments(text, end, token.start_pos)
        yield token.type, str(token), token.start_pos
        end = token.end_pos
    yield from _comments(text, end, len(text))


def _comments(text: str, start: int, end: int) -> Iterator[tuple[str, str, int]]:
    for match in _COMMENT.finditer(text, start, end):
        yield "COMMENT", match.group().rstrip(), match.start()


def _heads(statements: Iterable[ast.Statement]) -> Iterator[int]:
    for statement in statements:
        yield statement.span.start
        if isinstance(statement, (ast.Layer, ast.Repeat)):
            yield from _heads(statement.body)


def _network(source: Source) -> int:
    return next((start for kind, _, start in _raw(source.text) if kind == "_NETWORK"), 0)
