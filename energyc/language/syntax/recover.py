"""Error recovery: the failing statement is replaced by blanks, so that the rest can be parsed."""

from __future__ import annotations

from energyc.language.diagnostics import Span
from energyc.language.syntax.failure import Failure, opens_statement
from energyc.language.syntax.scan import Scanned


def without_statement_at(failure: Failure) -> str | None:
    """The text with the failing statement blanked, of the same length; None where nothing is left to parse."""
    pieces, at = failure.pieces, failure.at
    if at >= len(pieces):
        return None
    start = at if pieces[at].text == "network" or failure.opens_line else failure.start
    stop = at if at > start and opens_statement(pieces, at) else at + 1
    while stop < len(pieces) and not _ends_damage(failure, stop):
        stop += 1
    spans = [piece.span for piece in pieces[start:stop]]
    complete = failure.kind == "end" and at > start
    keep, drop = _unpaired(pieces, start, stop, None if complete else at)
    return _blanked(failure.source.text, [span for span in spans if span not in keep] + drop)


def ended(failure: Failure) -> str:
    """The text without the statement that its end cuts off, and with the blocks around that closed behind it."""
    before = failure.pieces[: failure.start]
    open_blocks = sum((piece.text == "{") - (piece.text == "}") for piece in before)
    kept = _blanked(failure.source.text, [piece.span for piece in failure.pieces[failure.start :]])
    return kept + "\n" + "}" * open_blocks


def _ends_damage(failure: Failure, place: int) -> bool:
    """Whether parsing can resume there: at a statement, or at the line below one whose first word is misspelled."""
    if opens_statement(failure.pieces, place):
        return True
    piece = failure.pieces[place]
    return failure.opens_line and piece.first and piece.kind == "word"


def _unpaired(pieces: tuple[Scanned, ...], start: int, stop: int, wrong: int | None) -> tuple[set[Span], list[Span]]:
    """The braces to keep, which close an outer block, and those to blank, which close a blanked one."""
    keep: set[Span] = set()
    depth = 0
    for place in range(start, stop):
        depth += (pieces[place].text == "{") - (pieces[place].text == "}")
        if depth < 0:
            depth = 0
            if place != wrong:
                keep.add(pieces[place].span)
    drop: list[Span] = []
    for piece in pieces[stop:] if depth else ():
        depth += (piece.text == "{") - (piece.text == "}")
        if not depth:
            drop.append(piece.span)
            break
    return keep, drop


def _blanked(text: str, spans: list[Span]) -> str:
    characters = list(text)
    for span in spans:
        characters[span.start : span.end] = " " * (span.end - span.start)
    return "".join(characters)
