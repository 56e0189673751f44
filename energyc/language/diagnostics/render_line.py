"""A line of a source as a terminal shows it, with the cell of each character."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from itertools import accumulate

WIDEST = 140
_MARGIN = 30
_TAB = "    "
_DOTS = "…"


@dataclass(frozen=True)
class ShownLine:
    """Text to print; ``cells[i]`` is the cell where character i of the raw line starts, the last entry the end."""

    text: str
    cells: tuple[int, ...]
    pieces: tuple[str, ...]

    def place(self, column: int) -> int:
        """The cell of a character of the raw line (from 0); the end of the line is a legal place."""
        last = len(self.cells) - 1
        return self.cells[column] if column <= last else self.cells[last] + column - last

    def around(self, start: int, end: int) -> ShownLine:
        """The part of a long line around the characters ``start`` to ``end``; a short line as it is."""
        if self.cells[-1] <= WIDEST:
            return self
        first, last = start, start
        while first > 0 and self.place(start) - self.place(first) < _MARGIN:
            first -= 1
        while last < len(self.pieces) and self.place(last + 1) - self.place(first) < WIDEST - 2:
            last += 1
        head, tail = _DOTS * (first > 0), _DOTS * (last < len(self.pieces))
        shift = len(head) - self.place(first)
        limit = self.place(last) + shift
        cells = tuple(min(max(cell + shift, len(head)), limit) for cell in self.cells)
        return ShownLine(head + "".join(self.pieces[first:last]) + tail, cells, self.pieces)


def shown(raw: str) -> ShownLine:
    """A line with its tabs widened and its control characters escaped, so that no terminal interprets them."""
    pieces = tuple(_piece(character) for character in raw)
    return ShownLine("".join(pieces), tuple(accumulate(map(_width, pieces), initial=0)), pieces)


def escaped(text: str) -> str:
    """A text of several lines, each as :func:`shown` gives it."""
    return "\n".join(shown(line).text for line in text.split("\n"))


def _piece(character: str) -> str:
    if character == "\t":
        return _TAB
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Co"):
        return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{ord(character):04x}"
    return character


def _width(piece: str) -> int:
    return sum(_cells(character) for character in piece)


def _cells(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
