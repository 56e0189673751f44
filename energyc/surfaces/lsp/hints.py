"""Inlay hints, found by the compiler: dims of indices, sizes, classes of terms."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from energyc.language.diagnostics import Span
from energyc.language.syntax import ast
from energyc.surfaces.lsp.documents import View
from energyc.surfaces.lsp.hover import term_of
from energyc.surfaces.lsp.symbols import Symbol

#: The equations whose left sides bind indices of their own.
_INFERRED = ("let", "readout", "energy", "tie")


def hints(view: View, range: types.Range) -> list[types.InlayHint]:
    """The hints of a part of a document."""
    wanted = view.text.span(range)
    found = [*_dims(view), *_sizes(view), *_classes(view)]
    return [hint for offset, hint in found if wanted.start <= offset <= wanted.end]


def _hint(view: View, offset: int, label: str, tooltip: str, insert: bool = False) -> tuple[int, types.InlayHint]:
    place = view.text.position(offset)
    edits = [types.TextEdit(types.Range(place, place), label)] if insert else None
    kind = types.InlayHintKind.Type
    return offset, types.InlayHint(place, label, kind=kind, text_edits=edits, tooltip=tooltip)


def _dims(view: View) -> Iterator[tuple[int, types.InlayHint]]:
    """``let q[h, t]`` -> ``let q[h in H, t in T]``."""
    spec, reading = view.reading.spec, view.reading
    trees = ast.walk(spec) if spec is not None else iter(())
    for tree in trees:
        if isinstance(tree, ast.Equation) and tree.word in _INFERRED:
            for binder in tree.left.indices or ():
                over = reading.resolved.ranges.get(binder.name.span)
                if binder.dim is None and over is not None:
                    size = reading.size(over)
                    said = f"{over} = {size}" if size is not None else over
                    yield _hint(view, binder.name.span.end, f" in {over}", said, insert=tree.word != "tie")


def _sizes(view: View) -> Iterator[tuple[int, types.InlayHint]]:
    """The values of dims and consts that are computed."""
    network, spec = view.reading.network, view.reading.spec
    for tree in ast.walk(spec) if spec is not None and network is not None else ():
        if isinstance(tree, ast.Definition) and not isinstance(tree.value, ast.Number):
            size = view.reading.size(tree.name.text)
            if size is not None:
                yield _hint(view, tree.span.end, f" = {size}", f"{tree.name.text} = {size}")


def _classes(view: View) -> Iterator[tuple[int, types.InlayHint]]:
    """The class of each term that is not written as an energy."""
    for symbol in view.reading.symbols.declarations:
        term = term_of(view, symbol)
        if term is not None and symbol.kind == "force":
            yield _hint(view, _left_end(symbol), f" ({term['class']})", "what `energyc check` says of the force")


def _left_end(symbol: Symbol) -> int:
    tree = symbol.tree
    span = tree.left.span if isinstance(tree, ast.Equation) else Span(symbol.span.start, symbol.span.end)
    return span.end
