"""The names of a text: what each is declared as, and where it stands."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

from energyc.language.diagnostics import Span
from energyc.language.syntax import ast

Role = Literal["declaration", "read", "write"]
#: The kinds that are bound in one equation.
LOCAL = ("index", "argument")


@dataclass(frozen=True, eq=False)
class Symbol:
    """A declared name, a bound index or the argument of a function.

    ``kind`` is the word of its statement, or ``network``, ``preset``, ``step``, ``index``, ``argument``; ``span`` where
    it is declared, ``region`` where it can be read, ``tree`` what declares it (None where that does not parse).
    """

    name: str
    kind: str
    span: Span
    region: Span
    tree: ast.Tree | None = None
    owner: str = ""


@dataclass(frozen=True)
class Occurrence:
    """A symbol where it stands."""

    span: Span
    symbol: Symbol
    role: Role


@dataclass(frozen=True)
class Word:
    """A word of the language, or of a library of it, where it stands.

    ``kind`` is function, constant, law, set, adapter, option, field, setting or value; ``owner`` the block of a
    setting, the setting of a value, the binding of an option or field.
    """

    span: Span
    kind: str
    text: str
    owner: str = ""


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
