"""The language reference: its specs resolve, its fragments parse and stand in canonical layout."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from energyc.language.diagnostics import Source
from energyc.language.resolve.words import LANGUAGE_FUNCTIONS, LAWS, SETS
from energyc.language.syntax import format_spec, parse
from energyc.language.syntax.scan import RESERVED
from tests.pages.page import examples, said_of

PAGE = (Path(__file__).parents[2] / "docs" / "language.md").read_text(encoding="utf-8")
FRAGMENTS = re.findall(r"^```statements\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_specs_of_the_page_are_right() -> None:
    specs = examples(PAGE)
    assert specs
    for example in specs:
        assert said_of(example) == ()
        assert format_spec(Source("t", example.spec)) == example.spec


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_the_fragments_of_the_page_parse(fragment: str) -> None:
    assert parse(Source("t", "network n\n" + fragment)).statements


@pytest.mark.parametrize("word", sorted(RESERVED | LANGUAGE_FUNCTIONS | set(LAWS) | set(SETS)))
def test_every_word_of_the_language_is_on_the_page(word: str) -> None:
    assert re.search(rf"`[^`\n]*\b{word}\b[^`\n]*`", PAGE)
