"""The names of a text and the words of the language where they stand.

Names are told as ``resolve`` found them, and as the heads of broken statements declare them.

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
from energyc.language.resolve.words import CONSTANTS, LANGUAGE_FUNCTIONS
from energyc.language.syntax import ast
from energyc.language.syntax.scan import CLOSERS, DECLARATION_WORDS, OPENERS, SETTINGS_WORDS, STATEMENT_WORDS, Scanned

#: What stands in expressions as functions do.
_FUNCTIONS = LANGUAGE_FUNCTIONS | {"training", "batch"}


@dataclass(frozen=True)
class Word:
    """A word of the language, or of a library of it, where it stands.

    ``kind`` is function, constant, law, set, adapter, option, field, block, setting or value; ``owner`` the block of a
    setting, the setting of a value, the binding of an option or field.
    """

    span: Span
    kind: str
    text: str
    owner: str = ""


def words_of(spec: ast.Spec, names: Container[Span]) -> Iterator[Word]:
    """The words of a tree; ``names`` are the places of the names that the spec declares or reads."""
    trees = ast.walk(spec)
    return (word for tree in trees for word in _words(tree, names) if word.span not in names)


def _words(tree: ast.Tree, names: Container[Span]) -> Iterator[Word]:
    """The words of one piece of a tree, without those of the pieces inside it."""
    match tree:
        case ast.Apply(name=name, arguments=arguments):
            if name.text in CONSTANTS or name.text in _FUNCTIONS:
                yield _word(name, "constant" if name.text in CONSTANTS else "function")
            keywords = (argument.keyword for argument in arguments or ())
            yield from (_word(keyword, "option", name.text) for keyword in keywords if keyword is not None)
        case ast.Field(owner=owner, field=field):
            yield _word(field, "field", owner.text)
        case ast.Law(name=name):
            yield _word(name, "law")
        case ast.NamedSet(name=name):
            yield _word(name, "set")
        case ast.Data(adapter=adapter, pairs=pairs):
            yield _word(adapter, "adapter")
            for pair in pairs:
                yield _word(pair.key[0], "option", adapter.text)
                yield from _values(pair.value, adapter.text)
        case ast.Settings(word=word, pairs=pairs):
            for pair in pairs:
                yield from _setting(pair, word, pair.key)
        case ast.Preset(pairs=pairs):
            for pair in pairs:
                yield from _of_preset(pair, names)


def _word(name: ast.Name, kind: str, owner: str = "") -> Word:
    return Word(name.span, kind, name.text, owner)


def _of_preset(pair: ast.Pair, names: Container[Span]) -> Iterator[Word]:
    """``N = 8``, ``relax.steps = 3``, ``block.relax.steps = 3``, where ``block`` is a layer."""
    key = pair.key[1:] if len(pair.key) > 1 and pair.key[0].span in names else pair.key
    if len(pair.key) == 1:
        yield from _values(pair.value, key[0].text)
    else:
        yield _word(key[0], "block")
        yield from _setting(pair, key[0].text, key[1:])


def _setting(pair: ast.Pair, block: str, key: Sequence[ast.Name]) -> Iterator[Word]:
    if key:
        yield _word(key[0], "setting", block)
        yield from _values(pair.value, f"{block}.{key[0].text}")


def _values(value: ast.Value, owner: str) -> Iterator[Word]:
    match value:
        case ast.WordValue(span=span, word=word):
            yield Word(span, "value", word, owner)
        case ast.CallValue(span=span, word=word, pairs=pairs):
            yield Word(Span(span.start, span.start + len(word)), "value", word, owner)
            for pair in pairs:
                yield _word(pair.key[0], "option", word)
                yield from _values(pair.value, f"{word}.{pair.path}")
        case ast.ListValue(items=items):
            for item in items:
                yield from _values(item, owner)


# ---------------------------------------------------------------- names

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
