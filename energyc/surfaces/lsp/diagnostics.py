"""Diagnostics for an editor: the compiler's, and what the analysis adds to a text that was saved."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from energyc.language.diagnostics import Diagnostic, Span
from energyc.proofs.claims.classes import reason
from energyc.resources import page
from energyc.surfaces.lsp.documents import View
from energyc.surfaces.lsp.hover import mended_by, term_of

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
