"""Remedies as changes of the source, which an editor offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from energyc.language.diagnostics.source import Span


@dataclass(frozen=True)
class Edit:
    """``text`` takes the place of a span."""

    span: Span
    text: str


@dataclass(frozen=True)
class Fix:
    """A change of the source: ``title`` says what it does, the edits do not overlap."""

    title: str
    edits: tuple[Edit, ...]

    def applied(self, text: str) -> str:
        """The text after the change."""
        for edit in sorted(self.edits, key=lambda edit: edit.span, reverse=True):
            text = text[: edit.span.start] + edit.text + text[edit.span.end :]
        return text


class Remedy(str):
    """A help that says exactly what to write: its text, and the fixes that write it, the likeliest first."""

    fixes: tuple[Fix, ...]

    def __new__(cls, text: str, *fixes: Fix) -> Any:
        """A help with its fixes."""
        remedy = super().__new__(cls, text)
        remedy.fixes = fixes
        return remedy


def remedied(help: str, span: Span) -> Remedy:
    """A help that ends in the very text, in backquotes, that is to take the place of a span."""
    return Remedy(help, writing(help.rpartition("`")[0].rpartition("`")[2], span))


def writing(text: str, span: Span) -> Fix:
    """The fix that writes a text in place of a span."""
    return Fix(f"write `{text.strip()}`", (Edit(span, text),))


def inserting(text: str, offset: int) -> Fix:
    """The fix that inserts a text."""
    return Fix(f"insert `{text.strip()}`", (Edit(Span(offset, offset), text),))


def removing(what: str, span: Span) -> Fix:
    """The fix that removes a span."""
    return Fix(f"remove `{what}`", (Edit(span, ""),))
