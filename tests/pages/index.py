"""The index of the error reference, made of the titles of its pages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

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


def index(pages: Sequence[Path]) -> str:
    """The text of the index."""
    parts = [HEAD]
    for prefix, title in GROUPS.items():
        entries = [_entry(page) for page in pages if page.stem.startswith(prefix)]
        if entries:
            parts.append(f"## {title}\n\n" + "".join(entries))
    return "\n".join(parts)


def _entry(page: Path) -> str:
    code, _, title = page.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ").partition(": ")
    return f"- [{code}]({page.name}) {title}\n"
