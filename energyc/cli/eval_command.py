"""``energyc eval``."""

from __future__ import annotations

from pathlib import Path

import click

from energyc.cli.console import Console
from energyc.cli.options import data_option, output_options, run_argument


@click.command("eval")
@run_argument
@data_option
@click.option("--device", metavar="D", help="Where to compute; where the run was trained if left out.")
@click.option("--split", type=click.Choice(["test", "train"]), default="test", help="Which samples.")
@click.option("--samples", metavar="N", type=click.IntRange(min=1), help="How many; all where it is left out.")
@output_options
def command(
    run: str, data: tuple[str, ...], device: str | None, split: str, samples: int | None, console: Console
) -> None:
    """Metrics of the best checkpoint of RUN."""
    from energyc.runs.prepare import reopen
    from energyc.train.evaluation import evaluate
    from energyc.train.numbers import written

    prepared = reopen(Path(run), data=data, device=device)
    numbers = evaluate(prepared.session(Path(run)), split=split, samples=samples, notify=console.note)  # type: ignore[arg-type]
    if console.is_json:
        console.write_json({"run": run, "split": split, **numbers})
    else:
        console.write(written(numbers))
