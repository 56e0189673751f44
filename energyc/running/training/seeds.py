"""Train the same run for several seeds or folds, each in a folder of its own, and summarise them."""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal

from energyc.language.diagnostics import UserError
from energyc.language.settings.train import ALWAYS_MEASURED
from energyc.running.folder.formats import Malformed
from energyc.running.folder.layout import RunFolder, claimed, locked, writing
from energyc.running.ranks.group import ALONE, Group
from energyc.running.training.loop import train
from energyc.running.training.outcome import Interrupted, Numbers, Outcome
from energyc.running.training.progress import Reporter
from energyc.running.training.session import Session

MakeSession = Callable[[int, Path], Session]
Summary = dict[str, Any]


def train_each(
    make: MakeSession,
    numbers: Sequence[int],
    out: Path,
    *,
    kind: Literal["seed", "fold"] = "seed",
    resume: bool = False,
    reporter: Reporter | None = None,
    group: Group = ALONE,
) -> Summary:
    """Train once for each seed into ``out/seed-N``, or into ``out/fold-N`` for each fold, which is the test of its run.

    ``make(number, folder)`` builds the session and its network; that of a fold has feeds with its ``Division``. Writes
    and returns the summary, ``{"seeds" or "folds", "final": {name: {"mean", "deviation", "values"}}, "best": ...}``,
    with sample deviations (n - 1). With ``resume`` finished runs are skipped quickly, an unfinished one is continued.
    The ranks of ``group`` take the numbers in turn, each run for itself. Raises what ``train`` raises.
    """
    with (locked(out) if resume else claimed(out)) if group.is_first else nullcontext():
        if group.is_first:
            with writing(out, None):
                _write_summary(out, {f"{kind}s": list(numbers)})
        group.announced(None)  # the folder is there
        own = {number: _train_one(kind, make, number, out, reporter) for number in numbers[group.rank :: group.size]}
        group.assembled()
        outcomes = {number: outcome for part in group.collected(own) for number, outcome in part.items()}
        summary = summarise(numbers, [outcomes[number] for number in numbers], kind)
        if group.is_first:
            with writing(out, None):
                _write_summary(out, summary)
        return summary


def read_summary(out: Path) -> Summary:
    """Read the summary of a folder of seeds or folds. Raises UserError E0511 if there is none."""
    try:
        summary = dict(RunFolder(out).read_summary())
    except (OSError, Malformed):
        summary = {}
    if not {"seeds", "folds"} & summary.keys():
        message = f"{out} holds no runs of several seeds or folds"
        raise UserError(message, code="E0511", help="give a folder of several seeds or folds that energyc train made")
    return summary


def run_folders(out: Path, summary: Summary) -> dict[int, Path]:
    """Return the folder of each seed or fold by its number."""
    kind = "fold" if "folds" in summary else "seed"
    return {number: RunFolder(out).run(number, kind) for number in summary[f"{kind}s"]}


def summarise(numbers: Sequence[int], outcomes: Sequence[Outcome], kind: str = "seed") -> Summary:
    """Return mean and deviation of every held-out number, at the end and at each run's best checkpoint.

    ``validation`` has those of the validation part at the best checkpoint, where there is one.
    """
    summary: Summary = {
        f"{kind}s": list(numbers),
        "final": spread([outcome.final for outcome in outcomes]),
        "best": spread([outcome.best for outcome in outcomes]),
        "best_steps": [outcome.best_step for outcome in outcomes],
        "best_by": next((outcome.best_by for outcome in outcomes), "test"),
        "seconds": [round(outcome.seconds, 3) for outcome in outcomes],
        "health": [outcome.health.to_json() if outcome.health else None for outcome in outcomes],
        "warnings": [
            f"{kind} {number}: {text}"
            for number, outcome in zip(numbers, outcomes, strict=True)
            for text in outcome.warnings
        ],
    }
    if all(outcome.validation for outcome in outcomes):
        summary["validation"] = spread([outcome.validation for outcome in outcomes])
    return summary


def _train_one(kind: str, make: MakeSession, number: int, out: Path, reporter: Reporter | None) -> Outcome:
    path = RunFolder(out).run(number, kind)
    has_run = RunFolder(path).info.exists()
    if not has_run:  # killed before it could be resumed
        (RunFolder(out) / path.name).remove()
    try:
        return train(make(number, path), resume=has_run, reporter=reporter, label=f"{kind} {number}")
    except Interrupted as stop:  # resuming continues all of them, not only this one
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
    RunFolder(out).summary.write_utf8(json.dumps(summary, indent=2) + "\n")
