"""``energyc verify``."""

from __future__ import annotations

from typing import Any

import click

from energyc.surfaces.cli.console import Console, Exit
from energyc.surfaces.cli.failures import UNFAITHFUL
from energyc.surfaces.cli.options import (
    DataCommand,
    Finite,
    data_options,
    output_options,
    rule_option,
    spec_options,
    spec_or_run_argument,
)

#: The largest reasonable multiple of the weights.
LARGEST_GAIN = 1e6
GAIN = Finite(min=0, min_open=True, max=LARGEST_GAIN)


@click.command("verify", cls=DataCommand)
@spec_or_run_argument
@rule_option
@click.option("--gain", metavar="X", type=GAIN, default=1.0, help="Multiply the weights by X, at most 1e6.")
@click.option("--sweep", type=click.Choice(["residual", "beta"]), help="Draw the error against this.")
@click.option("--checkpoint", type=click.Choice(["last", "best"]), help="The checkpoint of RUN; last by default.")
@click.option(
    "--within",
    metavar="X",
    type=Finite(min=0, min_open=True),
    help="Give the largest beta that is proved to keep the error of centered-ep to X; 1e-3 by default.",
)
@click.option(
    "--budget",
    metavar="N",
    type=click.IntRange(min=1),
    help="Evaluations of the force that each measurement may take; 250,000 by default.",
)
@data_options
@click.option(
    "--reference",
    metavar="FOLDER",
    help="Compare SPEC with the reference results in FOLDER instead; `shipped` are those of energyc.",
)
@spec_options
@output_options
def command(spec: str, within: float | None, budget: int | None, console: Console, **options: Any) -> None:
    """Measure each rule's gradient on SPEC or RUN against the exact one, in the limit and as configured.

    Of a folder of seeds or folds every run is measured. With --data SPEC has its full sizes, and inputs are test
    samples. With --reference SPEC is compared with results on file.
    """
    from energyc.surfaces.api.verify import verify
    from energyc.surfaces.cli.progress import progress

    options |= {name: value for name, value in (("within", within), ("budget", budget)) if value is not None}
    found = verify(spec, notify=console.note, progress=lambda title: progress(console, title), **options)
    console.show(found)
    if not found.passed:
        raise Exit(UNFAITHFUL)
