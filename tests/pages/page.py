"""Pages that are documentation and tests at once: specs in ``energy`` blocks, what is said in ``text`` blocks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from energyc.language.diagnostics import Diagnostic, Source, SpecError, render_text
from energyc.pipeline import Choices, resolve

NAME = "spec.energy"
_BLOCK = re.compile(r"^```(?P<kind>energy|text)(?P<options>[^\n]*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Example:
    """A spec of a page; ``expected`` is the text block right behind it (its place in the page is ``place``), if any.

    ``options`` are what stands behind the fence's ``energy``: ``preset=small``, ``D=3``, ``relax.step=2``.
    """

    spec: str
    options: Mapping[str, str]
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
        options = dict(word.split("=", 1) for word in block["options"].split())
        place = following.span("text") if answered and following else (0, 0)
        found.append(Example(block["text"], options, expected, place))
    return found


def said_of(example: Example) -> tuple[Diagnostic, ...]:
    """The diagnostics of a spec, errors or warnings."""
    overrides = dict(example.options)
    preset = overrides.pop("preset", None)
    try:
        return resolve(Source(NAME, example.spec), Choices(preset, overrides)).warnings
    except SpecError as error:
        return error.diagnostics


def rendered(example: Example) -> str:
    """The page as a user sees it."""
    return render_text(said_of(example), Source(NAME, example.spec)) + "\n"


def rewrite(path: Path) -> None:
    """Put what is said today into the text blocks of a page."""
    page = path.read_text(encoding="utf-8")
    for example in reversed(examples(page)):
        if example.expected is not None:
            start, end = example.place
            page = page[:start] + rendered(example) + page[end:]
    path.write_text(page, encoding="utf-8")
