"""The lexer for Pygments: its words are those of the language, and no text of a spec is lost or an error."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest
from pygments.token import Comment, Error, Keyword, Name, Operator, String, Whitespace

from energyc.highlight import EnergyLexer
from energyc.language.resolve.words import LANGUAGE_FUNCTIONS, LAWS, SETS
from energyc.language.syntax.scan import RESERVED
from energyc.runtime.rules import RULES

ROOT = Path(__file__).resolve().parents[2]
SPECS = sorted((ROOT / "specs").glob("*.energy"))
#: The pages of the error reference show what is not a spec.
PAGES = sorted(page for page in [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"] if page.parent.name != "errors")
BLOCKS = [
    pytest.param(block, id=f"{page.stem}-{number}")
    for page in PAGES
    for number, block in enumerate(re.findall(r"^```energy[^\n]*\n(.*?)^```$", page.read_text(), re.M | re.S))
]


def lexed(text: str) -> list[tuple[object, str]]:
    return [(kind, value) for _, kind, value in EnergyLexer(ensurenl=False, stripnl=False).get_tokens_unprocessed(text)]


def kinds(text: str, word: str) -> set[object]:
    return {kind for kind, value in lexed(text) if value == word}


@pytest.mark.parametrize("text", [*(pytest.param(path.read_text(), id=path.stem) for path in SPECS), *BLOCKS])
def test_no_token_is_an_error(text: str) -> None:
    tokens = lexed(text)
    assert "".join(value for _, value in tokens) == text
    assert [value for kind, value in tokens if kind is Error] == []
    comments = re.findall(r"#[^\n]*", text)
    assert [value for kind, value in tokens if kind is Comment.Single] == comments


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
def test_statement_words_of_shipped_specs_are_keywords(path: Path) -> None:
    """The first word of each line that begins a statement."""
    for line in path.read_text().splitlines():
        word = line.strip().partition(" ")[0]
        if word in RESERVED:
            kind, value = next(token for token in lexed(line.strip()))
            assert value == word and kind in Keyword, line


@pytest.mark.parametrize("word", sorted(RESERVED))
def test_every_word_of_the_language_is_one(word: str) -> None:
    (kind,) = kinds(f" {word} ", word)
    assert kind in Keyword or kind is Operator.Word
    assert kinds(f"{word}s x{word} {word}_", word) == set(), "a part of a name is none"


def test_functions_laws_and_sets_are_known() -> None:
    for name in LANGUAGE_FUNCTIONS:
        assert kinds(f"let a = {name}[i](u) + {name}(v)", name) == {Name.Builtin}
        assert kinds(f"let {name}s = 1", name) == set()
    for name in LAWS:
        assert kinds(f"param W[A, B] ~ {name}", name) == {Name.Class}
    for name in SETS:
        assert kinds(f"state z[D] in {name}[D]", name) == {Name.Builtin.Pseudo}


def test_names_in_blocks_of_settings_are_settings() -> None:
    text = "train { rule = tracking-aep, penalty = jacobian(target = 1e-4), lr.W = [0.1, 2] }"
    text += " preset p { relax.step = auto, in = 3 }"
    assert kinds(text, "rule") == kinds(text, "lr.W") == kinds(text, "relax.step") == {Name.Attribute}
    assert kinds(text, "target") == kinds(text, "in") == {Name.Attribute}
    assert kinds(text, "tracking-aep") == kinds(text, "auto") == {String.Symbol}
    for rule in RULES:
        assert kinds(f"train {{ rule = {rule} }} let a = b", rule) == {String.Symbol}
    assert kinds("relax t in T { step = 1 } let a = b", "a") == {Name.Function}
    assert kinds("data d = digits(side = 8) let side = 1", "side") == {Name.Attribute, Name.Function}


def test_what_is_no_spec_has_errors_where_it_is_none() -> None:
    tokens = lexed("let a = b @ c; $d$\n")
    assert [value for kind, value in tokens if kind is Error] == ["@", ";", "$", "$"]
    assert "".join(value for _, value in tokens) == "let a = b @ c; $d$\n"
    assert Whitespace in {kind for kind, _ in tokens}


def test_the_entry_point_names_the_lexer() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    module, _, name = project["entry-points"]["pygments.lexers"]["energy"].partition(":")
    assert getattr(importlib.import_module(module), name) is EnergyLexer
    assert any(dependency.startswith("pygments") for dependency in project["dependencies"])
