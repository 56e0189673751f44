"""The exception for a spec with errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from energyc.language.diagnostics.model import Diagnostic
from energyc.language.diagnostics.render import render_text, summary
from energyc.language.diagnostics.source import Source


class SpecError(Exception):
    """A spec with errors (exit status 1). Its text is what ``energyc check`` prints: place, caret and help of each.

    ``diagnostics`` are all of them, and ``source`` is the spec they are of.
    """

    def __init__(self, source: Source, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__("; ".join(d.message for d in diagnostics))
        self.source = source
        self.diagnostics = tuple(diagnostics)

    def __str__(self) -> str:
        return f"{summary(self.diagnostics)}\n\n{render_text(self.diagnostics, self.source)}"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.source, self.diagnostics)
