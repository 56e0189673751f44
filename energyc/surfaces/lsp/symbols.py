"""The names of a text where they stand, as ``resolve`` found them.

``unparsed`` adds what ``resolve`` is never given: the names that the heads of statements that do not parse declare.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

from energyc.language.diagnostics import Span
from energyc.language.resolve import Declaration, References
from energyc.language.resolve.names import OF_STATES
from energyc.language.syntax import ast
from energyc.surfaces.lsp.vocabulary import Word

#: Editors call a declared name a symbol.
Symbol = Declaration
Role = Literal["declaration", "read", "write"]
#: The kinds that are bound in one equation.
LOCAL = ("index", "argument")


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
