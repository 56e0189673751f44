"""Collects the diagnostics of one run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from energyc.language.diagnostics import Diagnostic, Label, Source, Span


@dataclass
class Reporter:
    """Collects diagnostics, each once.

    Whoever reports a mistake marks its subject as bad, so that no later pass reports it again.
    """

    source: Source
    diagnostics: list[Diagnostic] = field(default_factory=list)
    _seen: set[Diagnostic] = field(default_factory=set)

    def error(
        self,
        code: str,
        message: str,
        span: Span | None,
        text: str = "",
        *,
        labels: Sequence[Label] = (),
        notes: Sequence[str] = (),
        help: str | None = None,
    ) -> None:
        """Report a mistake."""
        self.add(Diagnostic(code, message, span, "error", text, tuple(labels), tuple(notes), help))

    def warn(
        self,
        code: str,
        message: str,
        span: Span | None,
        text: str = "",
        *,
        labels: Sequence[Label] = (),
        help: str | None = None,
    ) -> None:
        """Report what is legal and probably not meant."""
        self.add(Diagnostic(code, message, span, "warning", text, tuple(labels), (), help))

    def unsupported(self, message: str, span: Span | None, *, help: str | None = None) -> None:
        """Report what the language has and this version does not."""
        self.error("E0190", message, span, help=help)

    def cycle(self, names: Sequence[str], span: Span, *, labels: Sequence[Label] = ()) -> None:
        """Report a definition that depends on itself; ``names`` lead from it back to it."""
        path = " -> ".join(f"`{name}`" for name in names)
        self.error("E0207", f"`{names[0]}` is defined in terms of itself: {path}", span, labels=labels)

    def add(self, diagnostic: Diagnostic) -> None:
        """Report what was found elsewhere."""
        if diagnostic not in self._seen:
            self._seen.add(diagnostic)
            self.diagnostics.append(diagnostic)

    @property
    def failed(self) -> bool:
        """Whether an error was reported."""
        return any(d.severity == "error" for d in self.diagnostics)

    def in_order(self, severity: str | None = None) -> tuple[Diagnostic, ...]:
        """The diagnostics, or those of one severity, in the order of the text."""
        chosen = [d for d in self.diagnostics if severity in (None, d.severity)]
        return tuple(sorted(chosen, key=lambda d: (d.span is None, d.span.start if d.span else 0)))
