"""The ways a run can end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from energyc.train.run_health import RunHealth

Numbers = dict[str, float]


@dataclass(frozen=True)
class Outcome:
    """A finished run: its folder, the updates done, held-out numbers at the end and at the best checkpoint.

    ``warnings`` say what went wrong without stopping it, ``health`` how it settled and learned. ``seconds`` count from
    update ``first``, at which it began or was resumed.
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


class Interrupted(Exception):
    """Stopped by Ctrl-C or SIGTERM after a finished and saved update (exit status 130)."""

    def __init__(self, out: Path, step: int, *, resume: Path | None = None) -> None:
        self.out = out
        self.step = step
        self.help = f"resume with: energyc train --resume {resume or out}"
        super().__init__(f"interrupted after step {step}; everything up to there is saved in {out}")

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        return {"run": str(self.out), "stopped": "interrupted", "steps": self.step, "message": str(self)}


class Diverged(Exception):
    """A cost, state or gradient was not finite (exit status 3); ``what`` is the first that was not.

    ``steep`` says of terms where their slope is infinite.
    """

    def __init__(
        self, out: Path, step: int, what: str, kept: int | None, steep: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.out = out
        self.step = step
        self.what = what
        self.kept = kept
        if kept is None:
            saved = f"before any update: {what} is not finite"
            self.help = "energyc verify SPEC shows why; a smaller relax.step, smaller weights or more damping may help"
        else:
            saved = f"at step {step}: {what} is not finite; the checkpoint of step {kept} is kept in {out}"
            self.help = f"energyc verify {out} shows how that one settles; a lower lr, clip = 1 or a gate may help"
        causes = _causes(what, steep)
        if causes:
            self.help = "; ".join(causes)
        super().__init__(f"training diverged {saved}")

    def to_json(self) -> dict[str, Any]:
        """For programs."""
        reached = {"run": str(self.out), "stopped": "diverged", "steps": self.step, "checkpoint": self.kept}
        return {**reached, "not_finite": self.what, "message": str(self)}


def _causes(what: str, steep: Mapping[str, str]) -> list[str]:
    """The infinite slopes behind what is not finite: that of the term, or all where it names no term."""
    if what in steep:
        return [steep[what]]
    return [] if what == "the cost" or what.startswith("energy term ") else list(steep.values())
