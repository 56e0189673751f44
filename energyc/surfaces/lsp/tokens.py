"""The kind of each word, for colours that a grammar of regular expressions cannot give."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lsprotocol import types

from energyc.language.diagnostics import Span
from energyc.language.syntax.scan import RESERVED, Scanned
from energyc.surfaces.lsp.describe import appearance
from energyc.surfaces.lsp.documents import View

TYPES = (
    "namespace",
    "type",
    "class",
    "parameter",
    "variable",
    "property",
    "event",
    "function",
    "keyword",
    "comment",
    "number",
    "operator",
    "enumMember",
)
MODIFIERS = ("declaration", "readonly", "defaultLibrary", "modification")
LEGEND = types.SemanticTokensLegend(list(TYPES), list(MODIFIERS))
_OF_WORD: Mapping[str, str] = {
    "function": "function",
    "constant": "variable",
    "law": "class",
    "set": "class",
    "adapter": "class",
    "option": "property",
    "setting": "property",
    "block": "keyword",
    "field": "property",
    "value": "enumMember",
}
_OF_PIECE: Mapping[str, str] = {"comment": "comment", "number": "number", "sign": "operator"}
#: The signs that are brackets and commas, which have no colour of their own.
_PLAIN = frozenset("()[]{},.")

Token = tuple[Span, str, tuple[str, ...]]


def tokens(view: View) -> types.SemanticTokens:
    """The tokens of a text, each relative to the one before, as the protocol wants them."""
    data: list[int] = []
    line = character = 0
    for span, kind, modifiers in _tokens(view):
        place = view.text.position(span.start)
        moved = place.character - (character if place.line == line else 0)
        flags = sum(1 << MODIFIERS.index(modifier) for modifier in modifiers)
        data += [place.line - line, moved, view.text.units(span), TYPES.index(kind), flags]
        line, character = place.line, place.character
    return types.SemanticTokens(data)


def _tokens(view: View) -> Iterator[Token]:
    known = dict(_known(view))
    end = 0
    for piece in view.reading.pieces:
        if piece.span.start < end:  # the rest of a value with hyphens
            continue
        token = known.get(piece.span.start) or _of_piece(piece)
        if token is not None:
            end = token[0].end
            yield token


def _known(view: View) -> Iterator[tuple[int, Token]]:
    for word in view.reading.symbols.words:
        library = ("defaultLibrary",) if word.kind in ("function", "constant", "law", "set") else ()
        yield word.span.start, (word.span, _OF_WORD[word.kind], library)
    for occurrence in view.reading.symbols.occurrences:
        look = appearance(occurrence.symbol)
        role = {"declaration": "declaration", "write": "modification"}.get(occurrence.role, "")
        found = tuple(name for name in (role, look.modifier) if name)
        yield occurrence.span.start, (occurrence.span, look.token, found)


def _of_piece(piece: Scanned) -> Token | None:
    if piece.kind == "word":
        return (piece.span, "keyword", ()) if piece.text in RESERVED else None
    if piece.text in _PLAIN:
        return None
    return piece.span, _OF_PIECE[piece.kind], ()
