"""The progress of a run: a bar on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from energyc.settings.train import ALWAYS_MEASURED
from energyc.train.metrics_log import Row
from energyc.train.numbers import format_number

_DECAY = 0.95  # of the running mean of the cost that is shown, and only shown


class Reporter:
    """A reporter that shows nothing, and the base of the others; a context manager around the run."""

    def __enter__(self) -> Reporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def begin(self, title: str, step: int, total: int) -> None:
        """A run of ``total`` updates begins, or resumes at ``step``."""

    def update(self, row: Row) -> None:
        """An update was made."""

    def evaluation(self, row: Row) -> None:
        """The network was evaluated."""

    def message(self, text: str) -> None:
        """A message to the user."""


class PlainReporter(Reporter):
    """One line for each evaluation."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._title, self._first, self._total, self._start = "", 0, 0, 0.0

    def begin(self, title: str, step: int, total: int) -> None:
        """Remember the progress of the run."""
        self._title, self._first, self._total, self._start = title, step, total, time.monotonic()

    def evaluation(self, row: Row) -> None:
        """Write the held-out numbers and the time left."""
        self._write(f"{self._title}: step {row['step']}/{self._total}  {held_out(row)}  {self._left(row['step'])}")

    def message(self, text: str) -> None:
        """Write it."""
        self._write(text)

    def _left(self, step: int) -> str:
        done = step - self._first
        if done <= 0 or step >= self._total:
            return f"{time.monotonic() - self._start:.0f} s"
        return f"{(time.monotonic() - self._start) / done * (self._total - step):.0f} s left"

    def _write(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


class BarReporter(Reporter):
    """A progress bar with cost, held-out numbers, residual and the time left."""

    def __init__(self, console: Console) -> None:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[shown]}", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("left", style="dim"),
        )
        self._progress = Progress(*columns, console=console)
        self._task = self._progress.add_task("", total=None, shown="")
        self._cost: float | None = None
        self._held_out = ""

    def __enter__(self) -> Reporter:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, title: str, step: int, total: int) -> None:
        """Start the bar at ``step``; the time left is that of the updates made since."""
        self._cost, self._held_out = None, ""
        self._progress.reset(self._task, total=total, completed=step, description=title, shown="")

    def update(self, row: Row) -> None:
        """Move the bar."""
        cost = row["cost"]
        self._cost = cost if self._cost is None else _DECAY * self._cost + (1 - _DECAY) * cost
        shown = f"cost {self._cost:.4g}  residual {row['residual']:.1e}  {self._held_out}"
        self._progress.update(self._task, completed=row["step"], shown=shown)

    def evaluation(self, row: Row) -> None:
        """Show the held-out numbers beside the bar."""
        self._held_out = held_out(row)

    def message(self, text: str) -> None:
        """Write above the bar."""
        self._progress.console.print(text, highlight=False, markup=False)


def make_reporter(*, quiet: bool = False, console: Console | None = None) -> Reporter:
    """The reporter for a console; progress goes to standard error, results to standard output."""
    console = console or Console(stderr=True)
    if quiet:
        return Reporter()
    return BarReporter(console) if console.is_terminal else PlainReporter(console)


def held_out(row: Mapping[str, Any]) -> str:
    """``test cost 0.0123, accuracy 96.10%, residual 1.0e-04`` of an evaluation."""
    skipped = {"step", "kind", "epoch", "split", "cost", *ALWAYS_MEASURED}
    parts = [f"test cost {row['cost']:.4g}"]
    parts += [f"{name} {format_number(name, value)}" for name, value in row.items() if name not in skipped]
    return ", ".join([*parts, f"residual {row['residual']:.1e}"])
