"""The completions at a place: by the words before it, and the names that can be read there."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lsprotocol import types

from energyc.language.diagnostics import Span
from energyc.language.resolve.names import OF_STATES, TENSORS
from energyc.language.resolve.words import INDEXED, PARAM_SETS, REDUCTIONS, STATE_SETS
from energyc.language.syntax import ast
from energyc.language.syntax.scan import CLOSERS, OPENERS
from energyc.surfaces.lsp import words
from energyc.surfaces.lsp.describe import appearance, detail
from energyc.surfaces.lsp.documents import View
from energyc.surfaces.lsp.place import SETTINGS, Place, place_at
from energyc.surfaces.lsp.reading import Reading
from energyc.surfaces.lsp.symbols import Symbol

Kind = types.CompletionItemKind
TRIGGERS = (".", "[", "(", ",", "=", "~", ":", "|", " ")
#: The kinds of names that an equation may read.
READABLE = (*sorted(TENSORS), "dim", "const", "fn", "layer")
_WORD = re.compile(r"[A-Za-z_0-9]*$")
#: A value may have hyphens.
_VALUE = re.compile(r"[A-Za-z_0-9]*(?:-[A-Za-z_0-9]*)*$")


@dataclass(frozen=True)
class Choice:
    """One thing to write; ``rank`` puts the likelier ones first."""

    label: str
    kind: Kind
    detail: str = ""
    says: str = ""
    rank: int = 5
    snippet: str = ""


def complete(view: View, position: types.Position) -> types.CompletionList:
    """The completions at a position."""
    offset = view.offset(position)
    place = place_at(view.reading.pieces, view.reading.source.text, offset)
    if place.in_comment or (place.prefix and place.prefix[0].isdigit()):
        return types.CompletionList(is_incomplete=False, items=[])
    before = view.text.content[max(offset - 200, 0) : offset]
    in_value = place.word in SETTINGS and place.before in ("=", "-", "[", ",")
    prefix = (_VALUE if in_value else _WORD).search(before)
    start = offset - len(prefix.group()) if prefix else offset
    target = view.text.range(Span(start, offset))
    chosen: dict[str, Choice] = {}
    for choice in _choices(view.reading, place, offset):
        chosen.setdefault(choice.label, choice)
    items = [_item(choice, target, view.snippets) for choice in chosen.values()]
    return types.CompletionList(is_incomplete=False, items=items)


def _item(choice: Choice, target: types.Range, snippets: bool) -> types.CompletionItem:
    snippet = choice.snippet if snippets else ""
    return types.CompletionItem(
        label=choice.label,
        kind=choice.kind,
        detail=choice.detail or None,
        documentation=types.MarkupContent(types.MarkupKind.Markdown, choice.says) if choice.says else None,
        sort_text=f"{choice.rank}{choice.label}",
        text_edit=types.TextEdit(target, snippet or choice.label),
        insert_text_format=types.InsertTextFormat.Snippet if snippet else types.InsertTextFormat.PlainText,
    )


def _choices(reading: Reading, place: Place, offset: int) -> Iterator[Choice]:
    if place.starts_statement:
        yield from _entries(words.entries("statements"), Kind.Keyword)
    if place.starts_statement or not place.word:
        return
    names = _Names(reading, offset)
    match place.word:
        case "relax" | "nudge" | "train" | "preset":
            yield from _in_settings(reading, place, names)
        case "data":
            yield from _in_data(place, names)
        case "dim" | "const":
            yield from _in_formula(reading, place, names)
        case "clamp" | "target":
            yield from _in_input(reading, place, names)
        case "param" | "state" | "noise":
            yield from _in_declaration(reading, place, names)
        case "layer" | "network":
            return
        case "repeat":
            yield from names.of("dim")
        case _:
            yield from _in_equation(reading, place, names)


def _entries(entries: Mapping[str, words.Entry], kind: Kind, rank: int = 5) -> Iterator[Choice]:
    for word, entry in entries.items():
        yield Choice(word, kind, entry.form, entry.says, rank)


class _Names:
    """The names that can be read at a place, as choices."""

    def __init__(self, reading: Reading, offset: int) -> None:
        self.reading = reading
        self.symbols = reading.symbols.visible(offset)

    def of(self, *kinds: str, rank: int = 5) -> Iterator[Choice]:
        """Those of some kinds."""
        for symbol in self.symbols.values():
            if symbol.kind in kinds:
                yield self.choice(symbol, rank)

    def choice(self, symbol: Symbol, rank: int = 5) -> Choice:
        """A name with its shape."""
        return Choice(symbol.name, appearance(symbol).completion, detail(self.reading, symbol), "", rank)


# ---------------------------------------------------------------- settings


def _in_settings(reading: Reading, place: Place, names: _Names) -> Iterator[Choice]:
    braces = [bracket for bracket in place.brackets if bracket.sign == "{"]
    if not braces:
        yield from names.of("dim") if place.before == "in" else ()
        return
    key, behind = _pair(place)
    block, path = _block(place.word, key, names)
    called = place.innermost.name if place.innermost and place.innermost.sign == "(" else ""
    if called and place.before in ("(", ","):
        for keyword in words.keywords_of(block, path[0] if path else "", called):
            yield Choice(keyword, Kind.Property, called)
    elif called:
        yield from names.of("readout", "target", "metric", "dim", "const")
    elif behind:
        yield from _values(block, path, names, place)
    elif place.before == ".":
        yield from _owners(reading, block, path, names)
    elif place.before in ("{", ","):
        yield from _keys(place.word, names)


def _pair(place: Place) -> tuple[list[str], bool]:
    """The names of the key that the place is in or behind, and whether the place is behind its ``=``."""
    brace = max(bracket.at for bracket in place.brackets if bracket.sign == "{")
    depth, key, behind = 0, list[str](), False
    for piece in place.statement[brace + 1 :]:
        depth += (piece.text in OPENERS) - (piece.text in CLOSERS)
        if depth == 0 and piece.text == ",":
            key, behind = [], False
        elif piece.text == "=":
            behind = True
        elif depth == 0 and piece.kind == "word" and not behind:
            key.append(piece.text)
    return key, behind


def _block(word: str, key: list[str], names: _Names) -> tuple[str, list[str]]:
    """The block of a key and the rest of it: of a preset the first names say which."""
    if word != "preset":
        return word, key
    if key and key[0] in names.symbols and names.symbols[key[0]].kind == "layer":
        key = key[1:]
    return (key[0], key[1:]) if key and key[0] in words.BLOCKS else ("", key)


def _keys(word: str, names: _Names) -> Iterator[Choice]:
    if word == "preset":
        yield from names.of("dim", "const", "layer")
        for block in words.BLOCKS:
            yield Choice(block, Kind.Module, "settings", words.entries("statements")[block].says)
    for name in words.settings(word):
        entry = words.setting(word, name)
        yield Choice(name, Kind.Property, word, entry.says if entry else "", snippet=f"{name} = $0")


def _owners(reading: Reading, block: str, path: list[str], names: _Names) -> Iterator[Choice]:
    """The completions behind a dot in a key: the settings of a block, or the states or params that a setting is for."""
    if not path:
        for name in words.settings(block) if block else words.BLOCKS:
            entry = words.setting(block, name)
            yield Choice(name, Kind.Property, block, entry.says if entry else "")
        return
    row = words.settings(block).get(path[0])
    if row is not None and row.owner:
        yield from (names.choice(s) for s in reading.symbols.declarations if s.kind == row.owner)


def _values(block: str, path: list[str], names: _Names, place: Place) -> Iterator[Choice]:
    if path:
        for word, entry in words.values(block, path[0]).items():
            yield Choice(word, Kind.EnumMember, entry.form if entry.form != word else "", entry.says, 1)
        if block == "train" and path[0] in ("metrics", "best"):
            yield from names.of("metric", rank=0)
    yield from names.of("dim", "const", rank=7)


# ---------------------------------------------------------------- declarations


def _in_data(place: Place, names: _Names) -> Iterator[Choice]:
    if not place.brackets:
        if place.before == "=":
            yield from _entries(words.adapters(), Kind.Class)
        return
    if place.before == "=":
        yield from names.of("dim", "const")
    elif place.before in ("(", ","):
        for option in words.options_of(place.brackets[0].name):
            yield Choice(option, Kind.Property, place.brackets[0].name, snippet=f"{option} = $0")


def _in_formula(reading: Reading, place: Place, names: _Names) -> Iterator[Choice]:
    if place.before == ".":
        yield from _fields(reading, place.back(2), sizes=True)
    elif place.behind_equals and place.item[1:2] == ("=",):
        yield from names.of("dim", "const", "data")
        if place.word == "const":
            yield from (Choice(name, Kind.Function) for name in ("exp", "log", "sqrt", "abs", "tanh", "sin", "cos"))


def _fields(reading: Reading, binding: str, *, sizes: bool = False) -> Iterator[Choice]:
    """The fields of a data binding, or its sizes."""
    schema = reading.schema(binding)
    if schema is None:
        return
    if sizes:
        yield from (Choice(name, Kind.Constant, str(size)) for name, size in schema.sizes.items())
        return
    for name, field in schema.fields.items():
        shape = f"[{', '.join(map(str, field.shape))}]" if field.shape else "one number"
        values = f", integers below {field.classes}" if field.classes is not None else ""
        yield Choice(name, Kind.Field, f"{shape}{values}")


def _in_input(reading: Reading, place: Place, names: _Names) -> Iterator[Choice]:
    if place.innermost is not None or place.before == ":":
        yield from names.of("dim")
    elif place.before == ".":
        yield from _fields(reading, place.back(2))
    elif place.before == "=":
        yield from names.of("data")


def _in_declaration(reading: Reading, place: Place, names: _Names) -> Iterator[Choice]:
    bracket, item = place.innermost, place.item
    if bracket is not None and (bracket.sign == "(" or place.statement[bracket.at - 1].text == "in"):
        yield from names.of("const", "dim")
    elif bracket is not None:
        yield from names.of("dim")
    elif place.before == "~":
        laws = words.entries("laws")
        yield from _entries({n: laws[n] for n in ("normal", "uniform")} if place.word == "noise" else laws, Kind.Class)
    elif place.before in ("in", "and"):
        sets = PARAM_SETS if place.word == "param" else STATE_SETS
        yield from _entries(
            {name: words.entries("sets")[name] for name in sets if name in words.entries("sets")}, Kind.Class
        )
    elif "in" in item:
        yield Choice("and", Kind.Keyword, "in A and B")
    elif "=" in item or "~" in item:
        yield from names.of("const", "dim")
        yield Choice("in", Kind.Keyword)
    elif item:
        yield Choice("in", Kind.Keyword, words.entries("inside")["in"].form)


# ---------------------------------------------------------------- equations


def _in_equation(reading: Reading, place: Place, names: _Names) -> Iterator[Choice]:
    if not place.behind_equals:
        yield from _left_side(reading, place, names)
    elif place.before == ".":
        yield from _outputs(reading, place.back(2), names)
    elif place.before == "in":
        yield from names.of("dim")
    elif place.word == "tie":
        yield from names.of("param") if not place.brackets else _indices(reading, place)
    elif (bracket := place.innermost) is not None and bracket.sign == "[":
        yield from _in_bracket(reading, place, names)
    elif bracket is not None and bracket.sign == "(" and bracket.name == "grad":
        yield from names.of(*(("energy",) if not bracket.commas else ("let", "state")), rank=0)
    else:
        yield from _expression(reading, place, names)


def _left_side(reading: Reading, place: Place, names: _Names) -> Iterator[Choice]:
    if place.before == "in":
        yield from names.of("dim")
    elif place.innermost is not None:
        yield from _new_indices(reading, place, names)
    elif place.before in (*OF_STATES, "on"):
        yield from names.of("state")
    elif place.word == "force" and len(place.statement) == 2:
        yield Choice("on", Kind.Keyword, words.entries("inside")["on"].form)


def _expression(reading: Reading, place: Place, names: _Names) -> Iterator[Choice]:
    for name in place.arguments:
        yield Choice(name, Kind.Variable, "argument", rank=0)
    yield from _indices(reading, place, rank=6)
    for symbol in names.symbols.values():
        answers = symbol.kind != "target" or place.word in ("cost", "metric", "clamped")
        if symbol.kind in READABLE and answers and symbol.span.start != _declared_here(place):
            yield names.choice(symbol, 2)
    for name, entry in words.functions().items():
        yield Choice(name, Kind.Function, entry.form, entry.says, 4, _snippet(name))
    yield from _entries(words.constants(), Kind.Constant, 7)
    yield Choice("training", Kind.Keyword, says=words.entries("inside")["training"].says, rank=8)


def _declared_here(place: Place) -> int:
    return place.statement[1].span.start if len(place.statement) > 1 else -1


def _snippet(name: str) -> str:
    return f"{name}[$1]($0)" if name in INDEXED else f"{name}($0)"


def _outputs(reading: Reading, layer: str, names: _Names) -> Iterator[Choice]:
    """The states and lets of a layer, and the fields of a binding where someone reads one by mistake."""
    for symbol in reading.symbols.declarations:
        if symbol.owner == layer and symbol.kind in ("state", "let"):
            yield names.choice(symbol)


def _in_bracket(reading: Reading, place: Place, names: _Names) -> Iterator[Choice]:
    """Inside of square brackets: the indices of an element, or those that a reduction binds, or its guard."""
    bracket = place.innermost
    assert bracket is not None
    if bracket.bar:
        yield from _indices(reading, place, rank=0)
        yield from _integers(names)
        yield from (Choice(word, Kind.Keyword) for word in ("and", "or", "not"))
    elif bracket.name in REDUCTIONS or bracket.name in ("cross_entropy", "correct", "median"):
        yield from _new_indices(reading, place, names)
        if bracket.name in ("mean", "median"):
            yield Choice("batch", Kind.Keyword, says=words.entries("inside")["batch"].says)
    else:
        over = _axis(reading, names, bracket.name, bracket.commas)
        yield from _indices(reading, place, over=over)
        yield from _integers(names)


def _integers(names: _Names) -> Iterator[Choice]:
    """The names that an index expression may read beside indices: dims and integer clamps."""
    yield from names.of("dim", "step", rank=6)
    for symbol in names.symbols.values():
        if isinstance(symbol.tree, ast.InputItem) and symbol.tree.kind is not None:
            yield names.choice(symbol, 4)


def _axis(reading: Reading, names: _Names, tensor: str, axis: int) -> str | None:
    """The dim of an axis of a tensor."""
    symbol = names.symbols.get(tensor)
    dims = reading.dims(symbol) if symbol is not None else None
    return dims[axis] if dims is not None and axis < len(dims) else None


def _habits(reading: Reading) -> dict[str, list[str]]:
    """The names of indices over each dim in this spec, the most frequent first."""
    counts: dict[str, Counter[str]] = {}
    for symbol in reading.symbols.declarations:
        over = reading.range(symbol) if symbol.kind == "index" else None
        if over is not None:
            counts.setdefault(over, Counter())[symbol.name] += 1
    return {dim: [name for name, _ in counter.most_common()] for dim, counter in counts.items()}


def _indices(reading: Reading, place: Place, rank: int = 1, over: str | None = None) -> Iterator[Choice]:
    """The indices that are bound at the place; first those that elsewhere run over the wanted dim."""
    usual = _habits(reading).get(over or "", [])
    for name in place.indices:
        yield Choice(name, Kind.Variable, "index", rank=0 if name in usual else rank)


def _new_indices(reading: Reading, place: Place, names: _Names) -> Iterator[Choice]:
    """Names for an index that is bound here, by what the spec calls them."""
    taken = {*place.indices, *names.symbols}
    for dim, usual in _habits(reading).items():
        for name in usual:
            if name not in taken:
                size = reading.size(dim)
                yield Choice(
                    name, Kind.Variable, f"index over {dim}" + (f" = {size}" if size is not None else ""), rank=2
                )
    for choice in names.of("dim"):
        name = choice.label.lower()
        if name not in taken and name != choice.label:
            yield Choice(name, Kind.Variable, f"index over {choice.label}", rank=3)
