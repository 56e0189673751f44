"""``energyc bench``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import DataCommand, Finite, data_options, output_options, spec_argument, spec_options

if TYPE_CHECKING:
    from energyc.pipeline import Choices
    from energyc.running.runs.data_flags import DataFlags


@click.command("bench", cls=DataCommand)
@spec_argument
@data_options
@click.option("--batch", metavar="N", type=click.IntRange(min=1), default=16, help="Samples in a batch.")
@click.option("--seconds", metavar="X", type=Finite(min=0), default=5.0, help="Time to spend measuring.")
@click.option("--threads", metavar="N", type=click.IntRange(min=1), default=1, help="Number of torch threads.")
@spec_options
@output_options
def command(
    spec: str,
    data: DataFlags,
    batch: int,
    seconds: float,
    threads: int,
    choices: Choices,
    console: Console,
) -> None:
    """Time a step of SPEC: as generated, without optimisation passes, and by autograd of its energy.

    Its inputs are random; with --data they are test samples, and the sizes are those that the data give.
    """
    if threads > (cores := os.cpu_count() or 1):
        raise click.BadParameter(f"{threads} is more than the {cores} cores of this machine.", param_hint="'--threads'")
    from energyc import pipeline
    from energyc.running.runs.data_arguments import of_arguments
    from energyc.studies.bench.step import bench

    source = pipeline.read(Path(spec))
    given = of_arguments(source, data)
    network = pipeline.resolve(source, choices, given.schemas())
    report = bench(network, batch=batch, seconds=seconds, threads=threads, given=given if data else None)
    console.result(report.to_json(), report.to_text())
