"""Diagnostics as text: the message, the line with carets below it, the help; and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from energyc.language.diagnostics.model import Diagnostic, Label, UserError
from energyc.language.diagnostics.render_line import shown
from energyc.language.diagnostics.source import Source, Span

_STYLES = {"error": "1;31", "warning": "1;33", "note": "1;36", "frame": "1;34", "bold": "1", "help": "1;32"}


@dataclass(frozen=True)
class _Paint:
    """Colours text, or leaves it as it is."""

    on: bool

    def __call__(self, style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if self.on and text else text


def render_text(diagnostics: Iterable[Diagnostic], source: Source, color: bool = False) -> str:
    """All diagnostics of a source, an empty line between them, without a newline at the end.

    Carets stand right under tabs, wide characters and control characters (which are shown escaped); a very long line
    is shown around its marks.
    """
    paint = _Paint(color)
    return "\n\n".join("\n".join(_render(diagnostic, source, paint)) for diagnostic in diagnostics)


def render_user_error(error: UserError, color: bool = False) -> str:
    """A mistake outside a spec: its message and help."""
    paint = _Paint(color)
    lines = [_headline("error", error.code, error.message, paint)]
    if error.help is not None:
        lines += _footer("help", error.help, 1, paint)
    return "\n".join(lines)


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """``2 errors, 1 warning``."""
    severities = [diagnostic.severity for diagnostic in diagnostics]
    counts = [(severities.count(severity), severity) for severity in ("error", "warning", "note")]
    return ", ".join(f"{count} {word}{'s' * (count != 1)}" for count, word in counts if count)


def _render(diagnostic: Diagnostic, source: Source, paint: _Paint) -> Iterator[str]:
    yield _headline(diagnostic.severity, diagnostic.code, diagnostic.message, paint)
    margin = 1
    if diagnostic.span is not None:
        primary = Label(diagnostic.span, diagnostic.text)
        margin = max(len(str(source.position(label.span.start).line)) for label in (primary, *diagnostic.labels))
        yield from _excerpt(source, diagnostic, primary, margin, paint)
        if diagnostic.notes or diagnostic.help is not None:
            yield " " * (margin + 1) + paint("frame", "|")
    for note in diagnostic.notes:
        yield from _footer("note", note, margin, paint)
    if diagnostic.help is not None:
        yield from _footer("help", diagnostic.help, margin, paint)


def _headline(severity: str, code: str, message: str, paint: _Paint) -> str:
    return paint(severity, f"{severity}[{code}]") + paint("bold", f": {shown(message).text}")


def _footer(word: str, text: str, margin: int, paint: _Paint) -> Iterator[str]:
    first, *rest = text.splitlines() or [""]
    head = paint("help" if word == "help" else "bold", f"{word}:")
    yield f"{' ' * (margin + 1)}{paint('frame', '=')} {head} {first}"
    yield from (" " * (margin + 3 + len(word) + 2) + line for line in rest)


def _excerpt(source: Source, diagnostic: Diagnostic, primary: Label, margin: int, paint: _Paint) -> Iterator[str]:
    place = source.position(primary.span.start)
    yield " " * margin + paint("frame", "-->") + f" {shown(source.name).text}:{place.line}:{place.column}"
    bar = paint("frame", "|")
    yield " " * (margin + 1) + bar
    by_line: dict[int, list[tuple[Label, str]]] = {}
    for label, sign in ((primary, "^"), *((label, "-") for label in diagnostic.labels)):
        by_line.setdefault(source.position(label.span.start).line, []).append((label, sign))
    last = None
    for number in sorted(by_line):
        if last is not None and number > last + 1:
            yield paint("frame", "...")
        last = number
        text, rows = _line_with_marks(source, number, by_line[number], diagnostic.severity, paint)
        yield (paint("frame", f"{number:>{margin}} |") + f" {text}").rstrip()
        yield from (" " * (margin + 1) + bar + " " + row for row in rows)


def _line_with_marks(
    source: Source, number: int, labels: list[tuple[Label, str]], severity: str, paint: _Paint
) -> tuple[str, list[str]]:
    """A line as shown, and a row of marks for each label that starts on it."""
    raw = source.line(number)
    columns = [_columns(source, label.span, len(raw)) for label, _ in labels]
    line = shown(raw).around(min(start for start, _ in columns), max(end for _, end in columns))
    rows = []
    for (label, sign), (start, end) in zip(labels, columns, strict=True):
        left, right = line.place(start), line.place(end)
        marks = sign * max(right - left, 1)
        style = severity if sign == "^" else "frame"
        text = shown(label.text).text
        rows.append(" " * left + paint(style, f"{marks} {text}" if text else marks))
    return line.text, rows


def _columns(source: Source, span: Span, length: int) -> tuple[int, int]:
    """The columns that a span covers on its first line, from 0."""
    start = min(source.position(span.start).column - 1, length)
    return start, min(start + span.end - span.start, max(length, start + 1))


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
