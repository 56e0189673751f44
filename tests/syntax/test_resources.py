"""The data folders are found."""

from __future__ import annotations

import json

import pytest

from energyc.language.syntax import parse, read_source
from energyc.language.syntax.grammar import TABLES, grammar, identity, tables, tables_are_current
from energyc.resources import folder, resource


@pytest.mark.parametrize("name", ["grammar", "codegen", "specs"])
def test_a_data_folder_is_found(name) -> None:
    assert folder(name).is_dir()


def test_a_file_in_it() -> None:
    assert resource("grammar", "energy.lark").is_file()


def test_the_tables_of_the_grammar_are_of_this_grammar(update_golden: bool) -> None:
    """``--update-golden`` writes them."""
    path, text = resource("grammar", TABLES), resource("grammar", "energy.lark").read_text(encoding="utf-8")
    if update_golden and not tables_are_current():
        path.write_text(tables(), encoding="utf-8")
    assert json.loads(path.read_text(encoding="utf-8"))["made_of"]["grammar"] == identity(text)["grammar"]


@pytest.mark.slow
def test_the_shipped_tables_parse_as_new_ones_do(monkeypatch: pytest.MonkeyPatch) -> None:
    sources = [read_source(path) for path in sorted(folder("specs").glob("*.energy"))]
    grammar.cache_clear()
    by_shipped = [parse(source) for source in sources]
    grammar.cache_clear()
    monkeypatch.setattr("energyc.language.syntax.grammar._read_tables", lambda: None)
    assert [parse(source) for source in sources] == by_shipped
    grammar.cache_clear()
