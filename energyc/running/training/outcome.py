"""The ways a run can end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from energyc.language.diagnostics import Resuming, spoken
from energyc.running.loggers.protocol import Ending
from energyc.running.training.run_health import RunHealth

Numbers = dict[str, float]
#: The samples that choose the best checkpoint, in words.
CHOSEN_BY = MappingProxyType({"test": "by the test split", "validation": "by the validation part"})


def best_by(best: Mapping[str, Any]) -> str:
    """Return which samples chose the best checkpoint, from what a checkpoint's state has of it."""
    return "validation" if "validation" in best else "test"


@dataclass(frozen=True)
class Outcome:
    """A finished run: its folder, the updates done, held-out numbers at the end and at the best checkpoint.

    ``best`` and ``validation`` are the numbers of the test and of the validation part at the best checkpoint, which the
    validation part decides where there is one. ``warnings`` describe problems that did not stop the run, and ``health``
    how it settled and learned. ``seconds`` count from update ``first``, at which it began or was resumed. ``sizes`` are
    the numbers of samples of the splits, of which an evaluation may take fewer.
    """

    out: Path
    steps: int
    final: Numbers = field(default_factory=dict)
    best: Numbers = field(default_factory=dict)
    best_step: int | None = None
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()
    health: RunHealth | None = None
    first: int = 0
    validation: Numbers = field(default_factory=dict)
    sizes: Mapping[str, int] = field(default_factory=dict)

    @property
    def best_by(self) -> str:
        """Which samples chose the best checkpoint: ``validation`` or ``test``."""
        return "validation" if self.validation else "test"


class Interrupted(Exception):
    """Stopped by Ctrl-C, SIGTERM or SIGHUP after a finished and saved update (exit status 130)."""

    def __init__(self, out: Path, step: int, *, resume: Path | None = None) -> None:
        self.out = out
        self.step = step
        self.help = spoken("resume with: {}", Resuming(resume or out))
        super().__init__(f"interrupted after step {step}; everything up to there is saved in {out}")

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return {"run": str(self.out), "stopped": "interrupted", "steps": self.step, "message": str(self)}


class Diverged(Exception):
    """A cost, state or gradient was not finite (exit status 3); ``what`` is the first such.

    ``cause`` says why, and what helps, if that was found.
    """

    def __init__(self, out: Path, step: int, what: str, saved_step: int | None, cause: str | None = None) -> None:
        self.out = out
        self.step = step
        self.what = what
        self.kept = saved_step
        if saved_step is None:
            place = f"before any update: {what} is not finite"
            self.help = "energyc verify SPEC shows why; a smaller relax.step, smaller weights or more damping may help"
        else:
            place = f"at step {step}: {what} is not finite; the checkpoint of step {saved_step} is kept in {out}"
            self.help = f"energyc verify {out} shows how that one settles; a lower lr, clip = 1 or a gate may help"
        self.help = cause or self.help
        super().__init__(f"training diverged {place}")

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        progress = {"run": str(self.out), "stopped": "diverged", "steps": self.step, "checkpoint": self.kept}
        return {**progress, "not_finite": self.what, "message": str(self), "help": self.help}


def ending_of(end: Outcome | BaseException, update: int) -> Ending:
    """Return what loggers are told of the end of a run: its outcome, or an exception after ``update``."""
    match end:
        case Outcome():
            return Ending("finished", end.steps, "", end.final, end.best, end.best_step)
        case Interrupted() | KeyboardInterrupt():
            return Ending("interrupted", update, str(end))
        case Diverged():
            return Ending("diverged", update, str(end))
    return Ending("failed", update, str(end))
