"""Collects the diagnostics of one run, and words the help that several passes give."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from energyc.diagnostics import Diagnostic, Label, Source, Span, near


@dataclass
class Reporter:
    """Collects diagnostics, each once.

    Whoever reports a mistake marks its subject as bad, so that no later pass reports it again.
    """

    source: Source
    diagnostics: list[Diagnostic] = field(default_factory=list)

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
        self._add(Diagnostic(code, message, span, "error", text, tuple(labels), tuple(notes), help))

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
        self._add(Diagnostic(code, message, span, "warning", text, tuple(labels), (), help))

    def unsupported(self, message: str, span: Span | None, *, help: str | None = None) -> None:
        """Report what the language has and this version does not."""
        self.error("E0190", message, span, help=help)

    def cycle(self, names: Sequence[str], span: Span, *, labels: Sequence[Label] = ()) -> None:
        """Report a definition that depends on itself; ``names`` lead from it back to it."""
        path = " -> ".join(f"`{name}`" for name in names)
        self.error("E0207", f"`{names[0]}` is defined in terms of itself: {path}", span, labels=labels)

    def _add(self, diagnostic: Diagnostic) -> None:
        if diagnostic not in self.diagnostics:
            self.diagnostics.append(diagnostic)

    @property
    def failed(self) -> bool:
        """Whether an error was reported."""
        return any(d.severity == "error" for d in self.diagnostics)

    def in_order(self, severity: str | None = None) -> tuple[Diagnostic, ...]:
        """The diagnostics, or those of one severity, in the order of the text."""
        chosen = [d for d in self.diagnostics if severity in (None, d.severity)]
        return tuple(sorted(chosen, key=lambda d: (d.span is None, d.span.start if d.span else 0)))


def did_you_mean(name: str, known: Iterable[str], otherwise: str | None = None) -> str | None:
    """The help for an unknown name: the known one that is spelt like it, or ``otherwise``."""
    similar = near(name, known)
    return f"did you mean `{similar[0]}`?" if similar else otherwise


def listed(names: Iterable[str], conjunction: str = "and") -> str:
    """``a, b and c``."""
    items = list(names)
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} {conjunction} {items[-1]}"


def quoted(names: Iterable[str], conjunction: str = "and") -> str:
    """```a`, `b` and `c```."""
    return listed((f"`{name}`" for name in names), conjunction)
