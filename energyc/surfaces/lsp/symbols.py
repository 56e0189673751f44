"""The names of a text where they stand: as ``resolve`` found them, and as the heads of broken statements declare them.

A statement that does not parse has no tree, so ``resolve`` cannot be asked about it. While someone types, that is the
statement under the cursor: without its names they would lose their colours, and vanish from completion.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

from energyc.language.diagnostics import Span
from energyc.language.resolve import Declaration, References
from energyc.language.resolve.names import OF_STATES
from energyc.language.syntax import ast
from energyc.language.syntax.scan import CLOSERS, DECLARATION_WORDS, OPENERS, SETTINGS_WORDS, STATEMENT_WORDS, Scanned
from energyc.surfaces.lsp.vocabulary import Word

#: Editors call a declared name a symbol.
Symbol = Declaration
Role = Literal["declaration", "read", "write"]
#: The kinds that are bound in one equation.
LOCAL = ("index", "argument")
#: The statements that declare no name.
_NAMELESS = {*OF_STATES, *SETTINGS_WORDS, "network", "preset"}


@dataclass(frozen=True)
class Occurrence:
    """A symbol where it stands."""

    span: Span
    symbol: Symbol
    role: Role


Placed = TypeVar("Placed", Occurrence, Word)


@dataclass(frozen=True)
class Symbols:
    """The symbols of a text: where each stands, and the words of the language among them; both in order."""

    occurrences: tuple[Occurrence, ...]
    words: tuple[Word, ...]

    def at(self, offset: int) -> Occurrence | None:
        """The symbol at a place; its end counts too."""
        return _at(self.occurrences, self._starts, offset)

    def word_at(self, offset: int) -> Word | None:
        """The word of the language at a place."""
        return _at(self.words, self._word_starts, offset)

    def of(self, symbol: Symbol) -> list[Occurrence]:
        """All places of a symbol."""
        return [occurrence for occurrence in self.occurrences if occurrence.symbol is symbol]

    @cached_property
    def declarations(self) -> tuple[Symbol, ...]:
        """All symbols, in the order in which they are declared."""
        return tuple(occurrence.symbol for occurrence in self.occurrences if occurrence.role == "declaration")

    def visible(self, offset: int) -> dict[str, Symbol]:
        """The declared names that can be read at a place, the inner one where two have a name."""
        outer_first = sorted(self.declarations, key=lambda symbol: symbol.region.start - symbol.region.end)
        return {
            symbol.name: symbol
            for symbol in outer_first
            if symbol.kind not in LOCAL and symbol.region.start <= offset <= symbol.region.end
        }

    @cached_property
    def _starts(self) -> list[int]:
        return [occurrence.span.start for occurrence in self.occurrences]

    @cached_property
    def _word_starts(self) -> list[int]:
        return [word.span.start for word in self.words]


def _at(items: tuple[Placed, ...], starts: list[int], offset: int) -> Placed | None:
    place = bisect_right(starts, offset)
    for item in reversed(items[max(place - 2, 0) : place]):
        if item.span.start <= offset <= item.span.end:
            return item
    return None


def occurrences_of(spec: ast.Spec | None, references: References) -> Iterator[Occurrence]:
    """The places of every name that ``resolve`` knows."""
    states = written(spec)
    for span, symbol in references.declarations.items():
        yield Occurrence(span, symbol, "declaration")
    for span, declared in references.places.items():
        if span not in references.declarations:
            yield Occurrence(span, references.declarations[declared], "write" if span in states else "read")


def written(spec: ast.Spec | None) -> frozenset[Span]:
    """The places of the states that an equation gives a value, a force or a motion."""
    trees = ast.walk(spec) if spec is not None else iter(())
    equations = (tree for tree in trees if isinstance(tree, ast.Equation) and tree.word in (*OF_STATES, "force"))
    return frozenset(equation.left.name.span for equation in equations)


# ---------------------------------------------------------------- of statements that do not parse


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
