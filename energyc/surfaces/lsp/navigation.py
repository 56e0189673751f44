"""Where a name is declared and where it is used; and its change everywhere at once."""

from __future__ import annotations

import re

from lsprotocol import types

from energyc.language.resolve.names import noun, with_article
from energyc.language.resolve.words import CONSTANTS, LANGUAGE_FUNCTIONS
from energyc.language.syntax.parser import LONGEST_NAME
from energyc.language.syntax.scan import RESERVED
from energyc.surfaces.lsp.documents import View
from energyc.surfaces.lsp.symbols import LOCAL, Occurrence, Symbol

_NAME = re.compile(r"[A-Za-z_][A-Za-z_0-9]*")
_KINDS = {
    "declaration": types.DocumentHighlightKind.Write,
    "write": types.DocumentHighlightKind.Write,
    "read": types.DocumentHighlightKind.Read,
}


class Refused(Exception):
    """A change of a name that would change what the spec means; the argument says why."""


def occurrence_at(view: View, position: types.Position) -> Occurrence | None:
    """The name at a position."""
    return view.reading.symbols.at(view.offset(position))


def definition(view: View, position: types.Position) -> types.Location | None:
    """Where the name at a position is declared."""
    found = occurrence_at(view, position)
    return None if found is None else types.Location(view.uri, view.text.range(found.symbol.span))


def references(view: View, position: types.Position, *, declaration: bool) -> list[types.Location]:
    """All places of the name at a position."""
    found = occurrence_at(view, position)
    return [
        types.Location(view.uri, view.text.range(occurrence.span))
        for occurrence in (view.reading.symbols.of(found.symbol) if found else ())
        if declaration or occurrence.role != "declaration"
    ]


def highlights(view: View, position: types.Position) -> list[types.DocumentHighlight]:
    """All places of the name at a position, apart by whether they read it."""
    found = occurrence_at(view, position)
    return [
        types.DocumentHighlight(view.text.range(occurrence.span), _KINDS[occurrence.role])
        for occurrence in (view.reading.symbols.of(found.symbol) if found else ())
    ]


def renamable(view: View, position: types.Position) -> types.PrepareRenamePlaceholder:
    """The name that a rename at a position would change. Raises Refused."""
    found = occurrence_at(view, position)
    if found is None:
        word = view.reading.symbols.word_at(view.offset(position))
        what = f"`{word.text}` is {with_article(word.kind)} and belongs to no spec" if word else "there is no name here"
        raise Refused(f"{what}: it cannot be renamed")
    return types.PrepareRenamePlaceholder(view.text.range(found.span), found.symbol.name)


def rename(view: View, position: types.Position, name: str) -> types.WorkspaceEdit:
    """The edits that call the name at a position otherwise. Raises Refused."""
    renamable(view, position)
    found = occurrence_at(view, position)
    assert found is not None
    if view.reading.parsed.diagnostics:
        raise Refused("the spec does not parse, so that a place of the name may be missed: mend that first")
    _check_name(name)
    if name != found.symbol.name:
        _check_clash(view, found.symbol, name)
    edits = [types.TextEdit(view.text.range(o.span), name) for o in view.reading.symbols.of(found.symbol)]
    return types.WorkspaceEdit(changes={view.uri: edits})


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise Refused(f"`{name}` is not a name: write letters, digits and `_`, and no digit first")
    if name in RESERVED:
        raise Refused(f"`{name}` is a reserved word")
    if name in LANGUAGE_FUNCTIONS or name in ("training", "batch", *CONSTANTS):
        raise Refused(f"`{name}` is a word of the language")
    if len(name) > LONGEST_NAME:
        raise Refused(f"a name has at most {LONGEST_NAME} characters")


def _check_clash(view: View, symbol: Symbol, name: str) -> None:
    """Refuse a name that another symbol has where both can be read."""
    for other in view.reading.symbols.declarations:
        if other is symbol or other.name != name or "network" in (symbol.kind, other.kind):
            continue
        apart = (symbol.kind == "preset") != (other.kind == "preset") or not _meet(view, symbol, other)
        if not apart and not _told_apart(view, symbol, other):
            line = view.text.position(other.span.start).line + 1
            raise Refused(f"`{name}` is {with_article(noun(other.kind))} already, in line {line}")


def _meet(view: View, symbol: Symbol, other: Symbol) -> bool:
    """Whether there is a place where both can be read.

    The argument of a function hides what is declared around it, which the function must not read then.
    """
    if symbol.kind == other.kind == "preset":
        return True
    for argument, declared in ((symbol, other), (other, symbol)):
        if argument.kind == "argument" and declared.kind not in LOCAL:
            places = (occurrence.span.start for occurrence in view.reading.symbols.of(declared))
            return any(argument.region.start <= place < argument.region.end for place in places)
    return symbol.region.start < other.region.end and other.region.start < symbol.region.end


def _told_apart(view: View, symbol: Symbol, other: Symbol) -> bool:
    """Whether one is an index and the other has brackets: ``m[m]``."""
    if (symbol.kind == "index") == (other.kind == "index"):
        return False
    named = other if symbol.kind == "index" else symbol
    if named.kind in LOCAL:
        return False
    return named.kind in ("fn", "energy", "force") or bool(view.reading.dims(named))
