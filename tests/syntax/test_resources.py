"""The data folders are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from energyc.language.diagnostics import Source
from energyc.language.syntax import parse
from energyc.language.syntax.grammar import TABLES, grammar
from energyc.resources import cache, folder, resource


@pytest.mark.parametrize("name", ["grammar", "codegen", "specs"])
def test_a_data_folder_is_found(name) -> None:
    assert folder(name).is_dir()


def test_a_file_in_it() -> None:
    assert resource("grammar", "energy.lark").is_file()


def _parsed_anew():
    grammar.cache_clear()
    return parse(Source("a", "# A.\nnetwork a\nstate z\nenergy e = z^2\n"))


def test_the_tables_of_the_grammar_are_kept_and_made_anew(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    tables = tmp_path / "energyc" / TABLES
    made, kept = _parsed_anew(), tables.read_bytes()
    hashed, _, rest = kept.partition(b"\n")
    assert _parsed_anew() == made
    for broken in (b"", kept[: len(kept) // 2], b"other\n" + rest):
        tables.write_bytes(broken)
        assert _parsed_anew() == made
        assert tables.read_bytes()[: len(hashed)] == hashed
    grammar.cache_clear()


def test_without_a_cache_folder_nothing_is_kept(tmp_path, monkeypatch) -> None:
    (tmp_path / "energyc").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache() is None
    assert _parsed_anew()
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", _homeless)
    assert cache() is None
    grammar.cache_clear()


def _homeless() -> Path:
    raise RuntimeError("no home")
