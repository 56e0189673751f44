"""The classification of a network as a report shows it: words, numbers and formulas, no nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class TermReport:
    """One term: its class and the evidence for it.

    ``potential``, the ``functions`` that it needs defined, and ``ties`` are in the spec's notation; ``witness`` has the
    keys of ``check --format json``.
    """

    name: str
    kind: str
    verdict: str
    evidence: str
    potential: str | None = None
    functions: tuple[str, ...] = ()
    witness: Mapping[str, Any] | None = None
    ties: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The entry of ``terms``."""
        entry: dict[str, Any] = {"name": self.name, "kind": self.kind, "class": self.verdict, "evidence": self.evidence}
        if self.potential is not None:
            entry["potential"] = self.potential
        if self.functions:
            entry["functions"] = list(self.functions)
        if self.witness is not None:
            entry |= {"witness": dict(self.witness), "ties": list(self.ties)}
        elif self.verdict != "conservative":
            entry["ties"] = list(self.ties)
        if self.tried:
            entry["tried"] = list(self.tried)
        return entry


@dataclass(frozen=True)
class RuleReport:
    """What a rule is on this network."""

    verdict: str
    why: str | None = None
    use_instead: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The entry of ``rules``."""
        entry = {"verdict": self.verdict, "why": self.why, "use_instead": self.use_instead}
        return {key: value for key, value in entry.items() if value is not None}


@dataclass(frozen=True)
class Classes:
    """The whole: its class, its terms, its rules; ``unproved`` names the terms whose Jacobian makes up J_nc."""

    verdict: str
    terms: tuple[TermReport, ...]
    rules: Mapping[str, RuleReport] = field(default_factory=dict)
    unproved: tuple[str, ...] = ()
