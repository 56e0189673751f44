"""The progress of a run: a bar on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Column

from energyc.language.settings.train import ALWAYS_MEASURED
from energyc.running.folder.logs import Row
from energyc.running.training.numbers import format_number
from energyc.running.training.run_health import vital_signs

#: The longest time between lines, in seconds, while updates pass.
SILENCE = 30.0
#: The columns of a terminal from which on the bar has so many characters; below the narrowest there is none.
BARS = ((100, 12), (80, 8))
#: The columns that the time left takes, with the spaces between columns.
TIME_LEFT = len("0:00:00 left ")
_DECAY = 0.95  # of the running mean of the cost that is shown, and only shown


class Reporter:
    """The base of all reporters, which shows nothing; a context manager around the run."""

    def __enter__(self) -> Reporter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        return None

    def begin(self, title: str, step: int, total: int) -> None:
        """Start the report of a run of ``total`` updates at ``step``."""

    def update(self, row: Row) -> None:
        """Report an update."""

    def evaluation(self, row: Row) -> None:
        """Report an evaluation."""

    def message(self, text: str) -> None:
        """Show a message."""


class PlainReporter(Reporter):
    """A reporter with a line for each evaluation, and for updates if there was none for long."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self._console, self._clock = console, clock
        self._title, self._first, self._total, self._start, self._written = "", 0, 0, 0.0, 0.0

    def begin(self, title: str, step: int, total: int) -> None:
        """Remember the title, the steps and the time."""
        self._title, self._first, self._total = title, step, total
        self._start = self._written = self._clock()

    def update(self, row: Row) -> None:
        """Write cost and health if nothing was written for ``SILENCE``."""
        if self._clock() - self._written >= SILENCE:
            self._progress(row["step"], f"cost {row['cost']:.4g}, {vital_signs(row)}")

    def evaluation(self, row: Row) -> None:
        """Write the held-out numbers."""
        self._progress(row["step"], held_out(row))

    def message(self, text: str) -> None:
        """Write the message."""
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _progress(self, step: int, text: str) -> None:
        self._written = self._clock()
        self.message(f"{self._time(step):>12}  {self._title}: step {step}/{self._total}  {text}")

    def _time(self, step: int) -> str:
        """Return the time left, or the time passed if that is unknown."""
        completed, seconds = step - self._first, self._clock() - self._start
        if completed <= 0 or step >= self._total:
            return f"{seconds:.0f} s"
        return f"{seconds / completed * (self._total - step):.0f} s left"


class BarReporter(Reporter):
    """A progress bar with the time left and the step, then those of cost, held-out numbers and health that fit.

    What does not fit is left out whole, the last first.
    """

    def __init__(self, console: Console) -> None:
        columns = (
            TimeRemainingColumn(table_column=Column(no_wrap=True)),
            TextColumn("left", style="dim"),
            MofNCompleteColumn(table_column=Column(no_wrap=True)),
            *(BarColumn(bar_width=size) for size in [bar_width(console.width)] if size),
            TextColumn("{task.fields[shown]}", markup=False, table_column=Column(no_wrap=True, ratio=1)),
        )
        self._progress = Progress(*columns, console=console, expand=True)
        self._task = self._progress.add_task("", total=None, shown="")
        self._cost: float | None = None
        self._held_out = list[str]()
        self._room = 0

    def __enter__(self) -> Reporter:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def begin(self, title: str, step: int, total: int) -> None:
        """Start the bar at ``step``; the time left is estimated from the updates since then."""
        self._cost, self._held_out = None, []
        taken = TIME_LEFT + len(f"{total}/{total} ")
        bar = bar_width(self._progress.console.width)
        self._room = self._progress.console.width - taken - (bar + 1 if bar else 0)
        self.message(title)
        self._progress.reset(self._task, total=total, completed=step, shown="")

    def update(self, row: Row) -> None:
        """Move the bar."""
        cost = row["cost"]
        self._cost = cost if self._cost is None else _DECAY * self._cost + (1 - _DECAY) * cost
        parts = [f"cost {self._cost:.4g}", *self._held_out, *vital_signs(row).split(", ")]
        self._progress.update(self._task, completed=row["step"], shown=that_fit(parts, self._room))

    def evaluation(self, row: Row) -> None:
        """Show the held-out numbers beside the bar."""
        self._held_out = held_out_numbers(row)

    def message(self, text: str) -> None:
        """Write above the bar."""
        self._progress.console.print(text, highlight=False, markup=False)


def bar_width(columns: int) -> int:
    """The characters of the bar on a terminal of so many columns."""
    return next((size for least, size in BARS if columns >= least), 0)


def that_fit(parts: Sequence[str], room: int) -> str:
    """The first parts that fit into ``room`` characters, with commas between them."""
    count = len(parts)
    while count > 1 and len(", ".join(parts[:count])) > room:
        count -= 1
    return ", ".join(parts[:count])


def make_reporter(*, quiet: bool = False, console: Console | None = None) -> Reporter:
    """Return the reporter for a console, by default standard error."""
    console = console or Console(stderr=True)
    if quiet:
        return Reporter()
    return BarReporter(console) if console.is_terminal else PlainReporter(console)


def held_out(row: Mapping[str, Any]) -> str:
    """Describe an evaluation, as in ``test cost 0.0123, accuracy 96.10%, settled 100%, residual 1.0e-04``.

    What the row lacks is left out.
    """
    rest = [f"{name} {format_number(name, row[name])}" for name in ("settled", "residual") if name in row]
    return ", ".join([*held_out_numbers(row), *rest])


def held_out_numbers(row: Mapping[str, Any]) -> list[str]:
    """The cost and the metrics of an evaluation."""
    skipped = {"step", "kind", "epoch", "split", "cost", "saturated", *ALWAYS_MEASURED}
    numbers = [f"{name} {format_number(name, value)}" for name, value in row.items() if name not in skipped]
    return [f"test cost {row['cost']:.4g}", *numbers]
