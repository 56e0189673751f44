"""The specs that ship: description, class, the rule that trains, data, and what a short training reached.

The facts lie in ``specs/catalogue.json``, so that a list of all needs no compiler. ``python -m benchmarks.gallery``
writes them, and the tests compare them with what ``check`` says.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from energyc.resources import resource, shipped


@dataclass(frozen=True)
class Measured:
    """A held-out number after ``energyc train NAME`` with the arguments ``train``; ``seconds`` of processor time."""

    train: str
    metric: str
    value: float
    updates: int
    seconds: int


@dataclass(frozen=True)
class Entry:
    """A spec that ships: ``data`` are the names of its adapters, ``measured`` is None where no data ship for it.

    ``remark`` says what the figure does not, as where it is low; it is empty where there is nothing to say.
    """

    name: str
    about: str
    path: Path
    verdict: str
    rule: str
    data: tuple[str, ...]
    measured: Measured | None
    remark: str

    @property
    def command(self) -> str:
        """What trains it as it was measured."""
        return " ".join(filter(None, ["energyc train", self.name, self.measured.train if self.measured else ""]))

    def to_json(self) -> dict[str, Any]:
        """The fields, and the command."""
        return {**asdict(self), "path": str(self.path), "command": self.command}

    def lines(self) -> Iterator[str]:
        """The name with its description, what it is, and what was measured."""
        yield f"{self.name}: {self.about}"
        yield f"  {self.verdict.replace('-', ' ')}, {self.rule}, {', '.join(self.data) or 'data of your own'}"
        if self.measured is not None:
            number = f"{self.measured.metric} {self.measured.value:.4g}"
            yield f"  {number} after {self.measured.updates:,} updates in {self.measured.seconds} s: {self.command}"
        if self.remark:
            yield f"  {self.remark}"


def catalogue(facts: Mapping[str, Any] | None = None) -> list[Entry]:
    """All specs that ship, by ``facts``, which are those of the catalogue's file."""
    known = read_facts() if facts is None else facts
    return [_entry(name, path, known[name]) for name, path in shipped().items() if name in known]


def read_facts() -> dict[str, Any]:
    """The facts of each spec, as JSON."""
    return dict(json.loads(resource("specs", "catalogue.json").read_text(encoding="utf-8")))


def _entry(name: str, path: Path, facts: Mapping[str, Any]) -> Entry:
    measured = Measured(**facts["measured"]) if facts["measured"] else None
    return Entry(
        name, facts["about"], path, facts["class"], facts["rule"], tuple(facts["data"]), measured, facts["remark"]
    )
