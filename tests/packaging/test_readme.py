"""The README's commands are those that are run, and what it shows is what the compiler writes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def _blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_ci_runs_the_readme_s_test_command() -> None:
    (command,) = [line for block in _blocks("sh") for line in block.splitlines() if "bin/pytest" in line]
    assert command in (ROOT / ".ci" / "run").read_text().splitlines()


def test_the_readme_s_extras_exist() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for named in re.findall(r'"\.\[([\w,]+)\]"', README):
        assert set(named.split(",")) <= extras.keys()


def test_the_readme_s_times_stand_in_the_table_of_their_command() -> None:
    """Milliseconds of an update, in each of its columns."""
    table = (ROOT / "benchmarks" / "results" / "against.md").read_text()
    measured, shown = _rows(table), _rows(README[README.index("## Speed") :])
    assert len(shown) >= 6
    for name, times in shown.items():
        assert times == {column: measured[name].get(NAMES.get(column, column), "") for column in times}


#: The columns of the README that have another name in the table.
NAMES = {"energyc, C++ kernels": "energyc, kernels"}


def _rows(text: str) -> dict[str, dict[str, str]]:
    """The first table of a text: its rows by their names, each by its columns."""
    lines = [line.replace("*", "").strip("| ") for line in text.splitlines() if line.startswith("|")]
    head, _, *rows = ([cell.strip() for cell in line.split("|")] for line in lines)
    return {row[0]: dict(zip(head, row[1:], strict=False)) for row in rows}


def test_the_moving_picture_is_small_and_draws_itself() -> None:
    for name in ("relaxation", "relaxation-still"):
        text = (ROOT / "docs" / "assets" / f"{name}.svg").read_text()
        assert len(text) < 80_000 and "<script" not in text and text.count("http") == 1  # the name of SVG itself
        assert ("<animate " in text) == (name == "relaxation")
    assert "docs/assets/relaxation.svg" in README


def test_the_readme_s_spec_and_code_belong_together() -> None:
    from energyc.language.diagnostics import Source
    from energyc.pipeline import emit, resolve

    (spec,) = _blocks("energy")
    made = emit(resolve(Source("README.energy", spec))).text
    shown = [block for block in _blocks("python") if "def _force" in block]
    assert shown
    for block in shown:
        lines = [line.strip() for line in block.splitlines() if line.strip() and line.strip() != "..."]
        assert all(line in made for line in lines), [line for line in lines if line not in made]


def test_every_link_in_the_documents_leads_somewhere() -> None:
    for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        words = re.sub(r"```.*?```|`[^`]*`", "", (ROOT / name).read_text(), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)#]+)\)", words):
            assert link.startswith("https://") or (ROOT / link).exists(), f"{name}: {link}"
