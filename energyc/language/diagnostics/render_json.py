"""Diagnostics as JSON."""

from __future__ import annotations

from typing import Any

from energyc.language.diagnostics.model import Diagnostic
from energyc.language.diagnostics.source import Source, Span


def to_json(diagnostic: Diagnostic, source: Source) -> dict[str, Any]:
    """A diagnostic as JSON: lines and columns from 1, the end exclusive, None where it has no place.

    Keys: code, severity, message, file, line, column, end_line, end_column, text, help, notes, related (a list of
    message, file and place), fixes (a list of title and edits, each a text and the place that it is to take).
    """
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        **_place(diagnostic.span, source),
        "text": diagnostic.text,
        "help": diagnostic.help,
        "notes": list(diagnostic.notes),
        "related": [{"message": label.text, **_place(label.span, source)} for label in diagnostic.labels],
        "fixes": [
            {"title": fix.title, "edits": [{"text": edit.text, **_place(edit.span, source)} for edit in fix.edits]}
            for fix in diagnostic.fixes
        ],
    }


def _place(span: Span | None, source: Source) -> dict[str, Any]:
    if span is None:
        return {"file": source.name, "line": None, "column": None, "end_line": None, "end_column": None}
    start, end = source.position(span.start), source.position(span.end)
    return {
        "file": source.name,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
    }
