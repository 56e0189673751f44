"""How a run can end."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

Numbers = dict[str, float]


@dataclass(frozen=True)
class Outcome:
    """A finished run: its folder, the updates done, held-out numbers at the end and at the best checkpoint.

    ``warnings`` say what went wrong without stopping it.
    """

    out: Path
    steps: int
    final: Numbers = field(default_factory=dict)
    best: Numbers = field(default_factory=dict)
    best_step: int | None = None
    seconds: float = 0.0
    warnings: tuple[str, ...] = ()


class Interrupted(Exception):
    """Stopped by Ctrl-C or SIGTERM after a finished and saved update (exit status 130)."""

    def __init__(self, out: Path, step: int, *, resume: Path | None = None) -> None:
        self.out = out
        self.step = step
        self.help = f"resume with: energyc train --resume {resume or out}"
        super().__init__(f"interrupted after step {step}; everything up to there is saved in {out}")


class Diverged(Exception):
    """A cost, state or gradient was not finite (exit status 3); ``what`` is the first that was not."""

    def __init__(self, out: Path, step: int, what: str, kept: int | None) -> None:
        self.out = out
        self.step = step
        self.what = what
        self.kept = kept
        saved = f"the checkpoint of step {kept} is kept" if kept is not None else "no checkpoint was written yet"
        self.help = "a lower lr, clip = 1, a smaller relax.step or more relax.steps may help"
        super().__init__(f"training diverged at step {step}: {what} is not finite; {saved} in {out}")
