"""Shipped specs, cut and mixed at random places: everything can be asked of the rest, and every place lies in it."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lsprotocol import types

from energyc.language.diagnostics import Span
from energyc.surfaces.lsp import completion, decorations, navigation
from energyc.surfaces.lsp.decorations import hints
from energyc.surfaces.lsp.diagnostics import actions, formatted, published
from energyc.surfaces.lsp.documents import View
from energyc.surfaces.lsp.hover import hover, signature
from energyc.surfaces.lsp.outline import folds, symbols
from energyc.surfaces.lsp.reading import INTERNAL
from tests.lsp.texts import SPECS, applied, view_of

SEED = int(os.environ["ENERGYC_SEED"])
TEXTS = [path.read_text(encoding="utf-8") for path in sorted(SPECS.glob("*.energy"))]
#: What people leave behind while they type.
CRUMBS = [
    "(",
    "[",
    "{",
    ")",
    "]",
    "}",
    "|",
    "=",
    ",",
    "'",
    ".",
    "let ",
    "state ",
    "layer a {",
    "sum[",
    "é𝛼",
    "\r\n",
    "#",
    "0x",
]


def cut(generator: random.Random) -> str:
    """A shipped spec that someone works on."""
    text = generator.choice(TEXTS)
    for _ in range(generator.randint(1, 3)):
        place = generator.randint(0, len(text))
        match generator.randrange(4):
            case 0:
                text = text[:place]
            case 1:
                text = text[:place] + text[place + generator.randint(1, 60) :]
            case 2:
                text = text[:place] + generator.choice(CRUMBS) + text[place:]
            case 3:
                other = generator.choice(TEXTS)
                start = generator.randint(0, len(other))
                text = text[:place] + other[start : start + generator.randint(1, 60)] + text[place:]
    return text


def _spans(value: Any) -> Iterator[types.Range]:
    """All ranges in an answer."""
    if isinstance(value, types.Range):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _spans(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _spans(item)
    elif hasattr(value, "__attrs_attrs__"):
        for attribute in value.__attrs_attrs__:
            yield from _spans(getattr(value, attribute.name))


def _inside(view: View, answer: Any) -> None:
    for found in _spans(answer):
        span = view.text.span(found)
        assert view.text.range(span) == found, f"{found} lies outside of the text"


def _ask(view: View, position: types.Position) -> None:
    at_a_place: tuple[Callable[[View, types.Position], Any], ...] = (
        completion.complete,
        hover,
        navigation.definition,
        navigation.highlights,
        signature,
    )
    for ask in at_a_place:
        _inside(view, ask(view, position))
    _inside(view, navigation.references(view, position, declaration=True))
    try:
        navigation.renamable(view, position)
        _inside(view, navigation.rename(view, position, "fresh_name"))
    except navigation.Refused as refused:
        assert str(refused)
    _inside(view, actions(view, types.Range(position, position)))


def _check_tokens(view: View) -> None:
    data = decorations.tokens(view).data
    line = character = 0
    end = -1
    for moved, across, length, kind, _ in zip(*(data[k::5] for k in range(5)), strict=True):
        line, character = line + moved, across if moved else character + across
        start = view.text.offset(types.Position(line, character))
        assert start >= end and length > 0 and kind < len(decorations.TYPES)
        end = view.text.offset(types.Position(line, character + length))


@pytest.mark.abridged(every=5)
@pytest.mark.parametrize("case", range(40))
def test_everything_can_be_asked_of_a_cut_spec(case: int) -> None:
    generator = random.Random(f"{SEED} {case}")
    text = cut(generator)
    print(f"seed {SEED}, case {case}\n{text}")
    view = view_of(text, generator.choice(["utf-8", "utf-16", "utf-32"]))
    assert INTERNAL not in [diagnostic.code for diagnostic in view.reading.diagnostics]
    if view.reading.parsed.diagnostics:
        assert INTERNAL not in [diagnostic.code for diagnostic in view.reading.resolved.diagnostics]
    whole = view.text.range(Span(0, len(text)))
    for answer in (published(view), symbols(view), hints(view, whole), actions(view, whole), formatted(view)):
        _inside(view, answer)
    for fold in folds(view):
        assert 0 <= fold.start_line < fold.end_line <= whole.end.line
    _check_tokens(view)
    for _ in range(8):
        _ask(view, view.text.position(generator.randint(0, len(text))))
    assert view_of(applied(view, formatted(view))).reading.ok == view.reading.ok


@pytest.mark.abridged(every=2)
@pytest.mark.parametrize("case", range(20))
def test_a_rename_keeps_the_meaning(case: int) -> None:
    """A spec in which a name is changed everywhere reads the same but for the name."""
    generator = random.Random(f"{SEED} rename {case}")
    text = generator.choice(TEXTS)
    view = view_of(text)
    symbol = generator.choice([s for s in view.reading.symbols.declarations if s.kind != "network"])
    print(f"seed {SEED}, case {case}: {symbol.kind} {symbol.name}")
    edit = navigation.rename(view, view.text.position(symbol.span.start), "fresh_name")
    assert edit.changes is not None
    (edits,) = edit.changes.values()
    again = view_of(applied(view, list(edits)))
    assert again.reading.ok, [d.message for d in again.reading.diagnostics]
    before, after = view.reading.symbols.occurrences, again.reading.symbols.occurrences
    assert [o.role for o in before] == [o.role for o in after]
    renamed = ["fresh_name" if o.symbol is symbol else o.symbol.name for o in before]
    assert renamed == [o.symbol.name for o in after]
    back = navigation.rename(
        again, again.text.position(after[before.index(view.reading.symbols.of(symbol)[0])].span.start), symbol.name
    )
    assert back.changes is not None
    assert applied(again, list(next(iter(back.changes.values())))) == text
