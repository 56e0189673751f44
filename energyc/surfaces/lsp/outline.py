"""The shape of a file: its symbols as a tree, and what can be folded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from lsprotocol import types

from energyc.language.diagnostics import Span
from energyc.language.resolve.names import OF_STATES
from energyc.language.syntax import ast
from energyc.surfaces.lsp.describe import appearance, detail
from energyc.surfaces.lsp.documents import View
from energyc.surfaces.lsp.symbols import LOCAL, Symbol

Kind = types.SymbolKind


def symbols(view: View) -> list[types.DocumentSymbol]:
    """The declarations of a file, those of a block below it."""
    spec = view.reading.spec
    declared = {
        symbol.span: symbol for symbol in view.reading.symbols.declarations if symbol.kind not in (*LOCAL, "network")
    }
    return [] if spec is None else list(_listed(view, spec.statements, declared))


def _listed(
    view: View, statements: Iterable[ast.Statement], declared: Mapping[Span, Symbol]
) -> Iterator[types.DocumentSymbol]:
    for statement in statements:
        match statement:
            case ast.Layer(name=name, body=body):
                inner = list(_listed(view, body, declared))
                yield _symbol(view, name.text, Kind.Namespace, "layer", statement.span, name.span, inner)
            case ast.Repeat(count=count, body=body):
                inner = list(_listed(view, body, declared))
                yield _symbol(view, f"repeat {count.text}", Kind.Array, "", statement.span, count.span, inner)
            case ast.Settings(word=word):
                head = Span(statement.span.start, statement.span.start + len(word))
                yield _symbol(view, word, Kind.Object, "settings", statement.span, head, [])
            case ast.Equation(word=word, left=left) if word in OF_STATES:
                text = f"{word} {left.name.text}"
                yield _symbol(view, text, Kind.Operator, "", statement.span, left.name.span, [])
            case _:
                for symbol in declared.values():
                    if statement.span.start <= symbol.span.start < statement.span.end:
                        kind, said = appearance(symbol).outline, detail(view.reading, symbol)
                        tree = symbol.tree.span if symbol.tree is not None else symbol.span
                        yield _symbol(view, symbol.name, kind, said, tree.to(symbol.span), symbol.span, [])


def _symbol(
    view: View, name: str, kind: Kind, said: str, span: Span, place: Span, inner: list[types.DocumentSymbol]
) -> types.DocumentSymbol:
    whole, selected = view.text.range(span.to(place)), view.text.range(place)
    return types.DocumentSymbol(name, kind, whole, selected, detail=said, children=inner)


def folds(view: View) -> list[types.FoldingRange]:
    """Blocks, settings and statements of several lines, and comments of several lines."""
    found = list(_folded_comments(view))
    spec = view.reading.spec
    trees = [tree for tree in ast.walk(spec) if isinstance(tree, ast.Statement)] if spec else []
    for statement in trees:
        first, last = (view.text.position(offset).line for offset in (statement.span.start, statement.span.end))
        if last > first:
            found.append(types.FoldingRange(first, last))
    return found


def _folded_comments(view: View) -> Iterator[types.FoldingRange]:
    lines = [view.text.position(p.span.start).line for p in view.reading.pieces if p.kind == "comment" and p.first]
    while lines:
        count = next((k for k in range(1, len(lines)) if lines[k] != lines[0] + k), len(lines))
        if count > 1:
            yield types.FoldingRange(lines[0], lines[count - 1], kind=types.FoldingRangeKind.Comment)
        lines = lines[count:]
