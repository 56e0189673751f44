"""The files that a run writes into its folder; one rank writes, the others do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from energyc.running.folder import checkpoints
from energyc.running.folder.checkpoints import Checkpoint
from energyc.running.folder.layout import RunFolder, writing
from energyc.running.folder.logs import MetricsLog, Row


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
