"""``energyc bench``."""

from __future__ import annotations

from typing import Any

import click

from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import DataCommand, Finite, data_options, output_options, spec_argument, spec_options


@click.command("bench", cls=DataCommand)
@spec_argument
@data_options
@click.option("--batch", metavar="N", type=click.IntRange(min=1), default=16, help="Samples in a batch.")
@click.option("--seconds", metavar="X", type=Finite(min=0), default=5.0, help="Time to spend measuring.")
@click.option("--threads", metavar="N", type=click.IntRange(min=1), default=1, help="Number of torch threads.")
@spec_options
@output_options
def command(spec: str, console: Console, **options: Any) -> None:
    """Time a step of SPEC: as generated, without optimisation passes, and by autograd of its energy.

    Its inputs are random; with --data they are test samples, and the sizes are those that the data give.
    """
    from energyc.surfaces.api.bench import bench

    console.show(bench(spec, **options))
