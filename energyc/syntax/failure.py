"""Where the parser stopped, told in the terms of the text and never in those of the grammar."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from energyc.diagnostics import Source, Span
from energyc.syntax.scan import BRACKETS, CLOSERS, OPENERS, RESERVED, STATEMENT_WORDS, Scanned, scan


@dataclass(frozen=True)
class Failure:
    """A text, the offset at which it stopped being a spec, the state of the parser there and what it would have taken."""

    source: Source
    offset: int
    state: int
    expected: frozenset[str]

    @classmethod
    def of(cls, error: UnexpectedInput, source: Source) -> Failure:
        """What an exception of Lark says."""
        expected: set[str] = set()
        offset = error.pos_in_stream
        if isinstance(error, UnexpectedToken):
            expected = set(error.expected)
            offset = len(source.text) if error.token.type == "$END" else error.token.start_pos
        elif isinstance(error, UnexpectedCharacters):
            expected = set(error.allowed or ())
        assert offset is not None and error.state is not None
        state = error.state.position  # type: ignore[attr-defined]
        return cls(source, offset, state, frozenset(expected - {"WS", "COMMENT"}))

    @cached_property
    def pieces(self) -> tuple[Scanned, ...]:
        """The text as words and signs, without comments."""
        return scan(self.source)

    @cached_property
    def at(self) -> int:
        """The place in ``pieces`` of what could not be taken; their number at the end of the text."""
        ends = [piece.span.end for piece in self.pieces]
        return bisect_right(ends, self.offset)

    @property
    def found(self) -> Scanned | None:
        """What could not be taken; None at the end of the text."""
        return self.pieces[self.at] if self.at < len(self.pieces) else None

    @property
    def before(self) -> Scanned | None:
        """What stands before it."""
        return self.pieces[self.at - 1] if self.at else None

    @property
    def after(self) -> Scanned | None:
        """What stands after it."""
        return self.pieces[self.at + 1] if self.at + 1 < len(self.pieces) else None

    @property
    def span(self) -> Span:
        """The place of what could not be taken; at the end of the text, just behind the last word."""
        if self.found is not None:
            return self.found.span
        end = self.before.span.end if self.before else 0
        return Span(end, end)

    @property
    def kind(self) -> str:
        """What could not be taken, as a class: ``word``, ``reserved``, ``number``, ``end`` or the sign itself."""
        if self.found is None:
            return "end"
        if self.found.kind == "word":
            return "reserved" if self.found.text in RESERVED else "word"
        return self.found.text if self.found.kind == "sign" else self.found.kind

    @cached_property
    def start(self) -> int:
        """The place in ``pieces`` where the failing statement opens."""
        at = min(self.at, len(self.pieces) - 1)
        while at > 0 and not (at < self.at and opens_statement(self.pieces, at)):
            at -= 1
        return max(at, 0)

    @cached_property
    def open_brackets(self) -> tuple[Scanned, ...]:
        """The brackets of the failing statement that are open where it failed, the outermost first."""
        return _open(self.pieces[self.start : self.at])


def opens_statement(pieces: tuple[Scanned, ...], at: int) -> bool:
    """Whether a word opens a statement there: a reserved one, at the head of its line or behind a finished statement."""
    piece = pieces[at]
    if piece.text not in STATEMENT_WORDS:
        return False
    after = pieces[at + 1] if at + 1 < len(pieces) else None
    if after is None or not (after.kind == "word" or (after.text == "{" and piece.text in ("relax", "nudge", "train"))):
        return False
    before = pieces[at - 1] if at else None
    if piece.first or before is None:
        return True
    return before.text in "{})]" or before.kind in ("word", "number") and before.text not in RESERVED


def _open(pieces: tuple[Scanned, ...]) -> tuple[Scanned, ...]:
    stack: list[Scanned] = []
    for piece in pieces:
        if piece.text in OPENERS:
            stack.append(piece)
        elif piece.text in CLOSERS and stack and BRACKETS[stack[-1].text] == piece.text:
            stack.pop()
    return tuple(stack)
