"""Alignment: neighbouring lines that had a name, a `:`, a `=` or a `{` in one column keep it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from energyc.language.syntax.layout.lines import Line
from energyc.language.syntax.layout.pieces import outside_brackets

Anchor = Callable[[Line], int | None]


def aligned(lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """The lines, with wider gaps where the user had aligned them."""
    for anchor in (_name, _outside_brackets("COLON"), _outside_brackets("EQUAL"), _outside_brackets("LBRACE")):
        lines = tuple(line for run in _runs(lines, anchor) for line in _padded(run, anchor))
    return lines


def _name(line: Line) -> int | None:
    """The name after the statement's word."""
    return 1 if line.head and len(line.pieces) > 1 else None


def _outside_brackets(kind: str) -> Anchor:
    def anchor(line: Line) -> int | None:
        outside = outside_brackets(line.pieces if line.head else ())
        return next((place for place, piece in outside if piece.kind == kind), None)

    return anchor


def _runs(lines: tuple[Line, ...], anchor: Anchor) -> Iterator[list[Line]]:
    """The lines in groups whose anchors were in one column; a continuation belongs to the line above it."""
    run: list[Line] = []
    above: Line | None = None
    for line in lines:
        continues = bool(line.pieces) and not line.head
        if above is not None and not continues and not _same_column(above, line, anchor):
            yield run
            run = []
        run.append(line)
        above = above if continues else line
    if run:
        yield run


def _same_column(above: Line, line: Line, anchor: Anchor) -> bool:
    first, second = anchor(above), anchor(line)
    if first is None or second is None or line.blank or above.level != line.level:
        return False
    return above.pieces[first].column == line.pieces[second].column


def _padded(run: list[Line], anchor: Anchor) -> list[Line]:
    places = [anchor(line) for line in run]
    columns = [_column(line, place) for line, place in zip(run, places, strict=True) if place is not None]
    return [
        line if place is None else _widened(line, place, max(columns) - _column(line, place))
        for line, place in zip(run, places, strict=True)
    ]


def _column(line: Line, place: int) -> int:
    return replace(line, pieces=line.pieces[:place]).width + line.pieces[place].gap


def _widened(line: Line, place: int, by: int) -> Line:
    piece = line.pieces[place]
    return replace(line, pieces=(*line.pieces[:place], replace(piece, gap=piece.gap + by), *line.pieces[place + 1 :]))
