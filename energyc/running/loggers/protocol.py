"""The interface between a run and its loggers, and the loggers of a run, of which one that fails is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol


@dataclass(frozen=True)
class Run:
    """A run that begins, or continues at ``update``.

    ``folder`` is the run folder, in which ``spec.energy`` and run.json lie; ``info`` is the content of run.json.
    ``total`` is the number of updates of the whole run. ``label`` tells several runs apart (``seed 3``), or is empty.
    """

    folder: Path
    network: str
    rule: str
    update: int
    total: int
    label: str = ""
    info: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Ending:
    """The end of a run after ``update``: how, with the error's message, if any, and the held-out numbers.

    ``final`` are those of the last evaluation, ``best`` those of update ``best_update``.
    """

    how: Literal["finished", "interrupted", "diverged", "failed"]
    update: int
    message: str = ""
    final: Mapping[str, float] = field(default_factory=dict)
    best: Mapping[str, float] = field(default_factory=dict)
    best_update: int | None = None


class Logger(Protocol):
    """The methods that a run calls.

    First ``start``, then ``scalars`` as they come, at the end ``picture`` for each picture, and ``finish``. With
    several seeds or folds this happens once for each, with the same logger. An exception ends the logger and not the
    run, which warns of it. A subclass needs to define only what it uses.
    """

    def start(self, run: Run) -> None:
        """A run begins, or continues: what was told of it from ``run.update`` on is told again."""

    def scalars(self, update: int, part: str, numbers: Mapping[str, float]) -> None:
        """Take numbers after an update: of its batch (``train``), or of an evaluation (``test``, ``validation``).

        The names are those of metrics.jsonl. A number may be NaN or infinite.
        """

    def picture(self, update: int, name: str, path: Path) -> None:
        """Take a picture of the finished run, a PNG file."""

    def finish(self, ending: Ending) -> None:
        """Take the end of the run, whatever it is; a killed process tells none."""


# ------------------------------------------------------------------ the run's side of it


class Telling:
    """Tells every logger what happens; ``update`` is the last one they were told of.

    ``warnings`` has a line for each logger that failed, which ``notify`` gets at once.
    """

    def __init__(self, loggers: Iterable[Logger], notify: Callable[[str], None] = lambda text: None) -> None:
        self.warnings: list[str] = []
        self._waiting, self._active = tuple(loggers), list[Logger]()
        self._notify = notify
        self.update = 0

    def start(self, run: Run) -> None:
        """Tell of a run that begins or continues."""
        self.update = run.update
        self._active = list(self._waiting)
        self._each("start", lambda logger: logger.start(run))

    def row(self, part: str, row: Mapping[str, Any]) -> None:
        """Tell the numbers of a row of metrics.jsonl."""
        if not self._active:
            return
        self.update = row["step"]
        numbers = {name: value for name, value in row.items() if name != "step" and isinstance(value, int | float)}
        self._each("scalars", lambda logger: logger.scalars(self.update, part, dict(numbers)))

    def pictures(self, paths: Iterable[Path]) -> None:
        """Tell of the pictures of the finished run."""
        for path in paths:
            self._each("picture", lambda logger, path=path: logger.picture(self.update, path.stem, path))  # type: ignore[misc]

    def finish(self, ending: Ending) -> None:
        """Tell of the end, once, if the run had begun."""
        self._each("finish", lambda logger: logger.finish(ending))
        self._active = []

    def _each(self, method: str, tell: Callable[[Logger], None]) -> None:
        for logger in tuple(self._active):
            try:
                tell(logger)
            except (Exception, SystemExit) as error:
                self._active.remove(logger)
                self._warn(logger, method, error)

    def _warn(self, logger: Logger, method: str, error: BaseException) -> None:
        reason = f"{type(error).__name__}: {error}".splitlines()[0]
        place = f"in {method} at update {self.update}"
        self.warnings.append(f"the logger {type(logger).__name__} failed {place} and was left out: {reason}")
        self._notify(f"warning: {self.warnings[-1]}")
