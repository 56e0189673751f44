"""A spec that parses, as the words, signs and comments of its text, and the blanks before each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

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


_PARENTHESES = frozenset({"LPAR", "LSQB"})
_NO_SPACE_BEFORE = frozenset({"RPAR", "RSQB", "_COMMA", "FIELD", "PRIME", "POWER"})
_APPLIED = frozenset({"NAME", "PRIME", "RSQB", "FIELD", "WORD"})
_BEFORE_UNARY = frozenset("LPAR LSQB _COMMA EQUAL PLUS MINUS STAR SLASH POWER COMPARE AND OR NOT VBAR".split())
_EQUATIONS = frozenset({"EQUATION", "_FORCE", "_FN"})


def spaced(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    """The pieces with their gaps; comments are placed by ``indent``."""
    code = [piece for piece in pieces if piece.kind != "COMMENT"]
    gaps = iter(_gaps(code))
    return tuple(piece if piece.kind == "COMMENT" else replace(piece, gap=next(gaps)) for piece in pieces)


def _gaps(code: list[Piece]) -> list[int]:
    gaps: list[int] = []
    tight: list[bool] = []
    equation = unary = False
    for place, piece in enumerate(code):
        before = code[place - 1] if place else None
        if piece.head:
            equation = piece.kind in _EQUATIONS
        gaps.append(0 if before is None else _gap(code, place, unary, bool(tight) and tight[-1]))
        unary = piece.kind == "MINUS" and (before is None or before.kind in _BEFORE_UNARY)
        if piece.kind in _PARENTHESES:
            tight.append(piece.kind == "LSQB" and equation and _only_names(code, place))
        elif piece.kind in ("RPAR", "RSQB"):
            tight.pop()
    return gaps


def _gap(code: list[Piece], place: int, unary: bool, tight: bool) -> int:
    """The blanks before a piece, after a sign that is not an operator (``unary``) or among bare indices (``tight``)."""
    before, piece = code[place - 1], code[place]
    if piece.kind in _NO_SPACE_BEFORE or before.kind in _PARENTHESES or before.kind == "POWER" or unary:
        return 0
    if piece.kind in _PARENTHESES and before.kind in _APPLIED:
        return 0
    if before.kind == "LBRACE" and piece.kind == "RBRACE":
        return 0
    if before.kind == "_COMMA" and tight:
        return 0
    if piece.kind in ("STAR", "SLASH"):
        return _around_product(code, place)
    if before.kind in ("STAR", "SLASH"):
        return _around_product(code, place - 1)
    return 1


def _around_product(code: list[Piece], place: int) -> int:
    """The blanks around ``*`` or ``/``: as written, but the same on both sides, ``c/2 * x``, ``stride*i + p``."""
    before, after = code[place - 1], code[place + 1]
    if code[place].kind == "SLASH" and before.kind == after.kind == "NUMBER":
        return 0
    return 0 if code[place].touching and after.touching else 1


def _only_names(code: list[Piece], place: int) -> bool:
    """Whether a bracket holds bare indices: ``[n,d]``, ``[m | m != n]``."""
    inside = takewhile(lambda piece: piece.kind not in ("RSQB", "VBAR"), code[place + 1 :])
    return all(piece.kind in ("NAME", "NUMBER", "_COMMA") for piece in inside)
