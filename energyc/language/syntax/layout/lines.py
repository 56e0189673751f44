"""Line breaks: one statement a line, the user's own breaks within it, long equations broken at + and -."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from energyc.language.syntax.layout.pieces import Piece, outside_brackets

WIDTH = 120
_BLOCKS = frozenset({"_LAYER", "_REPEAT"})


@dataclass(frozen=True)
class Line:
    """A line: its pieces, the comment at its end or alone, the number of blocks around it.

    ``head`` says that it starts a statement or closes a block, ``blank`` that an empty line precedes it.
    """

    pieces: tuple[Piece, ...]
    comment: Piece | None
    level: int
    head: bool
    blank: bool

    @property
    def width(self) -> int:
        """The characters of its code, without indentation and comment."""
        return sum(len(piece.text) + piece.gap for piece in self.pieces[1:]) + sum(len(p.text) for p in self.pieces[:1])


def lines_of(pieces: tuple[Piece, ...]) -> tuple[Line, ...]:
    """The lines of a spec in order."""
    lines = list(_leveled(list(_broken(pieces))))
    return tuple(part for place, line in enumerate(lines) for part in _parts(line, lines[place + 1 : place + 2]))


def _broken(pieces: tuple[Piece, ...]) -> Iterator[list[Piece]]:
    line: list[Piece] = []
    braces: list[bool] = []
    block = False
    for piece in pieces:
        closes_block = piece.kind == "RBRACE" and braces[-1]
        commented = bool(line) and line[-1].kind == "COMMENT"
        if line and (piece.head or closes_block or piece.breaks or commented or _opens_body(line, braces)):
            yield line
            line = []
        line.append(piece)
        block = piece.kind in _BLOCKS or (block and not piece.head)
        if piece.kind == "LBRACE":
            braces.append(block)
            block = False
        elif piece.kind == "RBRACE":
            braces.pop()
    yield line


def _opens_body(line: list[Piece], braces: list[bool]) -> bool:
    return line[-1].kind == "LBRACE" and bool(braces) and braces[-1]


def _leveled(broken: list[list[Piece]]) -> Iterator[Line]:
    level = 0
    opened: list[bool] = []
    after_opener = True
    block = False
    for pieces in broken:
        code = tuple(piece for piece in pieces if piece.kind != "COMMENT")
        comment = next((piece for piece in pieces if piece.kind == "COMMENT"), None)
        closes = bool(code) and code[0].kind == "RBRACE" and opened[-1]
        level -= closes
        inside = any(not is_block for is_block in opened)
        head = closes or (bool(code) and code[0].head)
        blank = pieces[0].breaks > 1 and not after_opener and not closes and (head or not code) and not inside
        yield Line(code, comment, level, head, blank)
        after_opener = False
        for piece in code:
            block = piece.kind in _BLOCKS or (block and not piece.head)
            if piece.kind == "LBRACE":
                opened.append(block)
                level += block
                after_opener, block = block, False
            elif piece.kind == "RBRACE":
                opened.pop()


def _parts(line: Line, following: list[Line]) -> Iterator[Line]:
    """The lines of a line: a long equation is broken before each of its terms."""
    goes_on = any(next_line.pieces and not next_line.head for next_line in following)
    cuts = _cuts(line) if line.head and not goes_on and line.width + 2 * line.level > WIDTH else []
    starts = [0, *cuts]
    for start, stop in zip(starts, [*cuts, len(line.pieces)], strict=True):
        last = stop == len(line.pieces)
        part = replace(line, pieces=line.pieces[start:stop], comment=line.comment if last else None)
        yield part if start == 0 else replace(part, head=False, blank=False)


def _cuts(line: Line) -> list[int]:
    """The places of the + and - that join the terms of an equation's right side."""
    behind_equals, cuts = False, []
    for place, piece in outside_brackets(line.pieces):
        if behind_equals and piece.kind in ("PLUS", "MINUS") and _joins(line.pieces, place):
            cuts.append(place)
        behind_equals = behind_equals or piece.kind == "EQUAL"
    return cuts if line.pieces[0].kind in ("EQUATION", "_FORCE", "_FN") else []


def _joins(pieces: tuple[Piece, ...], place: int) -> bool:
    return pieces[place - 1].kind in ("NAME", "NUMBER", "RPAR", "RSQB", "FIELD", "PRIME")
