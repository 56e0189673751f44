"""``energyc compare``."""

from __future__ import annotations

import click

from energyc.surfaces.cli import candidates
from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import is_run, is_writable, output_options


@click.command("compare")
@click.argument(
    "runs",
    metavar="RUN...",
    nargs=-1,
    required=True,
    type=click.Path(),
    callback=is_run,
    shell_complete=candidates.runs,
)
@click.option(
    "-o", "out", metavar="FILE", callback=is_writable, type=click.Path(dir_okay=False), help="Write the rows as CSV."
)
@output_options
def command(runs: tuple[str, ...], out: str | None, console: Console) -> None:
    """Compare runs: the settings in which they differ, and the held-out numbers of their best checkpoints."""
    from energyc.surfaces.api.compare import compare

    console.show(compare(*runs, out=out))
