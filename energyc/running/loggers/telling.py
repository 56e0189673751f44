"""The loggers of a run, of which one that fails is left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from energyc.running.loggers.protocol import Ending, Logger, Run


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
