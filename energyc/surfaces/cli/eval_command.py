"""``energyc eval``."""

from __future__ import annotations

from typing import Any

import click

from energyc.extras import MATPLOTLIB
from energyc.surfaces.cli import candidates
from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import (
    SEED,
    DataCommand,
    data_options,
    is_writable,
    needs,
    output_options,
    run_argument,
)


def _whole_numbers(ctx: click.Context, param: click.Parameter, text: str | None) -> tuple[int, ...]:
    """Read ``4,6,8``. Raises click.BadParameter."""
    parts = text.split(",") if text is not None else []
    if not all(part.strip().isascii() and part.strip().isdecimal() for part in parts):
        raise click.BadParameter(f"{text!r} is not a list of whole numbers: write 6 or 4,6,8.", ctx, param)
    return tuple(map(int, parts))


def _shares(ctx: click.Context, param: click.Parameter, text: str | None) -> tuple[float, ...]:
    """Read ``1%,5%`` or ``0.01,0.05``. Raises click.BadParameter."""
    try:
        parts = [part.strip() for part in text.split(",")] if text is not None else []
        return tuple(float(part.removesuffix("%")) / (100 if part.endswith("%") else 1) for part in parts)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of shares: write 1%, 0.01 or 1%,5%.", ctx, param) from None


@click.command("eval", cls=DataCommand)
@needs(MATPLOTLIB, lambda options: options["picture"] is not None)
@run_argument
@data_options
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
@click.option("--bits", metavar="B,..", callback=_whole_numbers, help="Round params to B bits: 6 or 4,6,8.")
@click.option(
    "--mismatch", metavar="S,..", callback=_shares, help="Multiply each param by 1 + S * normal: 1% or 1%,5%."
)
@click.option("--draws", metavar="N", type=click.IntRange(min=1), help="Devices drawn for mismatch; 10 by default.")
@click.option("--seed", metavar="N", type=SEED, help="The seed of the first device; 0 by default.")
@click.option(
    "--levels",
    type=click.Choice(["tensor", "box"]),
    help="What the levels of --bits span: the entries of each tensor (the default), or a param's bounds.",
)
@click.option(
    "--picture",
    metavar="FILE",
    callback=is_writable,
    type=click.Path(dir_okay=False),
    help="Draw --bits or --mismatch into FILE.",
)
@output_options
def command(run: str, console: Console, **options: Any) -> None:
    """Metrics of the best checkpoint of RUN, or of each run of a folder of seeds or folds.

    With --bits or --mismatch also with params as a device would hold them.
    """
    from energyc.surfaces.api.evaluate import evaluate

    console.show(evaluate(run, notify=console.note, **options))
