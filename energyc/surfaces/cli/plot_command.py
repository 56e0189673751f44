"""``energyc plot``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from energyc.extras import MATPLOTLIB
from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import DataCommand, data_options, needs, output_options, run_argument
from energyc.surfaces.report.kinds import KINDS

if TYPE_CHECKING:
    from energyc.running.runs.data_flags import DataFlags


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
def command(
    run: str,
    data: DataFlags,
    kinds: tuple[str, ...],
    samples: int,
    sample: int,
    heads: tuple[int, ...],
    tokens: tuple[tuple[int, ...], ...],
    console: Console,
) -> None:
    """Draw the pictures of RUN into its folder, and print their paths."""
    from energyc.running.runs.prepare import reopen
    from energyc.running.runs.threads import suit_threads
    from energyc.running.training.folder import RunFolder
    from energyc.surfaces.report.plots import Choice, plot_run
    from energyc.surfaces.report.scene import View

    folder = Path(run)
    prepared = None if RunFolder(folder).of_several else reopen(folder, data=data)
    choice = Choice(kinds, samples, View(sample, heads, tokens))
    if prepared is not None:
        suit_threads(prepared.network, prepared.options.batch)
    session, network = (prepared.session(folder), prepared.network) if prepared else (None, None)
    drawn = plot_run(folder, session, network, choice, console.note)
    paths = [str(path) for path in drawn.paths]
    console.result({"run": run, "pictures": paths, "without": dict(drawn.without)}, "\n".join(paths))
    if not console.is_json:
        for kind, reason in drawn.without.items():
            console.note(f"no {kind}: {reason}")
        console.next(("energyc", "view", run))
