"""The results: a table by package, and the survivors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.mutation.packages import PACKAGES

KILLED = ("killed", "timeout")


Results = list[dict[str, Any]]


def results(*paths: Path) -> Results:
    """The last result of each mutant, of the files that are there."""
    texts = (path.read_text(encoding="utf-8") for path in paths if path.exists())
    lines = (json.loads(line) for text in texts for line in text.splitlines())
    return list({line["name"]: line for line in lines}.values())


def table(found: Results) -> str:
    """Mutants by package: killed (with those that hang), survived, and those whose function no test enters."""
    lines = ["| package | mutants | killed | of them hang | survived | unreached | share killed |"]
    lines.append("|---|" + 6 * "--:|")
    for package in PACKAGES:
        if any(result["package"] == package for result in found):
            lines.append(_row(package, (r["outcome"] for r in found if r["package"] == package)))
    return "\n".join([*lines, _row("all", (result["outcome"] for result in found))])


def _row(name: str, outcomes: Iterable[str]) -> str:
    counts = Counter(outcomes)
    killed = sum(counts[kind] for kind in KILLED)
    share = f"{killed / counts.total():.0%}"
    cells = (name, counts.total(), killed, counts["timeout"], counts["survived"], counts["unreached"], share)
    return f"| {' | '.join(map(str, cells))} |"


def survivors(found: Results) -> str:
    """The survivors and those that no test enters: the place, the change, how many of the tests that enter it ran."""
    return "\n".join(_told(result) for result in found if result["outcome"] not in KILLED)


def _told(result: dict[str, Any]) -> str:
    place = f"{result['path']}:{result['line']} {result['function']}"
    ran = f"{result['outcome']}, {result['tests']} of {result['of']} tests"
    return f"{place}: {result['old']!r} -> {result['new']!r} ({ran})"
