"""The names that broken statements declare, told by their heads.

A statement that does not parse has no tree, so ``resolve`` cannot be asked about it. While someone types, that is the
statement under the cursor: without this its names would lose their colours, and vanish from completion.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from energyc.language.diagnostics import Span
from energyc.language.resolve.names import OF_STATES
from energyc.language.syntax import ast
from energyc.language.syntax.scan import CLOSERS, DECLARATION_WORDS, OPENERS, SETTINGS_WORDS, STATEMENT_WORDS, Scanned
from energyc.surfaces.lsp.symbols import Occurrence, Symbol, written

#: The statements that declare no name.
_NAMELESS = {*OF_STATES, *SETTINGS_WORDS, "network", "preset"}


def occurrences_unparsed(
    spec: ast.Spec | None, pieces: Sequence[Scanned], region: Span, known: Container[Span]
) -> Iterator[Occurrence]:
    """The names that only broken statements declare, there and where other statements read them.

    ``region`` is the whole text; ``known`` are the places of names that ``resolve`` told, and of words of the language.
    """
    declared: dict[str, Symbol] = {}
    for word, name in _declared(spec, pieces):
        symbol = Symbol(name.text, word, name.span, region)
        declared.setdefault(name.text, symbol)
        yield Occurrence(name.span, symbol, "declaration")
    states = written(spec)
    for tree in ast.walk(spec) if spec is not None else ():
        if isinstance(tree, ast.Name) and tree.text in declared and tree.span not in known:
            yield Occurrence(tree.span, declared[tree.text], "write" if tree.span in states else "read")


def _declared(spec: ast.Spec | None, pieces: Sequence[Scanned]) -> Iterator[tuple[str, Scanned]]:
    """The names that statements outside of the tree declare, each with the word of its statement."""
    parsed = {tree.span.start for tree in ast.walk(spec) if isinstance(tree, ast.Statement)} if spec else set()
    for place, piece in enumerate(pieces):
        if piece.first and piece.text in STATEMENT_WORDS - _NAMELESS and piece.span.start not in parsed:
            yield from ((piece.text, name) for name in _names_of_head(pieces, place))


def _names_of_head(pieces: Sequence[Scanned], place: int) -> Iterator[Scanned]:
    """The names that a statement declares, by its head: all of a declaration, the first one of an equation."""
    word, depth, expected = pieces[place].text, 0, True
    for piece in pieces[place + 1 :]:
        if piece.first and piece.text in STATEMENT_WORDS:
            return
        if piece.kind == "word" and expected and not depth and piece.text not in STATEMENT_WORDS:
            yield piece
            if word not in DECLARATION_WORDS or word == "data":
                return
        expected = piece.text == "," and not depth
        depth = max(depth + (piece.text in OPENERS) - (piece.text in CLOSERS), 0)
