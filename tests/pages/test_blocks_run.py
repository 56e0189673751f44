"""Shell and Python blocks of the pages are run, each page in a folder of its own, or marked with the reason why not.

| fence | what is run |
|---|---|
| ``sh`` | its lines, by a shell that stops at the first failure |
| ``console`` | the lines behind ``$``; what they print is compared, where ``...`` stands for anything |
| ``python`` | its lines, with the names of the page's earlier blocks |
| ``... title="NAME"`` | nothing: the block becomes a file of that name |

A comment ``<!-- not run: REASON -->`` above a fence marks a block that is not run, and ``<!-- first: COMMAND -->`` runs
a command before it, as a reader would have done by then.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "benchmarks" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
]
LANGUAGES = ("sh", "console", "python")
#: Pages that train for half a minute.
LONG = (
    "for-ep-papers", "for-hardware", "for-layers", "tutorial", "interface", "from-a-paper", "from-torch",
    "hardware", "sympy",
)  # fmt: skip
_FENCE = re.compile(
    r"(?:<!-- not run: (?P<why>[^\n]+?) -->\n+|<!-- first: (?P<first>[^\n]+?) -->\n+)?"
    r"^(?P<indent> *)```(?P<language>\w+)(?P<options>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
#: Runs what a page holds; its argument is a list of (language, text).
DRIVER = """
import subprocess, sys
names = {"__name__": "page"}
for language, text in BLOCKS:
    if language == "python":
        exec(compile(text, "<python block>", "exec"), names)
    else:
        done = subprocess.run(["bash", "-e", "-c", text])
        if done.returncode:
            sys.exit(f"exit status {done.returncode} of:\\n{text}")
"""


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    title: str | None
    why_not: str | None


def blocks(page: Path) -> list[Block]:
    found = []
    for match in _FENCE.finditer(page.read_text(encoding="utf-8")):
        title = re.search(r'title="([\w.]+)"', match["options"])
        text = re.sub(rf"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
        if match["first"]:
            found.append(Block("sh", match["first"], None, None))
        found.append(Block(match["language"], text, title[1] if title else None, match["why"]))
    return found


def runs(page: Path) -> list[Block]:
    return [b for b in blocks(page) if (b.language in LANGUAGES or b.title) and not b.why_not]


def case(page: Path) -> Any:
    return pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in LONG else [])


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "200"}


@pytest.mark.abridged
@pytest.mark.parametrize("page", [case(page) for page in PAGES if runs(page)])
def test_the_blocks_of_a_page_run(page: Path, tmp_path: Path) -> None:
    for folder in ("specs", "reference"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    driven: list[tuple[str, str]] = []
    for block in runs(page):
        if block.title:
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
        elif block.language == "console":
            assert run(driven, tmp_path) == ""
            driven = []
            check_console(block.text, tmp_path)
        else:
            driven.append((block.language, block.text))
    assert run(driven, tmp_path) == ""


def run(driven: list[tuple[str, str]], folder: Path) -> str:
    """The output of a run that fails, else nothing. Each call begins without the names of earlier ones."""
    if not driven:
        return ""
    script = f"BLOCKS = {driven!r}\n{DRIVER}"
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=folder, env=environment(), capture_output=True, text=True, timeout=600
    )
    return "" if done.returncode == 0 else f"{done.stdout}\n{done.stderr}"


def check_console(text: str, folder: Path) -> None:
    """Commands behind ``$``, each with what it prints below it."""
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", text, re.MULTILINE):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        pattern = ".*?".join(re.escape(part) for part in squeezed(expected).split("..."))
        matched = re.fullmatch(pattern, squeezed(done.stdout), re.DOTALL) is not None
        assert matched, f"$ {command}\n{done.stdout}"


def squeezed(text: str) -> str:
    """Text without the widths of columns."""
    return re.sub(r" +", " ", text.rstrip())
