"""``energyc view``."""

from __future__ import annotations

import click

from energyc.surfaces.cli import candidates
from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import is_run, is_writable, output_options


@click.command("view")
@click.argument(
    "runs",
    metavar="RUN [RUN2]",
    nargs=-1,
    required=True,
    type=click.Path(),
    callback=is_run,
    shell_complete=candidates.runs,
)
@click.option(
    "-o",
    "out",
    metavar="FILE",
    callback=is_writable,
    type=click.Path(dir_okay=False),
    help="A .html file; by default RUN/view.html.",
)
@output_options
def command(runs: tuple[str, ...], out: str | None, console: Console) -> None:
    """Write a page of RUN, or of two runs side by side: curves, health, relaxations, settings, pictures.

    The page is one file, which needs no network. A run may be in progress.
    """
    from energyc.surfaces.api.pages import view

    if len(runs) > 2:
        raise click.UsageError("give one run, or two to see them side by side")
    console.show(view(*runs, out=out, notify=console.note))
