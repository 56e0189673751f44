"""The error reference: every code has its page, and what a page shows is what a user sees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.pages.page import examples, rendered, rewrite, said_of

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs" / "errors").glob("[EW]*.md"))
CODE = re.compile(r"\"([EW]0\d{3})\"")
HEAD = """# Error reference

Every diagnostic of energyc has a code, and every code a page: what is wrong, a spec that shows it with what energyc
says of it, and what to write instead. The pages are tests as well: `pytest tests/pages` compares each with today's
output, and `pytest tests/pages --update-golden` rewrites the output and this index.
"""
GROUPS = {
    "E01": "Syntax",
    "E02": "Names",
    "E03": "Indices, dims and shapes",
    "E04": "Statements and equations",
    "E05": "Settings and runs",
    "E06": "Data",
    "E07": "Mathematics",
    "E08": "Size",
    "E09": "Outside a spec",
    "W": "Warnings",
}
#: Codes of mistakes outside a spec: no spec shows them.
OUTSIDE = re.compile(r"E0111|E05[0-3]\d|E08\d\d|E09\d\d")


def codes_in_source() -> set[str]:
    files = [*(ROOT / "energyc").rglob("*.py"), *(ROOT / "grammar").glob("*.toml")]
    return {code for file in files for code in CODE.findall(file.read_text(encoding="utf-8"))}


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert {page.stem for page in PAGES} == codes_in_source()


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_page_shows_what_a_user_sees(path: Path, update_golden: bool) -> None:
    if update_golden:
        rewrite(path)
    page = path.read_text(encoding="utf-8")
    assert page.startswith(f"# {path.stem}: ")
    answered = [example for example in examples(page) if example.expected is not None]
    for example in answered:
        assert rendered(example) == example.expected
    shown = {diagnostic.code for example in answered for diagnostic in said_of(example)}
    assert path.stem in shown or OUTSIDE.fullmatch(path.stem)


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_a_page_recommends_is_free_of_the_error(path: Path) -> None:
    for example in examples(path.read_text(encoding="utf-8")):
        if example.expected is None:
            assert path.stem not in {diagnostic.code for diagnostic in said_of(example)}


def index(pages: Sequence[Path]) -> str:
    """The text of the index, made of the titles of the pages."""
    parts = [HEAD]
    for prefix, title in GROUPS.items():
        entries = [_entry(page) for page in pages if page.stem.startswith(prefix)]
        if entries:
            parts.append(f"## {title}\n\n" + "".join(entries))
    return "\n".join(parts)


def _entry(page: Path) -> str:
    code, _, title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ").partition(": ")
    return f"- [{code}]({page.name}) {title}\n"


def test_the_index_lists_every_page(update_golden: bool) -> None:
    path = ROOT / "docs" / "errors" / "README.md"
    if update_golden:
        path.write_text(index(PAGES), encoding="utf-8")
    assert path.read_text(encoding="utf-8") == index(PAGES)
