"""Statements that have no place where they stand: in a block, or around the layers of a file."""

from __future__ import annotations

from collections.abc import Iterable

from energyc.language.diagnostics import Span
from energyc.language.resolve.reporter import Reporter
from energyc.language.resolve.settings import layers_of, report_whole
from energyc.language.syntax import ast

#: What a block may hold, beside ``param``, ``state``, ``tie``, ``let``, ``fn``, ``start`` and ``next``.
_IN_A_LAYER = frozenset({"energy", "force", "flow", "noise", "relax", "nudge"})
_IN_A_REPEAT = frozenset({"layer"})
_IN_ANY_BLOCK = frozenset({"param", "state", "tie", "let", "fn", "start", "next"})
#: What moves a state.
_MOTION = frozenset({"state", "noise", "start", "clamped", "energy", "force", "flow", "next"})


def check_blocks(spec: ast.Spec, reporter: Reporter) -> None:
    """Report each statement that has no place where it stands, and blocks that are not yet supported there."""
    layers = [layer.name.text for layer in layers_of(spec.statements)]
    repeats = [s for s in spec.statements if isinstance(s, ast.Repeat)]
    for statement in spec.statements:
        word, span = worded(statement)
        if isinstance(statement, ast.Layer):
            _check_layer(statement, reporter)
        elif isinstance(statement, ast.Repeat):
            _check_repeat(statement, reporter)
        elif layers and isinstance(statement, ast.Settings) and word != "train":
            report_whole(reporter, word, "", layers, span)
        elif (layers or repeats) and word in _MOTION:
            help = "what relaxes stands in a layer, what goes from copy to copy in a `repeat`"
            reporter.error("E0450", f"`{word}` has no place outside of the blocks", span, help=help)
    if repeats and not layers and all(repeat.index is None for repeat in repeats):
        message = "this network has no layer, so nothing relaxes"
        reporter.error("E0444", message, repeats[0].count.span, help="declare one: `layer NAME { state z[D] ... }`")


def _check_layer(layer: ast.Layer, reporter: Reporter) -> None:
    for statement in layer.body:
        word, span = worded(statement)
        if isinstance(statement, ast.Layer | ast.Repeat):
            reporter.unsupported(f"`{word}` inside of a layer is not yet supported", span)
        elif word not in _IN_A_LAYER | _IN_ANY_BLOCK:
            _report(reporter, word, span, f"layer `{layer.name.text}`")


def _without_number(repeat: ast.Repeat, index: str) -> str:
    """What to write instead of copies that read their number: the steps of a recurrence, or params of each copy."""
    if any(isinstance(statement, ast.Layer) for statement in repeat.body):
        return f"write `repeat {repeat.count.text}`; a param declared in it is there once for each copy"
    steps = f"relax {index} in {repeat.count.text} {{ }}"
    return f"for a recurrence write its `state`, `start` and `next` outside of blocks, and `{steps}`"


def _check_repeat(repeat: ast.Repeat, reporter: Reporter) -> None:
    if repeat.index is not None:
        help = _without_number(repeat, repeat.index.text)
        reporter.unsupported("the number of a copy is not yet supported", repeat.index.span, help=help)
    for statement in repeat.body:
        word, span = worded(statement)
        if isinstance(statement, ast.Layer):
            _check_layer(statement, reporter)
        elif isinstance(statement, ast.Repeat):
            reporter.unsupported("`repeat` inside of `repeat` is not yet supported", span)
        elif isinstance(statement, ast.States):
            _check_streams(statement.items, reporter)
        elif word in _IN_A_LAYER:
            help = "write it in a layer inside of the `repeat`"
            reporter.error("E0450", f"`{word}` has no place directly in `repeat {repeat.count.text}`", span, help=help)
        elif word not in _IN_A_REPEAT | _IN_ANY_BLOCK:
            _report(reporter, word, span, f"`repeat {repeat.count.text}`")


def _check_streams(items: Iterable[ast.StateItem], reporter: Reporter) -> None:
    for item in items:
        if item.domains:
            message = "a set for what goes from copy to copy is not yet supported"
            reporter.unsupported(message, item.domains[0].span)


def _report(reporter: Reporter, word: str, span: Span, block: str) -> None:
    help = "write it outside of all blocks"
    reporter.error("E0450", f"`{word}` has no place in {block}", span, help=help)


def worded(statement: ast.Statement) -> tuple[str, Span]:
    """The word of a statement, and the place of what it declares first."""
    match statement:
        case ast.Definitions(word=word, items=(first, *_)) | ast.Inputs(word=word, items=(first, *_)):
            return word, first.name.span
        case ast.Params(items=(param, *_)):
            return "param", param.name.span
        case ast.Noises(items=(noise, *_)):
            return "noise", noise.name.span
        case ast.States(items=(state, *_)):
            return "state", state.name.span
        case ast.Equation(word=word, left=left, term=term):
            return word, left.span if term is None else term.span
        case ast.Function(name=name):
            return "fn", name.span
        case ast.Data(name=name):
            return "data", name.span
        case ast.Layer(name=name):
            return "layer", name.span
        case ast.Repeat(count=count):
            return "repeat", count.span
        case ast.Preset(name=name):
            return "preset", name.span
        case ast.Settings(word=word, span=span):
            return word, span
    return "", statement.span
