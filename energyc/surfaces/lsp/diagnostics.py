"""Diagnostics for an editor, and what it may change: every help that is an exact text, suggested ties, the layout.

Diagnostics are the compiler's, and what the analysis adds to a text that was saved.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from lsprotocol import types

from energyc.language.diagnostics import Diagnostic, Fix, Span, SpecError
from energyc.language.syntax import ast, format_spec
from energyc.proofs.claims.classes import reason
from energyc.resources import page
from energyc.surfaces.lsp.documents import View
from energyc.surfaces.lsp.hover import mended_by, term_of
from energyc.surfaces.lsp.ties import tie_fix, ties_of

SOURCE = "energyc"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Information,
}
#: What stands in place of a code where the analysis speaks.
TERM, RULE = "term", "rule"


def published(view: View) -> list[types.Diagnostic]:
    """All that is said of a text."""
    return [*(_of(view, diagnostic) for diagnostic in view.reading.diagnostics), *_analysed(view)]


def _of(view: View, diagnostic: Diagnostic) -> types.Diagnostic:
    span = diagnostic.span or Span(0, 0)
    parts = [diagnostic.message, *diagnostic.notes]
    parts += [f"help: {diagnostic.help}"] if diagnostic.help else []
    related = [
        types.DiagnosticRelatedInformation(types.Location(view.uri, view.text.range(label.span)), label.text)
        for label in diagnostic.labels
    ]
    unused = [types.DiagnosticTag.Unnecessary] if diagnostic.code in ("W0201", "E0441") else None
    link = page(diagnostic.code)
    described = types.CodeDescription(link.as_uri()) if link is not None else None
    return types.Diagnostic(
        view.text.range(_visible(view, span)),
        "\n".join(parts),
        severity=_SEVERITIES[diagnostic.severity],
        code=diagnostic.code,
        code_description=described,
        source=SOURCE,
        tags=unused,
        related_information=related or None,
    )


def _visible(view: View, span: Span) -> Span:
    """A span that an editor can underline: one without characters gets the character before it."""
    if span.start < span.end:
        return span
    before = view.text.content[span.start - 1 : span.start]
    return Span(span.start - 1, span.start) if before and before not in "\r\n" else span


# ---------------------------------------------------------------- what the analysis adds


def _analysed(view: View) -> Iterator[types.Diagnostic]:
    if not view.report:
        return
    for symbol in view.reading.symbols.declarations:
        term = term_of(view, symbol)
        if term is not None and term["class"] in ("not-conservative", "undecided"):
            what = "not conservative" if term["class"] == "not-conservative" else "not decided to be conservative"
            ties = [f"help: {remedy}" for remedy in mended_by(term)]
            message = "\n".join([f"{symbol.kind} `{symbol.name}` is {what}", *ties])
            yield _said(view, symbol.span, message, TERM, types.DiagnosticSeverity.Information)
    yield from _rule(view)


def _rule(view: View) -> Iterator[types.Diagnostic]:
    """The rule of the spec, where it is not exact on this network."""
    for word in view.reading.symbols.words:
        verdict = view.report["rules"].get(word.text) if word.owner == "train.rule" else None
        if verdict is not None and verdict["verdict"] != "exact":
            said = f"`{word.text}` is {verdict['verdict']} on this network"
            said += reason(verdict["verdict"], verdict.get("why"))
            help = f"\nhelp: use `{verdict['use_instead']}`" if verdict.get("use_instead") else ""
            yield _said(view, word.span, said + help, RULE, types.DiagnosticSeverity.Warning)


def _said(view: View, span: Span, message: str, code: str, severity: types.DiagnosticSeverity) -> types.Diagnostic:
    return types.Diagnostic(view.text.range(span), message, severity=severity, code=code, source=SOURCE)


# ---------------------------------------------------------------- actions


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
