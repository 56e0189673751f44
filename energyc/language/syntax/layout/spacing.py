"""The blanks before each piece of a line."""

from __future__ import annotations

from dataclasses import replace
from itertools import takewhile

from energyc.language.syntax.layout.pieces import Piece

_OPENERS = frozenset({"LPAR", "LSQB"})
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
        if piece.kind in _OPENERS:
            tight.append(piece.kind == "LSQB" and equation and _only_names(code, place))
        elif piece.kind in ("RPAR", "RSQB"):
            tight.pop()
    return gaps


def _gap(code: list[Piece], place: int, unary: bool, tight: bool) -> int:
    """The blanks before a piece, after a sign that is not an operator (``unary``) or among bare indices (``tight``)."""
    before, piece = code[place - 1], code[place]
    if piece.kind in _NO_SPACE_BEFORE or before.kind in _OPENERS or before.kind == "POWER" or unary:
        return 0
    if piece.kind in _OPENERS and before.kind in _APPLIED:
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
