"""Statements where they have no place, in a block or around the layers of a file, and what is given twice."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from energyc.language.diagnostics import Label, Span
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


#: A name in words, and the part of the tree that gives it.
Named = tuple[str, ast.Tree]


def check_repeats(spec: ast.Spec, reporter: Reporter) -> None:
    """Report presets, settings, options and keywords that are given twice, and warn of a second block of one kind."""
    groups: list[list[Named]] = []
    for statements in (spec.statements, *(layer.body for layer in layers_of(spec.statements))):
        blocks = [statement for statement in statements if isinstance(statement, ast.Settings)]
        groups.append([(f"setting `{block.word}.{pair.path}`", pair) for block in blocks for pair in block.pairs])
        for block, first in _repeats([(f"`{block.word}`", block) for block in blocks]):
            message = f"there are two blocks {block[0]}"
            labels = [Label(first.span, "first block here")]
            reporter.warn("W0501", message, block[1].span, labels=labels, help="merge them: the settings of both count")
    for parts in (*groups, *_groups(spec)):
        for (name, tree), first in _repeats(parts):
            labels = [Label(first.span, "first given here")]
            reporter.error("E0544", f"{name} is given twice", tree.span, labels=labels, help="keep one of them")


def _groups(spec: ast.Spec) -> Iterator[list[Named]]:
    """The parts that may each be given once, group by group."""
    yield [(f"preset `{s.name.text}`", s) for s in spec.statements if isinstance(s, ast.Preset)]
    for tree in ast.walk(spec):
        match tree:
            case ast.Preset(pairs=pairs):
                yield [(f"setting `{pair.path}`", pair) for pair in pairs]
            case ast.Data(pairs=pairs) | ast.CallValue(pairs=pairs):
                yield [(f"option `{pair.path}`", pair) for pair in pairs]
            case ast.Apply(arguments=arguments):
                yield [(f"option `{a.keyword.text}`", a) for a in arguments or () if a.keyword is not None]


def _repeats(parts: Sequence[Named]) -> Iterator[tuple[Named, ast.Tree]]:
    """Each part whose name an earlier one has, with the earlier one."""
    first: dict[str, ast.Tree] = {}
    for name, tree in parts:
        earlier = first.setdefault(name, tree)
        if earlier is not tree:
            yield (name, tree), earlier
