"""``metrics.jsonl``: what happened at which update, one JSON object a line, the same bytes for the same run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from energyc.train.disk import replace_bytes
from energyc.train.formats import Malformed, parse_row

Row = dict[str, Any]


class MetricsLog:
    """Appends rows, each flushed: a killed run loses none that is older than its last checkpoint."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, row: Mapping[str, Any]) -> None:
        """Append a row; what is not finite becomes null. Raises OSError."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({key: _plain(value) for key, value in row.items()}) + "\n")

    def clear(self) -> None:
        """Begin with no rows. Raises OSError."""
        replace_bytes(self._path, b"")

    def truncate(self, step: int, *, evaluated: bool) -> None:
        """Drop the rows after update ``step``, and a last line that a kill left unfinished.

        Unless the checkpoint of that step knows its evaluation (``evaluated``), that is made again: its row goes too.
        Raises OSError.
        """
        last = step if evaluated else step - 1
        kept = [
            line for line, row in _lines(self._path) if row["step"] <= (last if row.get("kind") == "eval" else step)
        ]
        replace_bytes(self._path, "".join(line + "\n" for line in kept).encode())


def read_rows(path: Path) -> list[Row]:
    """All complete rows of a log; an unfinished last line is skipped."""
    return [row for _, row in _lines(path)]


def _lines(path: Path) -> list[tuple[str, Row]]:
    if not path.exists():
        return []
    found = []
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            found.append((line, parse_row(line)))
        except Malformed:
            continue
    return found


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
