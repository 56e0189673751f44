"""The commands that measure or export a network: ``verify``, ``bench``, ``export``."""

from __future__ import annotations

from typing import Any

import click

from energyc.surfaces.cli.console import Console, Exit, progress
from energyc.surfaces.cli.failures import UNFAITHFUL
from energyc.surfaces.cli.options import (
    SEED,
    DataCommand,
    Finite,
    data_options,
    is_spec_or_run,
    output_options,
    rule_option,
    spec_argument,
    spec_options,
    split_option,
    written_option,
)

#: A multiple of the weights, up to the largest reasonable one.
GAIN = Finite(min=0, min_open=True, max=1e6)


@click.command("verify", cls=DataCommand)
@spec_argument("SPEC|RUN", callback=is_spec_or_run)
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
def verify_command(spec: str, within: float | None, budget: int | None, console: Console, **options: Any) -> None:
    """Measure each rule's gradient on SPEC or RUN against the exact one, in the limit and as configured.

    Of a folder of seeds or folds every run is measured. With --data SPEC has its full sizes, and inputs are test
    samples. With --reference SPEC is compared with results on file.
    """
    from energyc.surfaces.api.verify import verify

    options |= {name: value for name, value in (("within", within), ("budget", budget)) if value is not None}
    found = verify(spec, notify=console.note, progress=lambda title: progress(console, title), **options)
    console.show(found)
    if not found.passed:
        raise Exit(UNFAITHFUL)


@click.command("bench", cls=DataCommand)
@spec_argument()
@data_options
@click.option("--batch", metavar="N", type=click.IntRange(min=1), default=16, help="Samples in a batch.")
@click.option("--seconds", metavar="X", type=Finite(min=0), default=5.0, help="Time to spend measuring.")
@click.option("--threads", metavar="N", type=click.IntRange(min=1), default=1, help="Number of torch threads.")
@spec_options
@output_options
def bench_command(spec: str, console: Console, **options: Any) -> None:
    """Time a step of SPEC: as generated, without optimisation passes, and by autograd of its energy.

    Its inputs are random; with --data they are test samples, and the sizes are those that the data give.
    """
    from energyc.surfaces.api.bench import bench

    console.show(bench(spec, **options))


@click.command("export", cls=DataCommand)
@spec_argument("SPEC|RUN", callback=is_spec_or_run)
@click.option("--to", type=click.Choice(["spice", "ising", "sympy"]), required=True, help="What to write.")
@written_option("-o", "out", help="The file, else standard output.")
@click.option(
    "--sample", metavar="N", type=click.IntRange(min=0), default=0, help="The sample that is clamped, from 0."
)
@split_option(help="The split of the sample.")
@click.option("--check", is_flag=True, help="Solve the netlist with ngspice and compare it with the network's rest.")
@click.option("--seed", metavar="N", type=SEED, default=0, help="The seed of the first weights of a SPEC.")
@data_options
@spec_options
@output_options
def export_command(spec: str, console: Console, **options: Any) -> None:
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
