"""The names in settings and presets, which are read by their paths: each is noted in ``References`` where it stands."""

from __future__ import annotations

from collections.abc import Sequence

from energyc.language.resolve.blocks import LayerPart, Part
from energyc.language.resolve.names import Names
from energyc.language.settings.scores import SCORES
from energyc.language.syntax import ast

#: The kinds that a word may name in every setting, and those that some settings alone ask for.
_NUMBERS, _ANSWERS = ("dim", "const"), ("metric", "readout", "target")


def note_preset(part: Part, pair: ast.Pair) -> None:
    """``N = 8``, ``relax.steps = 3``, ``block.relax.step.z = 1``."""
    first, *rest = pair.key
    layer = layer_of(part, first.text) if rest else None
    if not rest:
        part.names.read(first)
        note_value(part.names, pair.value)
    elif layer is not None:
        _note_owner(part, first)
        note_pair(layer, pair, rest[0].text, rest[1:])
    else:
        note_pair(part, pair, first.text, rest)


def note_pair(part: Part, pair: ast.Pair, block: str, key: Sequence[ast.Name]) -> None:
    """``step``, ``step.y``, ``lr.memory.W``: the rest of a key behind its block, and the value."""
    here = part
    for name in key[1:]:
        here = _note_owner(here, name)
    note_value(part.names, pair.value, f"{block}.{key[0].text}" if key else block)


def _note_owner(part: Part, name: ast.Name) -> Part:
    """Note a state, a param or a layer that a setting is for; the part that the rest of the key is about."""
    layer = layer_of(part, name.text)
    if layer is None:
        part.names.read(name)
        return part
    part.names.references.note(name.span, layer.tree.name.span)
    return layer


def layer_of(part: Part, name: str) -> LayerPart | None:
    """A layer by its name: of a part, of a repeat in it, or around it."""
    layers = {name: layer for repeat in part.repeats for name, layer in repeat.layers.items()} | part.layers
    around = getattr(part, "around", None)
    return layers[name] if name in layers else None if around is None else layer_of(around, name)


def note_value(names: Names, value: ast.Value, owner: str = "") -> None:
    """The dims, consts and answers that a value names; ``owner`` is its setting, or the call whose argument it is."""
    match value:
        case ast.WordValue(span=span, word=word):
            entry = names.get(word)
            asked = owner in ("train.metrics", "train.best") or owner in SCORES
            if entry is not None and entry.kind in (*_NUMBERS, *(_ANSWERS if asked else ())):
                names.references.note(span, entry.span)
        case ast.CallValue(word=word, pairs=pairs):
            for pair in pairs:
                note_value(names, pair.value, word)
        case ast.ListValue(items=items):
            for item in items:
                note_value(names, item, owner)
