"""Where the findings of one run gather, and the help for a misspelt name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from energyc.diagnostics import Diagnostic, Label, Source, Span, near


@dataclass
class Reporter:
    """Collects diagnostics, each once; what was reported is poisoned by its finder, so that it is not met again."""

    source: Source
    found: list[Diagnostic] = field(default_factory=list)

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

    def _add(self, diagnostic: Diagnostic) -> None:
        if diagnostic not in self.found:
            self.found.append(diagnostic)

    @property
    def failed(self) -> bool:
        """Whether there is an error among the findings."""
        return any(d.severity == "error" for d in self.found)

    def in_order(self, severity: str | None = None) -> tuple[Diagnostic, ...]:
        """The findings in the order of the text."""
        chosen = [d for d in self.found if severity in (None, d.severity)]
        return tuple(sorted(chosen, key=lambda d: (d.span is None, d.span.start if d.span else 0)))


def did_you_mean(word: str, among: Iterable[str], otherwise: str | None = None) -> str | None:
    """The help for an unknown name."""
    meant = near(word, among)
    return f"did you mean `{meant[0]}`?" if meant else otherwise


def listed(names: Iterable[str], last: str = "and") -> str:
    """``a, b and c``."""
    words = list(names)
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"
