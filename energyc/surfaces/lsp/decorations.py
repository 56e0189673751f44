"""What an editor shows beside a text: semantic tokens and inlay hints.

Tokens have the kind of each word, for colours that a grammar of regular expressions cannot give. Hints are what the
compiler found: dims of indices, sizes, classes of terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lsprotocol import types

from energyc.language.diagnostics import Span
from energyc.language.syntax import ast
from energyc.language.syntax.scan import RESERVED, Scanned
from energyc.surfaces.lsp.describe import appearance
from energyc.surfaces.lsp.documents import View
from energyc.surfaces.lsp.hover import term_of

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


# ---------------------------------------------------------------- inlay hints


#: The equations whose left sides bind indices of their own.
_INFERRED = ("let", "readout", "energy", "tie")


def hints(view: View, range: types.Range) -> list[types.InlayHint]:
    """The hints of a part of a document."""
    wanted = view.text.span(range)
    found = [*_dims(view), *_sizes(view), *_classes(view)]
    return [hint for offset, hint in found if wanted.start <= offset <= wanted.end]


def _hint(view: View, offset: int, label: str, tooltip: str, insert: bool = False) -> tuple[int, types.InlayHint]:
    place = view.text.position(offset)
    edits = [types.TextEdit(types.Range(place, place), label)] if insert else None
    kind = types.InlayHintKind.Type
    return offset, types.InlayHint(place, label, kind=kind, text_edits=edits, tooltip=tooltip)


def _dims(view: View) -> Iterator[tuple[int, types.InlayHint]]:
    """``let q[h, t]`` -> ``let q[h in H, t in T]``."""
    spec, reading = view.reading.spec, view.reading
    trees = ast.walk(spec) if spec is not None else iter(())
    for tree in trees:
        if isinstance(tree, ast.Equation) and tree.word in _INFERRED:
            for binder in tree.left.indices or ():
                over = reading.resolved.ranges.get(binder.name.span)
                if binder.dim is None and over is not None:
                    size = reading.size(over)
                    said = f"{over} = {size}" if size is not None else over
                    yield _hint(view, binder.name.span.end, f" in {over}", said, insert=tree.word != "tie")


def _sizes(view: View) -> Iterator[tuple[int, types.InlayHint]]:
    """The values of dims and consts that are computed."""
    network, spec = view.reading.network, view.reading.spec
    for tree in ast.walk(spec) if spec is not None and network is not None else ():
        if isinstance(tree, ast.Definition) and not isinstance(tree.value, ast.Number):
            size = view.reading.size(tree.name.text)
            if size is not None:
                yield _hint(view, tree.span.end, f" = {size}", f"{tree.name.text} = {size}")


def _classes(view: View) -> Iterator[tuple[int, types.InlayHint]]:
    """The class of each term that is not written as an energy."""
    for symbol in view.reading.symbols.declarations:
        term = term_of(view, symbol)
        if term is not None and symbol.kind == "force":
            left = symbol.tree.left.span if isinstance(symbol.tree, ast.Equation) else symbol.span
            yield _hint(view, left.end, f" ({term['class']})", "what `energyc check` says of the force")
