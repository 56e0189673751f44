"""Where the parser stopped, described by the words of the text rather than by the terminals of the grammar."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from lark import Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.parsers.lalr_parser_state import ParserState

from energyc.language.diagnostics import Source, Span
from energyc.language.syntax.scan import (
    BRACKETS,
    CLOSERS,
    OPENERS,
    RESERVED,
    SETTINGS_WORDS,
    STATEMENT_WORDS,
    Scanned,
    scan,
)

_BLOCKS = frozenset({"_LAYER", "_REPEAT"})
_DECLARATIONS = frozenset({"_NETWORK", "DEFINE", "_DATA", "INPUT", "_PARAM", "_NOISE", "_STATE"})
_EQUATIONS = frozenset({"EQUATION", "_FORCE", "_FN"})
_SETTINGS = frozenset({"_RELAX", "SETTINGS", "_PRESET"})
_HEADS = _BLOCKS | _DECLARATIONS | _EQUATIONS | _SETTINGS


@dataclass(frozen=True)
class Failure:
    """Where parsing failed.

    ``offset`` is the place, ``opened`` the start of the failing statement, ``state`` the parser's state, ``expected``
    the terminals that it would accept.
    """

    source: Source
    offset: int
    opened: int | None
    state: int
    expected: frozenset[str]

    @classmethod
    def of(cls, error: UnexpectedInput, source: Source) -> Failure:
        """The failure that an exception of Lark describes."""
        expected: set[str] = set()
        offset = error.pos_in_stream
        if isinstance(error, UnexpectedToken):
            expected = set(error.expected)
            offset = len(source.text) if error.token.type == "$END" else error.token.start_pos
        elif isinstance(error, UnexpectedCharacters):
            expected = set(error.allowed or ())
        assert offset is not None and error.state is not None
        state: ParserState[int] = error.state
        return cls(source, offset, _opened(state), state.position, frozenset(expected - {"WS", "COMMENT"}))

    @cached_property
    def pieces(self) -> tuple[Scanned, ...]:
        """The text as words and signs, without comments."""
        return scan(self.source)

    @cached_property
    def at(self) -> int:
        """The index in ``pieces`` of the unexpected piece; their number at the end of the text.

        Where the parser took the head of the next statement for a setting's key, that head is the place.
        """
        at = self._place(self.offset)
        head = at - 1
        taken = self.opened is not None and self._place(self.opened) < head
        return head if taken and self.pieces[head].first and opens_statement(self.pieces, head) else at

    def _place(self, offset: int) -> int:
        return bisect_right(self.pieces, offset, key=lambda piece: piece.span.end)

    @property
    def unexpected(self) -> Scanned | None:
        """The piece that the parser did not accept; None at the end of the text."""
        return self.pieces[self.at] if self.at < len(self.pieces) else None

    @property
    def before(self) -> Scanned | None:
        """The piece before it."""
        return self.pieces[self.at - 1] if self.at else None

    @property
    def after(self) -> Scanned | None:
        """The piece after it."""
        return self.pieces[self.at + 1] if self.at + 1 < len(self.pieces) else None

    @property
    def span(self) -> Span:
        """The place of the unexpected piece; where something is missing, just after the last word."""
        if self.unexpected is not None and self.kind != "end":
            return self.unexpected.span
        end = self.before.span.end if self.before else 0
        return Span(end, end)

    @cached_property
    def kind(self) -> str:
        """The class of the unexpected piece: ``word``, ``reserved``, ``number``, the sign itself, or ``end``.

        A statement ends at the end of the text, where the next one opens, and where its block is closed.
        """
        unexpected = self.unexpected
        if unexpected is None or opens_statement(self.pieces, self.at) or self._closes_block(unexpected):
            return "end"
        if unexpected.kind == "word":
            return "reserved" if unexpected.text in RESERVED else "word"
        return unexpected.text if unexpected.kind == "sign" else unexpected.kind

    def _closes_block(self, unexpected: Scanned) -> bool:
        return unexpected.text == "}" and not self.open_brackets and self.open_block is not None

    @cached_property
    def open_block(self) -> Scanned | None:
        """The brace of the innermost block around the failing statement."""
        braces = [piece for piece in _open(self.pieces[: self.at]) if piece.text == "{"]
        return braces[-1] if braces else None

    @cached_property
    def start(self) -> int:
        """The index in ``pieces`` where the failing statement starts; ``at`` itself outside a statement."""
        return self.at if self.opened is None else self._place(self.opened)

    @cached_property
    def open_brackets(self) -> tuple[Scanned, ...]:
        """The brackets of the failing statement that are open where it failed, the outermost first."""
        return _open(self.pieces[self.start : self.at])

    @property
    def opens_line(self) -> bool:
        """Whether an unreserved word starts a line here, outside brackets and after a complete expression."""
        unexpected = self.unexpected
        outside = self.kind == "word" and not self.open_brackets and not {"NAME", "NUMBER"} & self.expected
        return unexpected is not None and unexpected.first and outside

    @property
    def in_settings(self) -> bool:
        """Whether the place is between the braces of settings."""
        return any(piece.text == "{" for piece in self.open_brackets)


def _opened(state: ParserState[int]) -> int | None:
    """The offset of the reserved word that starts the current statement; None between the statements of a block."""
    braces = 0
    for value in reversed(state.value_stack):
        if isinstance(value, Token) and value.type in _HEADS:
            return None if value.type in _BLOCKS and braces else value.start_pos
        braces += isinstance(value, Token) and value.type == "LBRACE"
    return None


def opens_statement(pieces: tuple[Scanned, ...], at: int) -> bool:
    """Whether a statement starts there: with a reserved word at the start of a line or after a complete statement."""
    piece = pieces[at]
    if piece.text not in STATEMENT_WORDS:
        return False
    after = pieces[at + 1] if at + 1 < len(pieces) else None
    if after is None or not (after.kind == "word" or (after.text == "{" and piece.text in SETTINGS_WORDS)):
        return False
    before = pieces[at - 1] if at else None
    if piece.first or before is None:
        return True
    return before.text in "{})]" or (before.kind in ("word", "number") and before.text not in RESERVED)


def _open(pieces: tuple[Scanned, ...]) -> tuple[Scanned, ...]:
    stack: list[Scanned] = []
    for piece in pieces:
        if piece.text in OPENERS:
            stack.append(piece)
        elif piece.text in CLOSERS and stack and BRACKETS[stack[-1].text] == piece.text:
            stack.pop()
    return tuple(stack)
