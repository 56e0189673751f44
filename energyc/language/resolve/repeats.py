"""Blocks and settings that are given twice."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from energyc.language.diagnostics import Label
from energyc.language.resolve.reporter import Reporter
from energyc.language.resolve.settings import layers_of
from energyc.language.syntax import ast

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
