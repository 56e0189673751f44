"""Pages that are documentation and tests at once: specs in ``energy`` blocks, what is said in ``text`` blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from energyc.data import find_adapter
from energyc.data.schema import Schema
from energyc.diagnostics import Diagnostic, Source, SpecError, render_text
from energyc.resolve import resolve
from energyc.syntax import parse

NAME = "spec.energy"
_BLOCK = re.compile(r"^```(?P<kind>energy|text)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A spec of a page; ``expected`` is the text block right behind it (its place in the page is ``place``), if any."""

    spec: str
    expected: str | None
    place: tuple[int, int]


def examples(page: str) -> list[Example]:
    """The specs of a page, in order."""
    blocks = list(_BLOCK.finditer(page))
    found = []
    for block, following in zip_longest(blocks, blocks[1:]):
        if block["kind"] != "energy":
            continue
        answered = following is not None and following["kind"] == "text"
        expected = following["text"] if answered and following is not None else None
        found.append(Example(block["text"], expected, following.span("text") if answered and following else (0, 0)))
    return found


def said_of(spec: str) -> tuple[Diagnostic, ...]:
    """The diagnostics of a spec, errors or warnings."""
    source = Source(NAME, spec)
    try:
        return resolve(parse(source), source, schemas=_schema).warnings
    except SpecError as error:
        return error.diagnostics


def rendered(spec: str) -> str:
    """What a user sees."""
    return render_text(said_of(spec), Source(NAME, spec)) + "\n"


def rewrite(path: Path) -> None:
    """Put what is said today into the text blocks of a page."""
    page = path.read_text(encoding="utf-8")
    for example in reversed(examples(page)):
        if example.expected is not None:
            start, end = example.place
            page = page[:start] + rendered(example.spec) + page[end:]
    path.write_text(page, encoding="utf-8")


def _schema(adapter: str, options: Mapping[str, Any]) -> Schema:
    return find_adapter(adapter).schema(options)
