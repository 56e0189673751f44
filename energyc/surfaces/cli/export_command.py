"""``energyc export``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

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

if TYPE_CHECKING:
    from energyc.language.network import Network
    from energyc.pipeline import Choices
    from energyc.running.runs.data_flags import DataFlags
    from energyc.studies.hardware.problem import Problem

#: The endings of each kind of file.
JSON_ENDINGS = (".json",)


@click.command("export", cls=DataCommand)
@spec_or_run_argument
@click.option("--to", "kind", type=click.Choice(["spice", "ising", "sympy"]), required=True, help="What to write.")
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
def command(
    spec: str,
    kind: Literal["spice", "ising", "sympy"],
    out: str | None,
    sample: int,
    split: Literal["train", "validation", "test"],
    check: bool,
    seed: int,
    data: DataFlags,
    choices: Choices,
    console: Console,
) -> None:
    """Write SPEC or RUN as a circuit (a SPICE netlist) or as an Ising problem, at one sample of its data.

    An Ising problem is written as JSON, or to a FILE of another ending as a coefficient list. With --to sympy, a Python
    file of its formulas: terms, forces, Jacobian products and updates for all sizes.
    """
    if check and kind != "spice":
        raise click.UsageError("--check needs --to spice: ngspice solves circuits")
    if kind == "sympy":
        _write_formulas(_network(spec, data, choices), out, console)
        return
    from energyc.studies.hardware.problem import Sample, problem

    given = problem(spec, choices, sample=Sample(sample, split), data=data, seed=seed, notify=console.note)
    if kind == "spice":
        _write_netlist(given, out, check, console)
    else:
        _write_ising(given, out, console)


def _network(spec: str, data: DataFlags, choices: Choices) -> Network:
    """Return the network of a spec, or that which a run was made with. Raises SpecError, UserError."""
    from energyc.pipeline import resolve
    from energyc.running.runs.data_arguments import of_arguments
    from energyc.running.runs.locate import is_run, read_spec
    from energyc.running.runs.saved import load_run

    if is_run(spec):
        saved = load_run(spec)
        return saved.resolved(choices, of_arguments(saved.source, data))
    source = read_spec(Path(spec))
    return resolve(source, choices, of_arguments(source, data).schemas())


def _write_formulas(network: Network, out: str | None, console: Console) -> None:
    from energyc.studies.symbolic.formulas import Formulas
    from energyc.studies.symbolic.source import source
    from energyc.surfaces.cli.files import write_text

    text = source(Formulas(network))
    result: dict[str, Any] = {"network": network.name, "to": "sympy"}
    if out is None:
        console.result({**result, "python": text}, text)
    else:
        path = str(write_text(Path(out), text))
        console.result({**result, "file": path}, path)


def _write_netlist(given: Problem, out: str | None, check: bool, console: Console) -> None:
    from energyc.surfaces.cli.files import write_text

    text = given.spice()
    result: dict[str, Any] = {"network": given.network.name, "to": "spice", "sample": given.origin}
    if out is not None:
        result["file"] = str(write_text(Path(out), text))
    else:
        result["netlist"] = text
    judged = given.check(text) if check else None
    if judged is not None:
        result["check"] = judged.to_json()
    console.result(result, text if out is None else out)
    if judged is not None and not console.is_json:
        console.note(str(judged))
    if judged is not None and not judged.passed:
        raise Exit(UNFAITHFUL)


def _write_ising(given: Problem, out: str | None, console: Console) -> None:
    from energyc.surfaces.cli.files import write_text

    made = given.ising()
    head = {"network": given.network.name, "to": "ising", "sample": given.origin}
    if out is None:
        console.write_json({**head, **made.to_json()})
        return
    is_json = Path(out).suffix in JSON_ENDINGS
    text = json.dumps({**head, **made.to_json()}) + "\n" if is_json else made.to_coo()
    path = str(write_text(Path(out), text))
    console.result({**head, "file": path, "spins": len(made.h), "couplings": made.J.nnz}, path)
