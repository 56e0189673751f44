"""The form of the call around a place, with the argument that is being written."""

from __future__ import annotations

from lsprotocol import types

from energyc.language.resolve.words import LAWS
from energyc.language.syntax import ast
from energyc.surfaces.lsp import words
from energyc.surfaces.lsp.documents import View
from energyc.surfaces.lsp.place import Bracket, Place, place_at

TRIGGERS = ("(", ",", "[")


def signature(view: View, position: types.Position) -> types.SignatureHelp | None:
    """The signature of the innermost call around a position whose form is known."""
    offset = view.offset(position)
    place = place_at(view.reading.pieces, view.reading.source.text, offset)
    if place.in_comment:
        return None
    for bracket in reversed(place.brackets):
        entry = _entry(view, place, bracket, offset) if bracket.name else None
        if entry is not None:
            return _help(entry, bracket)
    return None


def _entry(view: View, place: Place, bracket: Bracket, offset: int) -> words.Entry | None:
    """The function that the bracket calls, or the tensor that it indexes."""
    if place.word == "data" and bracket.sign == "(":
        return words.adapter(bracket.name)
    if place.word in ("param", "noise") and bracket.name in LAWS:
        return words.entries("laws").get(bracket.name)
    if place.word in words.BLOCKS or place.word == "preset":
        return None
    symbol = view.reading.symbols.visible(offset).get(bracket.name)
    if symbol is not None and isinstance(symbol.tree, ast.Function):
        arguments = ", ".join(name.text for name in symbol.tree.arguments)
        indices = ", ".join(name.text for name in symbol.tree.indices or ())
        form = f"{symbol.name}{f'[{indices}]' if indices else ''}({arguments})"
        return words.Entry(form, "A function of the spec.")
    return words.functions().get(bracket.name) or (
        words.entries("sets").get(bracket.name) if bracket.sign == "[" else None
    )


def _help(entry: words.Entry, bracket: Bracket) -> types.SignatureHelp:
    """The form with its parts: those of the bracket that is open."""
    opener = entry.form.find(bracket.sign)
    closer = entry.form.find({"(": ")", "[": "]"}.get(bracket.sign, ""), opener)
    inside = entry.form[opener + 1 : closer] if 0 <= opener < closer else ""
    parts = [part.strip() for part in inside.replace("|", ",").split(",") if part.strip()]
    parameters = [types.ParameterInformation(part) for part in parts]
    says = types.MarkupContent(types.MarkupKind.Markdown, entry.says)
    active = min(bracket.commas + bracket.bar, max(len(parts) - 1, 0))
    information = types.SignatureInformation(entry.form, says, parameters, active_parameter=active if parts else None)
    return types.SignatureHelp([information], active_signature=0, active_parameter=active if parts else None)
