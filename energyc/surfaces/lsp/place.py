"""The surroundings of a place in a text, by its words and signs alone.

The statement under the cursor is being typed and does not parse, so that neither a tree nor ``resolve`` knows it: its
brackets, and the indices and arguments that it binds, are told here. Every other name comes from ``symbols``.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property

from energyc.language.resolve.words import INDEXED, NORMALISERS
from energyc.language.syntax.scan import (
    BLOCK_WORDS,
    BRACKETS,
    CLOSERS,
    DECLARATION_WORDS,
    OPENERS,
    RESERVED,
    SETTINGS_WORDS,
    STATEMENT_WORDS,
    Scanned,
)

#: The statements whose braces hold settings.
SETTINGS = SETTINGS_WORDS | {"preset"}
DECLARATIONS = DECLARATION_WORDS
#: Behind these an operand follows.
_OPERATORS = frozenset("+-*/^=<>|,([{:~") | {"<=", ">=", "==", "!=", "in", "on", "and", "or", "not"}


@dataclass(frozen=True)
class Bracket:
    """An open bracket: its place among the pieces, its sign, the name in front of it, and how many commas follow it.

    ``bar`` says that a guard has begun in it.
    """

    at: int
    sign: str
    name: str
    commas: int
    bar: bool = False


@dataclass(frozen=True)
class Place:
    """The words before a place: ``pieces`` without the one that is being typed, which is ``prefix``."""

    pieces: tuple[Scanned, ...]
    prefix: str
    in_comment: bool
    first: bool

    @cached_property
    def head(self) -> int | None:
        """Where the statement around the place starts; None before any."""
        for at in range(len(self.pieces) - 1, -1, -1):
            if _opens(self.pieces, at):
                return at
        return None

    @property
    def statement(self) -> tuple[Scanned, ...]:
        """The pieces of the statement before the place."""
        return () if self.head is None else self.pieces[self.head :]

    @property
    def word(self) -> str:
        """The reserved word of the statement; empty between statements."""
        return "" if self.head is None or self._behind else self.pieces[self.head].text

    @cached_property
    def brackets(self) -> tuple[Bracket, ...]:
        """The brackets of the statement that are open, the outermost first."""
        stack: list[Bracket] = []
        for at, piece in enumerate(self.statement):
            if piece.text in OPENERS:
                stack.append(Bracket(at, piece.text, _name_before(self.statement, at), 0))
            elif piece.text in CLOSERS and stack and BRACKETS[stack[-1].sign] == piece.text:
                stack.pop()
            elif piece.text in (",", "|") and stack:
                top = stack[-1]
                stack[-1] = Bracket(top.at, top.sign, top.name, top.commas + (piece.text == ","), piece.text == "|")
        return tuple(stack)

    @property
    def innermost(self) -> Bracket | None:
        """The innermost open bracket."""
        return self.brackets[-1] if self.brackets else None

    @property
    def _behind(self) -> bool:
        """Whether the statement has ended: its braces are closed, or it is a block whose body the place is in."""
        head = self.statement[0].text
        if head in BLOCK_WORDS:
            return any(piece.text == "{" for piece in self.statement)
        return head in SETTINGS and self.statement[-1].text == "}" and not self.brackets

    @property
    def before(self) -> str:
        """The piece before the place, or before the word that is typed there; empty at the start."""
        return self.statement[-1].text if self.statement else ""

    def back(self, distance: int) -> str:
        """A piece of the statement before the place: ``back(1)`` is ``before``."""
        return self.statement[-distance].text if distance <= len(self.statement) else ""

    @property
    def starts_statement(self) -> bool:
        """Whether a statement may start at the place."""
        if self.head is None or not self.word:
            return self.first or self.before in ("{", "}", "")
        return self.first and not self.brackets and self.before not in _OPERATORS and len(self.statement) > 1

    @property
    def behind_equals(self) -> bool:
        """Whether the statement's own ``=`` stands before the place."""
        depth = 0
        for piece in self.statement:
            depth += (piece.text in OPENERS) - (piece.text in CLOSERS)
            if piece.text == "=" and not depth:
                return True
        return False

    @property
    def item(self) -> tuple[str, ...]:
        """The text behind the last comma outside of brackets: the item of a declaration that the place is in."""
        depth, start = 0, 1
        for at, piece in enumerate(self.statement):
            depth += (piece.text in OPENERS) - (piece.text in CLOSERS)
            if piece.text == "," and not depth:
                start = at + 1
        return tuple(piece.text for piece in self.statement[start:])

    @cached_property
    def indices(self) -> tuple[str, ...]:
        """The indices that are bound at the place: by the left side, and by the reductions around it."""
        bound: dict[str, None] = {}
        if self.word in ("relax", *SETTINGS, *DECLARATIONS):
            return ()
        statement = self.statement
        left = next((at for at, piece in enumerate(statement) if piece.text == "="), len(statement))
        for at in range(left):
            if statement[at].text == "[":
                bound |= dict.fromkeys(_slots(statement, at))
        for bracket in self.brackets:
            opener = bracket.at
            if bracket.sign == "(" and opener and statement[opener - 1].text == "]":
                opener = _opener_of(statement, opener - 1)
            elif bracket.sign != "[" or not bracket.bar:
                continue
            name = _name_before(statement, opener)
            if name in INDEXED and name not in NORMALISERS:
                bound |= dict.fromkeys(_slots(statement, opener))
        return tuple(bound)

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of the function that the place is in the body of."""
        if self.word != "fn":
            return ()
        names = [piece.text for piece in self.statement[1:] if piece.kind == "word"]
        left = next((at for at, piece in enumerate(self.statement) if piece.text == "="), len(self.statement))
        return tuple(dict.fromkeys(names[1 : len([p for p in self.statement[1:left] if p.kind == "word"])]))


def place_at(pieces: tuple[Scanned, ...], text: str, offset: int) -> Place:
    """The surroundings of an offset of a text; ``pieces`` are its own, with its comments."""
    before = pieces[: bisect_left(pieces, offset, key=lambda piece: piece.span.start)]
    last = before[-1] if before else None
    reached = last is not None and offset <= last.span.end
    in_comment = last is not None and last.kind == "comment" and reached
    typed = last if last is not None and last.kind in ("word", "number") and reached else None
    prefix = "" if typed is None else typed.text[: offset - typed.span.start]
    words = tuple(piece for piece in (before if typed is None else before[:-1]) if piece.kind != "comment")
    first = typed.first if typed is not None else last is None or "\n" in text[last.span.end : offset]
    return Place(words, prefix, in_comment, first)


def _opens(pieces: tuple[Scanned, ...], at: int) -> bool:
    """Whether a statement starts at a piece, as far as that can be told while it is typed."""
    piece = pieces[at]
    if piece.text not in STATEMENT_WORDS:
        return False
    after = pieces[at + 1].text if at + 1 < len(pieces) else ""
    before = pieces[at - 1].text if at else ""
    if after in (".", "=") or before == "." or (before in RESERVED and not piece.first):
        return False
    return piece.first or before in ("{", "}", ")", "]", "") or before not in _OPERATORS


def _name_before(pieces: tuple[Scanned, ...], at: int) -> str:
    """The name in front of an opening bracket, over a prime and the brackets between: ``sum`` of ``sum[d](``."""
    at -= 1
    while at >= 0 and pieces[at].text in ("'", "]"):
        at = _opener_of(pieces, at) - 1 if pieces[at].text == "]" else at - 1
    return pieces[at].text if at >= 0 and pieces[at].kind == "word" else ""


def _opener_of(pieces: tuple[Scanned, ...], closer: int) -> int:
    """The place of the bracket that a closing one pairs with."""
    depth = 0
    for at in range(closer, -1, -1):
        depth += (pieces[at].text in CLOSERS) - (pieces[at].text in OPENERS)
        if not depth:
            return at
    return 0


def _slots(pieces: tuple[Scanned, ...], opener: int) -> list[str]:
    """The plain indices of a bracket, up to its guard."""
    names: list[str] = []
    for at in range(opener + 1, len(pieces)):
        if pieces[at].text in ("]", "|"):
            break
        if pieces[at].kind == "word" and pieces[at - 1].text in ("[", ","):
            names.append(pieces[at].text)
    return names
