"""The logs of a run, one JSON object a line, the same bytes for the same run; and the writer of all its files."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from energyc.files import SafePath
from energyc.running.folder import checkpoints
from energyc.running.folder.checkpoints import Checkpoint
from energyc.running.folder.fit import refuse
from energyc.running.folder.formats import Malformed, RelaxationRow, parse_relaxation, parse_row
from energyc.running.folder.layout import RunFolder, unreadable, writing

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


# ------------------------------------------------------------------ all that a run writes


class Writer:
    """The writer of a run; ``saved`` is the step of the newest checkpoint.

    Each method raises UserError E0513 if the folder cannot be written. An idle writer knows what is saved, and writes
    nothing.
    """

    def __init__(self, out: Path, *, idle: bool) -> None:
        self.saved: int | None = None
        self._out, self._folder, self._idle = out, RunFolder(out), idle
        self._log, self._timings = MetricsLog(self._folder.metrics), MetricsLog(self._folder.timings)
        self._relaxations = MetricsLog(self._folder.relaxations)

    @property
    def _logs(self) -> tuple[MetricsLog, ...]:
        return self._log, self._timings, self._relaxations

    def begin(self, files: Mapping[str, str], info: Mapping[str, Any]) -> None:
        """Fill the folder; ``run.json`` comes last, so that a folder with it can be resumed."""
        if self._idle:
            return
        with writing(self._out, None):
            for folder in (self._folder.checkpoints, self._folder.pictures):
                folder.mkdir()
            for name, text in files.items():
                (self._folder / name).write_utf8(text)
            for log in self._logs:
                log.clear()
            self._folder.write_info(info)

    def resume(self, step: int, info: Mapping[str, Any] | None, best: int | None, *, evaluated: bool) -> None:
        """Cut the logs and the checkpoints at ``step``, and replace ``run.json`` if ``info`` is given."""
        self.saved = step
        if self._idle:
            return
        with writing(self._out, step):
            checkpoints.discard_after(self._folder.checkpoints, step)
            checkpoints.prune(self._folder.checkpoints, best)
            for log in self._logs:
                log.truncate(step, evaluated=evaluated)
            if info is not None:
                self._folder.write_info(info)

    def row(self, row: Row) -> None:
        """Write the row of an update."""
        if not self._idle:
            with writing(self._out, self.saved):
                self._log.write(row)

    def evaluation(self, rows: Sequence[Row], times: Mapping[str, float], relaxation: Row | None) -> None:
        """Write the rows of an evaluation, the ``times`` in seconds at its end, and how some samples relaxed there."""
        if not self._idle:
            with writing(self._out, self.saved):
                for row in rows:
                    self._log.write(row)
                if relaxation is not None:
                    self._relaxations.write(relaxation)
                self._timings.write({"step": rows[-1]["step"], **{name: round(t, 3) for name, t in times.items()}})

    def save(self, checkpoint: Checkpoint, best: int | None) -> None:
        """Write a checkpoint, and remove all but the two newest and that of step ``best``."""
        if not self._idle:
            with writing(self._out, self.saved):
                checkpoints.save(self._folder.checkpoints, checkpoint)
        self.saved = checkpoint.step
        if not self._idle:
            checkpoints.prune(self._folder.checkpoints, best)
