"""Source text and places in it: spans are character offsets; lines and columns are computed when shown."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, order=True)
class Span:
    """The characters ``start <= i < end`` of a source."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The smallest span that covers both."""
        return Span(min(self.start, other.start), max(self.end, other.end))


@dataclass(frozen=True)
class Position:
    """A place in lines and columns from 1; a tab is one column."""

    line: int
    column: int


@dataclass(frozen=True)
class Source:
    """A spec's text and its name: a path as given, or ``<text>``."""

    name: str
    text: str

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(i + 1 for i, char in enumerate(self.text) if char == "\n")]

    def position(self, offset: int) -> Position:
        """Line and column of a character offset, which may be the end of the text."""
        line = bisect_right(self._starts, offset) - 1
        return Position(line + 1, offset - self._starts[line] + 1)

    def line(self, number: int) -> str:
        """The text of line ``number`` (from 1) without its newline."""
        start = self._starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : len(self.text) if end < 0 else end].rstrip("\r")

    def slice(self, span: Span) -> str:
        """The characters of a span."""
        return self.text[span.start : span.end]
