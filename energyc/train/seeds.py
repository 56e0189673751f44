"""Train the same run for several seeds, each in a folder of its own, and summarise them."""

from __future__ import annotations

import json
import shutil
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from energyc.diagnostics import UserError
from energyc.settings.train import ALWAYS_MEASURED
from energyc.train.disk import replace_bytes, writing
from energyc.train.folder import RunFolder, claimed
from energyc.train.formats import Malformed, parse
from energyc.train.formats import Summary as StoredSummary
from energyc.train.lock import locked
from energyc.train.loop import train
from energyc.train.outcome import Interrupted, Numbers, Outcome
from energyc.train.progress import Reporter
from energyc.train.session import Session

MakeSession = Callable[[int, Path], Session]
Summary = dict[str, Any]


def train_seeds(
    make: MakeSession, seeds: Sequence[int], out: Path, *, resume: bool = False, reporter: Reporter | None = None
) -> Summary:
    """Train once for each seed into ``out/seed-N``; ``make(seed, folder)`` builds the session and its network.

    Writes and returns the summary, ``{"seeds", "final": {name: {"mean", "deviation", "values"}}, "best": ...}``, with
    sample deviations (n - 1). With ``resume`` finished seeds are skipped quickly and an unfinished one is continued.
    Raises what ``train`` raises.
    """
    with locked(out) if resume else claimed(out):
        with writing(out, None):
            _write_summary(out, {"seeds": list(seeds)})
        outcomes = [_train_seed(make, seed, out, reporter) for seed in seeds]
        summary = summarise(seeds, outcomes)
        with writing(out, None):
            _write_summary(out, summary)
        return summary


def read_summary(out: Path) -> Summary:
    """Read the summary of a folder of seeds. Raises UserError E0511 if there is none."""
    try:
        return dict(parse(StoredSummary, RunFolder(out).summary.read_bytes()))
    except (OSError, Malformed):
        message = f"{out} holds no runs of several seeds"
        raise UserError(message, code="E0511", help="give a folder that energyc train --seeds made") from None


def summarise(seeds: Sequence[int], outcomes: Sequence[Outcome]) -> Summary:
    """Return mean and deviation of every held-out number, at the end and at each run's best checkpoint."""
    return {
        "seeds": list(seeds),
        "final": spread([outcome.final for outcome in outcomes]),
        "best": spread([outcome.best for outcome in outcomes]),
        "best_steps": [outcome.best_step for outcome in outcomes],
        "seconds": [round(outcome.seconds, 3) for outcome in outcomes],
        "health": [outcome.health.to_json() if outcome.health else None for outcome in outcomes],
        "warnings": [
            f"seed {seed}: {text}" for seed, outcome in zip(seeds, outcomes, strict=True) for text in outcome.warnings
        ],
    }


def _train_seed(make: MakeSession, seed: int, out: Path, reporter: Reporter | None) -> Outcome:
    path = RunFolder(out).run(seed)
    has_run = RunFolder(path).info.exists()
    if not has_run:  # killed before it could be resumed
        shutil.rmtree(path, ignore_errors=True)
    try:
        return train(make(seed, path), resume=has_run, reporter=reporter, label=f"seed {seed}")
    except Interrupted as stop:  # resuming continues all seeds, not only this one
        raise Interrupted(stop.out, stop.step, resume=out) from None


def spread(results: Sequence[Numbers]) -> dict[str, dict[str, Any]]:
    """Return mean, deviation and values of every number over the seeds."""
    names = (
        [name for name in results[0] if name not in ALWAYS_MEASURED or name in ("residual", "settled")]
        if results
        else []
    )
    return {name: _statistics([result[name] for result in results]) for name in names}


def _statistics(values: list[float]) -> dict[str, Any]:
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return {"mean": statistics.fmean(values), "deviation": deviation, "values": values}


def _write_summary(out: Path, summary: Summary) -> None:
    replace_bytes(RunFolder(out).summary, (json.dumps(summary, indent=2) + "\n").encode())
