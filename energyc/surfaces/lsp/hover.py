"""What is said of a place: a name with its shape, class and gradient, a word of the language, the call around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from lsprotocol import types

from energyc.derivation.derive import Derivation, derive
from energyc.derivation.notation import Notation, left_side, of_network
from energyc.language.diagnostics import Span
from energyc.language.network import Network
from energyc.language.resolve.words import LAWS
from energyc.language.syntax import ast
from energyc.language.syntax.scan import RESERVED
from energyc.mathematics.ir import Node
from energyc.surfaces.lsp import words
from energyc.surfaces.lsp.describe import facts, title
from energyc.surfaces.lsp.documents import View
from energyc.surfaces.lsp.place import Bracket, Place, place_at
from energyc.surfaces.lsp.reading import Reading
from energyc.surfaces.lsp.symbols import Symbol, Word
from energyc.surfaces.lsp.ties import ties_of

#: A longer formula is left to ``energyc explain``.
LONGEST = 1200
_CLASSES = {
    "conservative": "conservative: its force is a gradient",
    "metric-descent": "moves by the gradient of its energies in a metric",
    "not-conservative": "not conservative: its Jacobian is not symmetric",
    "undecided": "undecided whether it is a gradient",
}


def hover(view: View, position: types.Position) -> types.Hover | None:
    """The name or word at a position; None where there is neither."""
    offset, symbols = view.offset(position), view.reading.symbols
    occurrence, word = symbols.at(offset), symbols.word_at(offset)
    if occurrence is not None and not (word is not None and word.span.start == offset):
        return _shown(view, occurrence.span, _of_symbol(view, occurrence.symbol))
    if word is not None and (entry := _of_word(view, word)) is not None:
        return _shown(view, word.span, entry.markdown)
    return _of_keyword(view, offset)


def _shown(view: View, span: Span, markdown: str) -> types.Hover:
    content = types.MarkupContent(types.MarkupKind.Markdown, markdown)
    return types.Hover(content, view.text.range(span))


def _of_symbol(view: View, symbol: Symbol) -> str:
    parts = [f"```energy\n{title(view.reading, symbol)}\n```"]
    if symbol.kind == "network" and view.reading.spec is not None:
        parts.append(view.reading.spec.description)
        parts += [f"as a whole {view.report['class']}", *view.report["notes"]] if view.report else []
    parts += facts(view.reading, symbol)
    parts += class_of(view, symbol)
    parts += [f"```energy\n{formula}\n```" for formula in formulas(view.reading, symbol)]
    return "\n\n".join(part for part in parts if part)


def class_of(view: View, symbol: Symbol) -> list[str]:
    """The class of a term, where the analysis has read this very text."""
    term = term_of(view, symbol)
    if term is None:
        return []
    said = [_CLASSES.get(term["class"], term["class"])]
    if term.get("potential") and symbol.kind != "energy":
        said.append(f"potential: `{term['potential']}`")
    return said + mended_by(term)


def mended_by(term: Mapping[str, Any]) -> list[str]:
    """The ties that would make a term a gradient."""
    return [
        f"with {' and '.join(tie.words for tie in ties_of(suggestion))} it would be a gradient"
        for suggestion in term.get("ties", ())
    ]


def term_of(view: View, symbol: Symbol) -> dict[str, Any] | None:
    """The entry of a term in the report of ``check``."""
    if symbol.kind not in ("energy", "force"):
        return None
    name = f"{symbol.owner}.{symbol.name}" if symbol.owner else symbol.name
    return next((term for term in view.report.get("terms", ()) if term["name"] == name), None)


#: Kinds of words, and the tables of the file that explain them.
_EXPLAINED = {"law": "laws", "set": "sets", "block": "statements"}


def _of_word(view: View, word: Word) -> words.Entry | None:
    match word.kind:
        case "law" | "set" | "block":
            return words.entries(_EXPLAINED[word.kind]).get(word.text)
        case "function":
            return words.functions().get(word.text) or words.entries("inside").get(word.text)
        case "constant":
            return words.constants().get(word.text)
        case "adapter":
            return words.adapter(word.text)
        case "setting":
            return words.setting(word.owner, word.text)
        case "value":
            return words.value(word.owner, word.text)
        case "field":
            return _of_field(view, word)
    return None


def _of_field(view: View, word: Word) -> words.Entry | None:
    schema = view.reading.schema(word.owner)
    if schema is None:
        return None
    name = f"{word.owner}.{word.text}"
    if (size := schema.sizes.get(word.text)) is not None:
        return words.Entry(f"{name} = {size}", "A size of the data.")
    if (field := schema.fields.get(word.text)) is None:
        return None
    values = f" in 0 to {field.classes - 1}" if field.classes is not None else ""
    return words.Entry(f"{name}[{', '.join(map(str, field.shape))}]", f"A field of the data: {field.kind}{values}.")


def _of_keyword(view: View, offset: int) -> types.Hover | None:
    for piece in view.reading.pieces:
        if piece.span.start <= offset <= piece.span.end and piece.kind == "word" and piece.text in RESERVED:
            entry = words.keyword(piece.text)
            return None if entry is None else _shown(view, piece.span, entry.markdown)
        if piece.span.start > offset:
            break
    return None


# ---------------------------------------------------------------- the formulas of gradients


@lru_cache(maxsize=8)
def _derived(reading: Reading, layer: str) -> tuple[Network, Derivation, Notation] | None:
    """The derivation of a spec without errors, or of a layer of it; None where that is not one network."""
    network = reading.network
    if network is not None and layer in network.layers:
        network = network.layers[layer].network
    if not reading.ok or network is None or network.blocks:
        return None
    return network, derive(network), of_network(network)


def formulas(reading: Reading, symbol: Symbol) -> list[str]:
    """The force on a state or the update of a param, in the spec's notation; nothing for other names."""
    if symbol.kind not in ("state", "param") or (derived := _derived(reading, symbol.owner)) is None:
        return []
    network, derivation, notation = derived
    if symbol.kind == "state":
        lines = _of_state(symbol.name, derivation, notation)
    else:
        lines = _of_param(symbol.name, network, derivation, notation)
    return [line if len(line) <= LONGEST else f"{line.partition(' = ')[0]}: see `energyc explain`" for line in lines]


def _of_state(name: str, derivation: Derivation, notation: Notation) -> list[str]:
    if name not in derivation.states:
        return []
    node = derivation.force[name]
    indices = notation.indices(derivation.states[name])
    return [f"{left_side(f'F_{name}', indices)} = {notation.text(node, indices)}"]


def _of_param(name: str, network: Network, derivation: Derivation, notation: Notation) -> list[str]:
    if name not in network.params:
        return []
    indices = notation.indices(network.params[name].node)
    return list(_slopes(name, indices, derivation, notation))


def _slopes(name: str, indices: Sequence[str], derivation: Derivation, notation: Notation) -> Iterator[str]:
    param = {name: derivation.params[name]}
    gradients: dict[str, Mapping[str, Node]] = {
        "E": derivation.energy_gradient,
        "(a.F)": derivation.vjp(derivation.user_forces, param),
        "C": derivation.cost_gradient,
    }
    for of, found in gradients.items():
        if name in found:
            yield f"d{of}/d{left_side(name, indices)} = {notation.text(found[name], indices)}"


# ---------------------------------------------------------------- signatures


SIGNATURE_TRIGGERS = ("(", ",", "[")


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
