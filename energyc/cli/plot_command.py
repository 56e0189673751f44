"""``energyc plot``."""

from __future__ import annotations

from pathlib import Path

import click

from energyc.cli.console import Console
from energyc.cli.options import data_option, output_options, run_argument


@click.command("plot")
@run_argument
@data_option
@click.option("--samples", metavar="N", type=click.IntRange(min=1), default=16, help="Number of test samples to draw.")
@output_options
def command(run: str, data: tuple[str, ...], samples: int, console: Console) -> None:
    """Draw the pictures of RUN into its folder, and print their paths."""
    from energyc.report.plots import plot_run
    from energyc.runs.prepare import reopen
    from energyc.train.folder import RunFolder

    folder = Path(run)
    session = None if RunFolder(folder).of_several else reopen(folder, data=data).session(folder)
    paths = [str(path) for path in plot_run(folder, session, samples=samples, notify=console.note)]
    console.result({"run": run, "pictures": paths}, "\n".join(paths))
