"""``energyc plot``."""

from __future__ import annotations

from typing import Any

import click

from energyc.extras import MATPLOTLIB
from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import DataCommand, data_options, needs, output_options, run_argument
from energyc.surfaces.report.plots import KINDS


def _places(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[int, ...], ...]:
    """Read places of tokens, ``5`` or ``2,3`` on a grid. Raises click.BadParameter."""
    for value in values:
        if not all(part.isascii() and part.isdecimal() for part in value.split(",")):
            raise click.BadParameter(f"{value!r} is not a place of a token: give numbers from 0, as 2,3.", ctx, param)
    return tuple(tuple(int(part) for part in value.split(",")) for value in values)


@click.command("plot", cls=DataCommand)
@needs(MATPLOTLIB)
@run_argument
@data_options
@click.option("--kind", "kinds", type=click.Choice(KINDS), multiple=True, help="What to draw; may be repeated.")
@click.option("--samples", metavar="N", type=click.IntRange(min=1), default=16, help="Number of test samples to draw.")
@click.option("--sample", metavar="N", type=click.IntRange(min=0), default=0, help="The test sample of attention.")
@click.option("--head", "heads", metavar="H", type=click.IntRange(min=0), multiple=True, help="A head of attention.")
@click.option(
    "--token", "tokens", metavar="I,J", callback=_places, multiple=True, help="A token whose attention is drawn."
)
@output_options
def command(run: str, console: Console, **options: Any) -> None:
    """Draw the pictures of RUN into its folder, and print their paths."""
    from energyc.surfaces.api.pages import plot

    drawn = plot(run, notify=console.note, **options)
    console.show(drawn)
    if not console.is_json:
        for kind, reason in drawn.without.items():
            console.note(f"no {kind}: {reason}")
        console.next(("energyc", "view", run))
