"""``energyc eval``."""

from __future__ import annotations

from pathlib import Path

import click

from energyc.cli.console import Console
from energyc.cli.options import data_option, output_options, run_argument


@click.command("eval")
@run_argument
@data_option
@click.option("--device", metavar="D", help="The device; that of the training run by default.")
@click.option("--split", type=click.Choice(["test", "train"]), default="test", help="The split to evaluate.")
@click.option("--samples", metavar="N", type=click.IntRange(min=1), help="Number of samples; all by default.")
@output_options
def command(
    run: str, data: tuple[str, ...], device: str | None, split: str, samples: int | None, console: Console
) -> None:
    """Metrics of the best checkpoint of RUN."""
    from energyc.runs.prepare import reopen
    from energyc.train.evaluation import evaluate
    from energyc.train.numbers import format_numbers

    prepared = reopen(Path(run), data=data, device=device)
    numbers = evaluate(prepared.session(Path(run)), split=split, samples=samples, notify=console.note)  # type: ignore[arg-type]
    console.result({"run": run, "split": split, **numbers}, format_numbers(numbers))
