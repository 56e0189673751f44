"""The progress of a run: a bar on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from energyc.settings.train import ALWAYS_MEASURED
from energyc.train.metrics_log import Row
from energyc.train.numbers import format_number
from energyc.train.run_health import vital_signs

#: Seconds without a line after which a log gets one.
SILENCE = 30.0
#: Characters; a bar of a fixed width is not squeezed out.
BAR_WIDTH = 12
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
    """A line for each evaluation, and one where updates pass for long without."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._title, self._first, self._total, self._start, self._written = "", 0, 0, 0.0, 0.0

    def begin(self, title: str, step: int, total: int) -> None:
        """Remember the progress of the run."""
        self._title, self._first, self._total = title, step, total
        self._start = self._written = self._clock()

    def update(self, row: Row) -> None:
        """Write cost and health, if nothing was written for a while."""
        if self._clock() - self._written >= SILENCE:
            self._progress(row["step"], f"cost {row['cost']:.4g}, {vital_signs(row)}")

    def evaluation(self, row: Row) -> None:
        """Write the held-out numbers."""
        self._progress(row["step"], held_out(row))

    def message(self, text: str) -> None:
        """Write it."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _progress(self, step: int, shown: str) -> None:
        self._written = self._clock()
        self.message(f"{self._time(step):>12}  {self._title}: step {step}/{self._total}  {shown}")

    def _time(self, step: int) -> str:
        """The time left; without one, the time passed."""
        done, seconds = step - self._first, self._clock() - self._start
        if done <= 0 or step >= self._total:
            return f"{seconds:.0f} s"
        return f"{seconds / done * (self._total - step):.0f} s left"


class BarReporter(Reporter):
    """The time left, the step and a bar, which always fit; then cost, health and held-out numbers as far as they do."""

    def __init__(self, console: Console) -> None:
        columns = (
            TimeRemainingColumn(table_column=Column(no_wrap=True)),
            TextColumn("left", style="dim"),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            BarColumn(bar_width=BAR_WIDTH),
            TextColumn("{task.fields[shown]}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
        )
        self._progress = Progress(*columns, console=console, expand=True)
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
        self.message(title)
        self._progress.reset(self._task, total=total, completed=step, shown="")

    def update(self, row: Row) -> None:
        """Move the bar."""
        cost = row["cost"]
        self._cost = cost if self._cost is None else _DECAY * self._cost + (1 - _DECAY) * cost
        shown = ", ".join(filter(None, (f"cost {self._cost:.4g}", vital_signs(row), self._held_out)))
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
