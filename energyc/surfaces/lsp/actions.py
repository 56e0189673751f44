"""What an editor may change: every help that is an exact text, the ties that the analysis suggests, the layout."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from lsprotocol import types

from energyc.language.diagnostics import Fix, Span, SpecError
from energyc.language.syntax import ast, format_spec
from energyc.surfaces.lsp.diagnostics import published
from energyc.surfaces.lsp.documents import View
from energyc.surfaces.lsp.hover import term_of
from energyc.surfaces.lsp.ties import tie_fix, ties_of


def actions(view: View, range: types.Range, only: Sequence[str] | None = None) -> list[types.CodeAction]:
    """The quick fixes of a part of a document; none where an editor wants ``only`` other kinds of actions."""
    if only and not any("quickfix".startswith(str(kind)) for kind in only):
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
            fix = tie_fix(view.reading.source, view.reading.spec, ties_of(suggestion))
            if fix is not None:
                yield _action(view, fix, None, preferred=False)


# ---------------------------------------------------------------- layout


def formatted(view: View) -> list[types.TextEdit]:
    """The edits that lay a spec out as ``energyc fmt`` does; none where it does not parse."""
    try:
        text = format_spec(view.reading.source)
    except SpecError:
        return []
    if "\r\n" in view.text.content:
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    return [types.TextEdit(view.text.range(span), new) for span, new in _changes(view.text.content, text)]


def _changes(old: str, new: str) -> list[tuple[Span, str]]:
    """The runs of lines that differ, and what takes their place."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [(Span(starts[i], starts[j]), "".join(after[k:m])) for tag, i, j, k, m in blocks if tag != "equal"]
