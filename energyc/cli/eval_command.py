"""``energyc eval``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import click

from energyc.cli import candidates
from energyc.cli.console import Console
from energyc.cli.options import data_option, output_options, run_argument


@click.command("eval")
@run_argument
@data_option
@click.option(
    "--device",
    metavar="D",
    help="The device; that of the training run by default.",
    shell_complete=candidates.devices,
)
@click.option(
    "--split", type=click.Choice(["test", "validation", "train"]), default="test", help="The split to evaluate."
)
@click.option("--samples", metavar="N", type=click.IntRange(min=1), help="Number of samples; all by default.")
@output_options
def command(
    run: str,
    data: tuple[str, ...],
    device: str | None,
    split: Literal["train", "validation", "test"],
    samples: int | None,
    console: Console,
) -> None:
    """Metrics of the best checkpoint of RUN, or of each run of a folder of seeds or folds."""
    from energyc.diagnostics import UserError
    from energyc.runs.prepare import reopen
    from energyc.train.evaluation import evaluate
    from energyc.train.folder import RunFolder
    from energyc.train.numbers import format_numbers

    def evaluated(folder: Path) -> dict[str, float]:
        prepared = reopen(folder, data=data, device=device)
        if split == "validation" and not prepared.feeds().has_validation:
            message = f"{folder} has no validation part"
            raise UserError(message, code="E0520", help="train with train.validation, or give --split test")
        return evaluate(prepared.session(folder), split=split, samples=samples, notify=console.note)

    if RunFolder(Path(run)).of_several:
        _evaluate_several(Path(run), split, evaluated, console)
        return
    numbers = evaluated(Path(run))
    console.result({"run": run, "split": split, **numbers}, format_numbers(numbers))


def _evaluate_several(
    folder: Path, split: str, evaluated: Callable[[Path], dict[str, float]], console: Console
) -> None:
    """Evaluate every seed or fold; write mean and deviation, and the health that training wrote down."""
    from energyc.report.seeds_text import print_evaluation
    from energyc.train.seeds import read_summary, run_folders, spread

    summary = read_summary(folder)
    numbers = spread([evaluated(path) for path in run_folders(folder, summary).values()])
    if console.is_json:
        numbered: dict[str, object] = {kind: summary[kind] for kind in ("seeds", "folds") if kind in summary}
        head: dict[str, object] = {"run": str(folder), "split": split, **numbered}
        console.write_json({**head, "numbers": numbers, "health": summary.get("health")})
    else:
        print_evaluation(split, numbers, summary, color=console.colors(sys.stdout))
