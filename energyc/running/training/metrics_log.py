"""``metrics.jsonl``: one JSON object a line for each update and evaluation, the same bytes for the same run."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from energyc.files import SafePath
from energyc.running.training.disk import read_log
from energyc.running.training.formats import Malformed, parse_row

Row = dict[str, Any]


class MetricsLog:
    """A log whose rows are flushed, so that a killed run loses none before its last checkpoint."""

    def __init__(self, path: SafePath) -> None:
        self._path = path

    def write(self, row: Mapping[str, Any]) -> None:
        """Append a row, with null for numbers that are not finite. Raises OSError."""
        self._path.append_utf8(json.dumps({key: _null_if_not_finite(value) for key, value in row.items()}) + "\n")

    def clear(self) -> None:
        """Remove all rows. Raises OSError."""
        self._path.write(b"")

    def truncate(self, step: int, *, evaluated: bool) -> None:
        """Remove the rows after update ``step``, and an unfinished last line; nothing if there is no file.

        The evaluation of that step is repeated unless its checkpoint includes it (``evaluated``), so its row is removed
        too. Raises OSError.
        """
        if not self._path.exists():
            return
        last = step if evaluated else step - 1
        lines = [
            line for line, row in _lines(self._path) if row["step"] <= (step if row.get("kind") == "train" else last)
        ]
        self._path.write_utf8("".join(line + "\n" for line in lines))


def read_rows(path: SafePath) -> list[Row]:
    """Read all complete rows of a log; an unfinished last line is skipped."""
    return [row for _, row in _lines(path)]


def _lines(path: SafePath) -> list[tuple[str, Row]]:
    lines = []
    for line in read_log(path):
        try:
            lines.append((line, parse_row(line)))
        except Malformed:
            continue
    return lines


def _null_if_not_finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
