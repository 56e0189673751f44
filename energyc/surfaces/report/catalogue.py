"""The specs that ship: description, class, the rule that trains, data, and what a short training reached.

The facts lie in ``specs/catalogue.json``, so that a list of all needs no compiler. ``python -m benchmarks.gallery``
writes them, and the tests compare them with what ``check`` says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from textwrap import shorten, wrap
from typing import Any

from energyc.language.diagnostics import UserError
from energyc.resources import resource, shipped
from energyc.running.training.numbers import format_number

#: The width of the details, in characters.
WIDTH = 80
#: The least width of a description.
NARROW = 15
#: The headings of a list, and whether the zoo is under it.
HEADINGS = {"The systems": False, "The zoo: small models of the literature": True}


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
        """The rule that trains it as it was measured."""
        return " ".join(filter(None, ["energyc train", self.name, self.measured.train if self.measured else ""]))

    def to_json(self) -> dict[str, Any]:
        """The fields, and the command."""
        return {**asdict(self), "path": str(self.path), "command": self.command}

    @property
    def is_of_the_zoo(self) -> bool:
        """Whether it is a small model of the literature, and none of the systems."""
        return self.path.parent.name == "zoo"

    @property
    def brief(self) -> str:
        """The first sentence of its description."""
        return re.split(r"\. (?=[A-Z])", " ".join(self.about.split()))[0].removesuffix(".")

    @property
    def figure(self) -> str:
        """The measured figure, empty where there is none."""
        if self.measured is None:
            return ""
        number = f"{self.measured.metric} {format_number(self.measured.metric, self.measured.value)}"
        return f"{number} after {self.measured.updates:,} updates in {self.measured.seconds} s"

    def mentions(self, word: str) -> bool:
        """Whether a word is in what is told of it, in capitals or not."""
        return word.lower() in " ".join([self.name, *self.told(), *self.more()]).lower()

    def told(self) -> tuple[str, ...]:
        """Its description; its class, the rule that trains it, its data; its figure."""
        facts = f"{self.verdict.replace('-', ' ')}; {self.rule}; {', '.join(self.data) or 'data of your own'}"
        return tuple(filter(None, (self.about, facts, self.figure)))

    def more(self) -> tuple[str, ...]:
        """The command behind the figure, and the limits of the figure."""
        return tuple(filter(None, (self.command if self.measured else "", self.remark)))


def listing(entries: Sequence[Entry], width: int) -> Iterator[str]:
    """Yield a line for each spec, of at most ``width`` characters: the systems, then the zoo, each under a heading."""
    room = 2 + max(len(entry.name) for entry in entries)
    left = max(width - room, NARROW)
    for heading, found in _parts(entries):
        yield from (heading, "")
        yield from (f"{entry.name:{room}}{shorten(entry.brief, left, placeholder=' ...')}" for entry in found)
        yield ""


def details(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield the lines of all that is known of each spec: its description, class, rule, data, figure and command."""
    room = 2 + max(len(entry.name) for entry in entries)
    for heading, found in _parts(entries):
        yield from (heading, "")
        for entry in found:
            said = (*entry.told(), *entry.more())
            lines = [line for text in said for line in wrap(text, WIDTH - room, break_on_hyphens=False)]
            yield from (f"{head:{room}}{line}" for head, line in zip_longest([entry.name], lines, fillvalue=""))
            yield ""


def _parts(entries: Sequence[Entry]) -> Iterator[tuple[str, list[Entry]]]:
    """Yield the systems and the zoo with their headings, as far as there are any."""
    for heading, of_the_zoo in HEADINGS.items():
        found = [entry for entry in entries if entry.is_of_the_zoo == of_the_zoo]
        if found:
            yield heading, found


def catalogue(facts: Mapping[str, Any] | None = None) -> list[Entry]:
    """All specs that ship, by ``facts``, which are those of the catalogue's file."""
    known = read_facts() if facts is None else facts
    return [_entry(name, path, known[name]) for name, path in shipped().items() if name in known]


def found(word: str | None = None) -> list[Entry]:
    """Return the specs that ship, or those that mention a word. Raises UserError E0901 where none does."""
    entries = catalogue()
    chosen = [entry for entry in entries if word is None or entry.mentions(word)]
    if not chosen:
        names = ", ".join(entry.name for entry in entries)
        raise UserError(f"no spec that ships mentions {word}", code="E0901", help=f"there are {names}")
    return chosen


def read_facts() -> dict[str, Any]:
    """The facts of each spec, as JSON."""
    return dict(json.loads(resource("specs", "catalogue.json").read_text(encoding="utf-8")))


def _entry(name: str, path: Path, facts: Mapping[str, Any]) -> Entry:
    measured = Measured(**facts["measured"]) if facts["measured"] else None
    return Entry(
        name, facts["about"], path, facts["class"], facts["rule"], tuple(facts["data"]), measured, facts["remark"]
    )
