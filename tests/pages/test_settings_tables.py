"""The tables of settings in docs/: made from the blocks of ``energyc.language.settings``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from energyc.language.settings import Nudge, Relax, TrainOptions, table, written
from energyc.language.settings.table import Setting
from energyc.runtime.rules import RULES

DOCS = Path(__file__).parents[2] / "docs"
PLACES = (("language.md", Relax), ("language.md", Nudge), ("training.md", TrainOptions))


@pytest.mark.parametrize(("page", "block"), PLACES, ids=lambda value: getattr(value, "word", None))
def test_the_table_has_every_setting(page: str, block: type[Any], update_golden: bool) -> None:
    path = DOCS / page
    before, start, rest = path.read_text(encoding="utf-8").partition(f"<!-- settings of {block.word} -->\n")
    shown, end, after = rest.partition("<!-- end -->\n")
    assert start and end
    if update_golden:
        shown = rendered(block)
        path.write_text(before + start + shown + end + after, encoding="utf-8")
    assert shown == rendered(block)


def test_the_settings_that_rules_declare_are_in_the_table() -> None:
    assert {name for rule in RULES.values() for name in rule.settings} <= table(Nudge).keys()


def rendered(block: type[Any]) -> str:
    """The settings of a block as a table in Markdown."""
    rows = [("setting", "takes", "default", "meaning"), ("---",) * 4]
    rows += [
        (_names(name, row), _takes(row), _default(block, name, row), row.meaning) for name, row in table(block).items()
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _names(name: str, row: Setting) -> str:
    return f"`{name}`, `{name}.{row.owner.upper()}`" if row.owner else f"`{name}`"


def _takes(row: Setting) -> str:
    """The words that it takes as code, the rest as it is."""
    text = row.kind.wanted.replace("whole number", f"whole number of {row.unit}") if row.unit else row.kind.wanted
    text += f"; of one {row.owner} {row.each.wanted}" if row.each else ""
    return _words(row, text) if row.kind.words else re.sub(r"\b(?:none|auto|true|false)\b|\[.*\]", r"`\g<0>`", text)


def _words(row: Setting, text: str) -> str:
    _, call, example = text.partition(", or a call as ")
    words = ", ".join(f"`{word}`" for word in row.kind.words)
    return f"{words}, or a call as `{example}`" if call else words


def _default(block: type[Any], name: str, row: Setting) -> str:
    value = getattr(block(), name)
    if row.otherwise or value is None:
        return row.otherwise or "none"
    return f"{value:g}" if isinstance(value, float) else f"`{written(value)}`"
