"""The interface between a run and its loggers."""

from __future__ import annotations

from collections.abc import Mapping
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
