"""Indentation: statements by their block, continuations below what they continue, comments in their column."""

from __future__ import annotations

from dataclasses import dataclass

from energyc.language.syntax.layout.lines import Line
from energyc.language.syntax.layout.pieces import CLOSERS, OPENERS, Piece, outside_brackets

_STEP = 2
_HANG = 4
_OPERATORS = frozenset({"PLUS", "MINUS", "STAR", "SLASH", "OR", "AND", "COMPARE"})


@dataclass(frozen=True)
class _Open:
    """An open bracket: its column, the column of what follows it on its line (None: nothing), its line's indent."""

    column: int
    inside: int | None
    indent: int


@dataclass(frozen=True)
class _Statement:
    """The columns that continuations are aligned with: of the name and of the `=`."""

    indent: int = 0
    name: int = 0
    equals: int | None = None


def printed(lines: tuple[Line, ...]) -> str:
    """The text of a file, with a newline at its end."""
    codes = _codes(lines)
    columns = _comment_columns(lines, codes)
    out: list[str] = []
    for line, code, column in zip(lines, codes, columns, strict=True):
        out += [""] * (line.blank and bool(out))
        comment = "" if line.comment is None else line.comment.text
        out.append((code.ljust(column) if code.strip() else code) + comment)
    return "\n".join(out) + "\n"


def _codes(lines: tuple[Line, ...]) -> list[str]:
    codes: list[str] = []
    statement, open_brackets = _Statement(), list[_Open]()
    for line in lines:
        if line.head:
            indent = _STEP * line.level
            open_brackets = []
        elif not line.pieces:
            indent = _indent_of_comment(line, open_brackets)
        else:
            indent = _indent_of_continuation(line.pieces[0], statement, open_brackets)
        columns = _columns(line, indent)
        if line.head:
            statement = _statement(line, indent, columns)
        _follow(line, indent, columns, open_brackets)
        codes.append(_code(line, indent))
    return codes


def _code(line: Line, indent: int) -> str:
    text = "".join(" " * (piece.gap if place else 0) + piece.text for place, piece in enumerate(line.pieces))
    return " " * indent + text


def _columns(line: Line, indent: int) -> list[int]:
    columns, end = [], indent
    for place, piece in enumerate(line.pieces):
        start = end + (piece.gap if place else 0)
        columns.append(start)
        end = start + len(piece.text)
    return columns


def _statement(line: Line, indent: int, columns: list[int]) -> _Statement:
    equals = next((columns[place] for place, piece in outside_brackets(line.pieces) if piece.kind == "EQUAL"), None)
    return _Statement(indent, columns[1] if len(columns) > 1 else indent + _HANG, equals)


def _follow(line: Line, indent: int, columns: list[int], open_brackets: list[_Open]) -> None:
    """Update the stack of open brackets by one line."""
    for place, piece in enumerate(line.pieces):
        if piece.kind in OPENERS:
            inside = columns[place + 1] if place + 1 < len(columns) else None
            open_brackets.append(_Open(columns[place], inside, indent))
        elif piece.kind in CLOSERS and open_brackets:
            open_brackets.pop()


def _indent_of_continuation(first: Piece, statement: _Statement, open_brackets: list[_Open]) -> int:
    if open_brackets:
        bracket = open_brackets[-1]
        if first.kind in CLOSERS:
            return bracket.indent if bracket.inside is None else bracket.column
        return bracket.indent + _HANG if bracket.inside is None else bracket.inside
    if first.kind in _OPERATORS and statement.equals is not None:
        return statement.equals
    return statement.indent + _HANG if statement.equals is not None and first.kind in _OPERATORS else statement.name


def _indent_of_comment(line: Line, open_brackets: list[_Open]) -> int:
    if not open_brackets:
        return _STEP * line.level
    bracket = open_brackets[-1]
    return bracket.indent + _HANG if bracket.inside is None else bracket.inside


def _comment_columns(lines: tuple[Line, ...], codes: list[str]) -> list[int]:
    """The column of each line's trailing comment: the user's, or further right where the code is longer."""
    columns = [0] * len(lines)
    start = 0
    while start < len(lines):
        stop = start + 1
        while stop < len(lines) and _comments_in_line(lines[stop - 1], lines[stop]):
            stop += 1
        comment = lines[start].comment
        if comment is not None:
            widest = max(len(code) + 2 for code in codes[start:stop])
            columns[start:stop] = [max(comment.column, widest)] * (stop - start)
        start = stop
    return columns


def _comments_in_line(above: Line, line: Line) -> bool:
    if not above.pieces or not line.pieces or above.comment is None or line.comment is None:
        return False
    return above.comment.column == line.comment.column
