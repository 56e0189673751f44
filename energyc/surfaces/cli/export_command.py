"""``energyc export``."""

from __future__ import annotations

from typing import Any

import click

from energyc.surfaces.cli.console import Console, Exit
from energyc.surfaces.cli.failures import UNFAITHFUL
from energyc.surfaces.cli.options import (
    SEED,
    DataCommand,
    data_options,
    is_writable,
    output_options,
    spec_options,
    spec_or_run_argument,
)


@click.command("export", cls=DataCommand)
@spec_or_run_argument
@click.option("--to", type=click.Choice(["spice", "ising", "sympy"]), required=True, help="What to write.")
@click.option(
    "-o",
    "out",
    metavar="FILE",
    callback=is_writable,
    type=click.Path(dir_okay=False),
    help="The file, else standard output.",
)
@click.option(
    "--sample", metavar="N", type=click.IntRange(min=0), default=0, help="The sample that is clamped, from 0."
)
@click.option(
    "--split", type=click.Choice(["test", "validation", "train"]), default="test", help="The split of the sample."
)
@click.option("--check", is_flag=True, help="Solve the netlist with ngspice and compare it with the network's rest.")
@click.option("--seed", metavar="N", type=SEED, default=0, help="The seed of the first weights of a SPEC.")
@data_options
@spec_options
@output_options
def command(spec: str, console: Console, **options: Any) -> None:
    """Write SPEC or RUN as a circuit (a SPICE netlist) or as an Ising problem, at one sample of its data.

    An Ising problem is written as JSON, or to a FILE of another ending as a coefficient list. With --to sympy, a Python
    file of its formulas: terms, forces, Jacobian products and updates for all sizes.
    """
    from energyc.surfaces.api.export import export

    made = export(spec, notify=console.note, **options)
    console.show(made)
    if made.judgement is not None and not console.is_json:
        console.note(str(made.judgement))
    if not made.passed:
        raise Exit(UNFAITHFUL)
