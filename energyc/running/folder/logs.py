"""The logs of a run: one JSON object a line for each update and evaluation, the same bytes for the same run."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from energyc.files import SafePath
from energyc.running.folder.fit import refuse
from energyc.running.folder.formats import Malformed, RelaxationRow, parse_relaxation, parse_row
from energyc.running.folder.layout import unreadable

Row = dict[str, Any]
R = TypeVar("R", bound=Mapping[str, Any])

#: Bytes of the largest log that is read.
_LARGEST_LOG = 2 << 30


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
        too. Raises OSError; UserError as ``numbered_rows``.
        """
        if not self._path.exists():
            return
        last = step if evaluated else step - 1
        lines = [
            line
            for line, row in numbered_rows(self._path, parse_row)
            if row["step"] <= (step if row.get("kind") == "train" else last)
        ]
        self._path.write_utf8("".join(line + "\n" for line in lines))


def read_rows(path: SafePath) -> list[Row]:
    """Read all rows of ``metrics.jsonl``, but an unfinished last line. Raises UserError as ``numbered_rows``."""
    return [row for _, row in numbered_rows(path, parse_row)]


def read_relaxations(path: SafePath) -> list[RelaxationRow]:
    """Read all rows of ``relaxations.jsonl``. Raises UserError as ``numbered_rows``."""
    return [row for _, row in numbered_rows(path, parse_relaxation)]


def numbered_rows(path: SafePath, parse_line: Callable[[str], R]) -> list[tuple[str, R]]:
    """Read the lines of a log with their rows, but a last line that a killed run left unfinished; none without a file.

    Raises UserError: E0511 if the log cannot be read, E0514 for a row that no run writes, and for one whose step comes
    after a later one.
    """
    try:
        lines = path.read_utf8(_LARGEST_LOG, errors="replace").splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unreadable(path, error) from None
    while lines and not _is_json(lines[-1]):
        lines.pop()
    rows: list[R] = []
    refuse(_wrong_rows(lines, parse_line, rows), path.name)
    return list(zip(lines, rows, strict=True))


def _wrong_rows(lines: list[str], parse_line: Callable[[str], R], rows: list[R]) -> Iterator[str]:
    """Parse lines into ``rows``, up to the first that is wrong."""
    for number, line in enumerate(lines, 1):
        try:
            row = parse_line(line)
        except Malformed as error:
            yield f"line {number}: {error}"
            return
        if rows and row["step"] < rows[-1]["step"]:
            yield f"line {number}: step {row['step']} after step {rows[-1]['step']}"
        rows.append(row)


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _null_if_not_finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
