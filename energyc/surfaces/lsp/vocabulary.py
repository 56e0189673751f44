"""The words of the language and of its libraries where they stand in a text: functions, laws, settings, values."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

from energyc.language.diagnostics import Span
from energyc.language.resolve.words import CONSTANTS, LANGUAGE_FUNCTIONS
from energyc.language.syntax import ast

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
