"""What can be done at the press of a key: every help that is an exact text, and the ties that the analysis suggests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lsprotocol import types

from energyc.diagnostics import Edit, Fix, Source, Span
from energyc.lsp.diagnostics import published
from energyc.lsp.hover import term_of
from energyc.lsp.view import View
from energyc.syntax import ast


def actions(view: View, range: types.Range, only: Sequence[str] | None = None) -> list[types.CodeAction]:
    """The quick fixes of a part of a document."""
    if only and not any("quickfix".startswith(kind) for kind in only):
        return []
    wanted = view.text.span(range)
    return [*_fixes(view, wanted), *_ties(view, wanted)]


def _fixes(view: View, wanted: Span) -> Iterator[types.CodeAction]:
    shown = published(view)
    for diagnostic, said in zip(view.reading.diagnostics, shown, strict=False):
        if _meets(view.text.span(said.range), wanted):
            for place, fix in enumerate(diagnostic.fixes):
                yield _action(view, fix, said, preferred=place == 0)


def _meets(span: Span, wanted: Span) -> bool:
    return span.start <= wanted.end and wanted.start <= span.end


def _action(view: View, fix: Fix, said: types.Diagnostic | None, *, preferred: bool) -> types.CodeAction:
    edits = [types.TextEdit(view.text.range(edit.span), edit.text) for edit in fix.edits]
    return types.CodeAction(
        title=fix.title[:1].upper() + fix.title[1:],
        kind=types.CodeActionKind.QuickFix,
        diagnostics=[said] if said is not None else None,
        is_preferred=preferred,
        edit=types.WorkspaceEdit(changes={view.uri: edits}),
    )


# ---------------------------------------------------------------- ties


def _ties(view: View, wanted: Span) -> Iterator[types.CodeAction]:
    """The ties that would make a term at the place a gradient."""
    for symbol in view.reading.symbols.declarations:
        term = term_of(view, symbol)
        tree = symbol.tree
        if term is None or not isinstance(tree, ast.Equation) or not _meets(tree.span, wanted):
            continue
        for suggestion in term.get("ties", ()):
            fix = tie_fix(view.reading.source, view.reading.spec, suggestion.split(" and "))
            if fix is not None:
                yield _action(view, fix, None, preferred=False)


def tie_fix(source: Source, spec: ast.Spec | None, ties: Sequence[str]) -> Fix | None:
    """The fix that declares params as second names of others: ``W2[f,d] = W1[d,f]``.

    None where a param would be tied to itself, which the language has no statement for, or is declared among comments.
    """
    edits: list[Edit] = []
    for tie in ties:
        target, tied = tie.partition("[")[0], tie.partition(" = ")[2].partition("[")[0]
        statement = next((s for s in _params(spec) if any(item.name.text == target for item in s.items)), None)
        if statement is None or target == tied or "#" in source.slice(statement.span):
            return None
        rest = _without(source, statement, target)
        edits.append(Edit(statement.span, f"{rest}\n{_indent(source, statement)}tie {tie}" if rest else f"tie {tie}"))
    if len({edit.span for edit in edits}) < len(edits):
        return None
    return Fix(f"tie {' and '.join(ties)}", tuple(edits))


def _params(spec: ast.Spec | None) -> Iterator[ast.Params]:
    trees: Iterable[ast.Tree] = ast.walk(spec) if spec is not None else ()
    yield from (tree for tree in trees if isinstance(tree, ast.Params))


def _indent(source: Source, statement: ast.Params) -> str:
    place = source.position(statement.span.start)
    return source.line(place.line)[: place.column - 1] if place.column > 1 else ""


def _without(source: Source, statement: ast.Params, name: str) -> str:
    """The statement without one of its params, whose law stays with those that it covered too; empty without params."""
    items: list[str] = []
    covered = False
    law: ast.Law | None = None
    for item in reversed(statement.items):
        if item.law is not None:
            law, covered = item.law, item.name.text != name
        if item.name.text == name:
            continue
        needs_law = item.law is None and item.value is None and not covered and law is not None
        text = source.slice(item.span)
        if needs_law and law is not None:
            behind = item.domains[0].span.start - item.span.start if item.domains else None
            end = text.rindex(" in ", 0, behind) if behind is not None else len(text)
            text = f"{text[:end]} ~ {source.slice(law.span)}{text[end:]}"
            covered = True
        items.append(text)
    return f"param {', '.join(reversed(items))}" if items else ""
