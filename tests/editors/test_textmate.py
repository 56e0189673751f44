"""The extension for VS Code: its grammar has the words of the language, its snippets are specs.

How the grammar colours specs is tested with VS Code's own engine, by ``editors/build``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from energyc.highlight import LOGIC, SPECIAL
from energyc.language.diagnostics import Source
from energyc.language.resolve.words import LANGUAGE_FUNCTIONS, LAWS, SETS
from energyc.language.syntax import parse
from energyc.language.syntax.scan import DECLARATION_WORDS, EQUATION_WORDS, SETTINGS_WORDS
from energyc.pipeline import resolve
from energyc.version import __version__
from tests.editors.words import INSIDE, OTHERS, one_of

VSCODE = Path(__file__).resolve().parents[2] / "editors" / "vscode"
GRAMMAR = VSCODE / "syntaxes" / "energy.tmLanguage.json"
NAME = "[A-Za-z_][A-Za-z_0-9]*"


#: The patterns with words of the language, by their place in the grammar.
PATTERNS = {
    ("settings", "begin"): rf"\b({one_of(SETTINGS_WORDS)})\b\s*(?:({NAME})\s+(in)\s+({NAME})\s*)?(\{{)",
    ("equations", "match"): rf"\b({one_of(EQUATION_WORDS)})\b(?:\s+({NAME}))?",
    ("declarations", "match"): rf"\b(?:{one_of(DECLARATION_WORDS)})\b",
    ("inside", "match"): rf"\b(?:{one_of(INSIDE)})\b",
    ("logic", "match"): rf"\b(?:{one_of(LOGIC)})\b",
    ("others", "match"): rf"\b(?:{one_of(OTHERS)})\b",
    ("functions", "match"): rf"\b(?:{one_of(LANGUAGE_FUNCTIONS)})\b(?='?\s*[\[(])",
    ("laws", "match"): rf"(~)\s*({one_of(LAWS)})\b",
    ("sets", "match"): rf"\b(?:{one_of(SETS)})\b",
    ("special", "match"): rf"\b(?:{one_of(SPECIAL)})\b",
}


def grammar() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(GRAMMAR.read_text(encoding="utf-8"))
    return read


def test_the_words_are_those_of_the_language(update_golden: bool) -> None:
    """With ``--update-golden`` they are written into the grammar."""
    found = grammar()
    if update_golden:
        for (name, key), pattern in PATTERNS.items():
            found["repository"][name][key] = pattern
        GRAMMAR.write_text(json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    assert {place: found["repository"][place[0]][place[1]] for place in PATTERNS} == PATTERNS


def test_each_pattern_is_used_and_is_an_expression() -> None:
    found = grammar()
    text = json.dumps(found)
    for name in found["repository"]:
        assert f'"#{name}"' in text, name
    for pattern in re.findall(r'"(?:match|begin|end)": ("(?:[^"\\]|\\.)*")', text):
        re.compile(json.loads(pattern))


@pytest.mark.parametrize("name", ["package.json", "language-configuration.json", "snippets/energy.json"])
def test_a_file_of_the_extension_is_json(name: str) -> None:
    assert isinstance(json.loads((VSCODE / name).read_text(encoding="utf-8")), dict)


def test_the_extension_has_the_version_of_energyc() -> None:
    package = json.loads((VSCODE / "package.json").read_text(encoding="utf-8"))
    lock = json.loads((VSCODE / "package-lock.json").read_text(encoding="utf-8"))
    assert package["version"] == lock["version"] == __version__
    for place in [
        package["contributes"]["languages"][0]["configuration"],
        package["contributes"]["snippets"][0]["path"],
    ]:
        assert (VSCODE / place).exists()
    assert package["devDependencies"] == lock["packages"][""]["devDependencies"]


def _filled(body: str | list[str]) -> str:
    """The text of a snippet with its defaults, or its first choices; ``$1`` is repeated."""
    text = body if isinstance(body, str) else "\n".join(body)
    text = re.sub(r"\$\{\d+\|([^,|]*(?:\([^)]*\))?)[^|]*\|\}", r"\1", text)
    defaults = dict(re.findall(r"\$\{(\d+):((?:[^{}]|\{[^{}]*\})*)\}", text))
    text = re.sub(r"\$\{(\d+):((?:[^{}]|\{[^{}]*\})*)\}", r"\2", text)
    return re.sub(r"\$(\d+)", lambda found: defaults[found[1]], text)


SNIPPETS = json.loads((VSCODE / "snippets" / "energy.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_snippet_is_part_of_a_spec(name: str) -> None:
    text = _filled(SNIPPETS[name]["body"])
    assert "$" not in text
    assert parse(Source("spec.energy", text if name == "network" else f"network around\n{text}")).statements


def test_the_network_of_the_snippet_is_compiled() -> None:
    assert resolve(Source("spec.energy", _filled(SNIPPETS["network"]["body"]))).cost is not None
