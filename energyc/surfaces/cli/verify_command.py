"""``energyc verify``."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from energyc.pipeline import Choices
    from energyc.running.runs.data_flags import DataFlags
    from energyc.running.runs.saved import Which
    from energyc.studies.verify import Verification

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
def command(
    spec: str,
    rules: tuple[str, ...],
    gain: float,
    sweep: str | None,
    checkpoint: Which | None,
    within: float | None,
    budget: int | None,
    data: DataFlags,
    reference: str | None,
    choices: Choices,
    console: Console,
) -> None:
    """Measure each rule's gradient on SPEC or RUN against the exact one, in the limit and as configured.

    Of a folder of seeds or folds every run is measured. With --data SPEC has its full sizes, and inputs are test
    samples. With --reference SPEC is compared with results on file.
    """
    from energyc.running.runs.locate import is_run

    if checkpoint is not None and not is_run(spec):
        raise click.UsageError("--checkpoint needs a RUN: a SPEC has no checkpoints")
    if reference is not None:
        if is_run(spec):
            raise click.UsageError("--reference needs a SPEC: references have weights of their own")
        if data:
            raise click.UsageError("--reference and --data exclude each other: references have inputs of their own")
        _hold(spec, reference, choices, console)
        return

    def measured(place: str, title: str = "verify") -> Verification:
        from energyc.studies.verify import verify
        from energyc.studies.verify.guarantees import WITHIN
        from energyc.studies.verify.work import EVALUATIONS
        from energyc.surfaces.cli.progress import progress

        with progress(console, title) as show:
            return verify(
                place,
                choices,
                rules=rules or None,
                gain=gain,
                sweep_residual=sweep == "residual",
                checkpoint=checkpoint or "last",
                evaluations=budget or EVALUATIONS,
                data=data,
                within=within or WITHIN,
                notify=console.note,
                progress=show,
            )

    kind, runs = _runs(spec)
    if runs:
        verified = {number: (place, measured(place, f"verify {kind} {number}")) for number, place in runs.items()}
        passed = _report_runs(kind, verified, sweep, console)
    else:
        verification = measured(spec)
        picture = _picture(verification, spec, sweep, console)
        if console.is_json:
            console.write_json(verification.to_json() | picture)
        else:
            _print(verification, picture, sweep, console)
        passed = verification.fidelity.passed
    if not passed:
        raise Exit(UNFAITHFUL)


def _hold(spec: str, place: str, choices: Choices, console: Console) -> None:
    """Compare a spec with its reference. Raises Exit if something differs."""
    from energyc.studies.verify.reference import hold
    from energyc.surfaces.report.reference_text import print_reference

    held = hold(spec, place, choices)
    if console.is_json:
        console.write_json(held.to_json())
    else:
        print_reference(held, color=console.colors(sys.stdout))
    if not held.passed:
        raise Exit(UNFAITHFUL)


def _runs(place: str) -> tuple[str, dict[int, str]]:
    """Return ``seed`` or ``fold`` and the folder of each if ``place`` is a folder of several."""
    from energyc.running.runs.locate import is_run
    from energyc.running.training.folder import RunFolder
    from energyc.running.training.seeds import read_summary, run_folders

    folder = RunFolder(Path(place))
    if not is_run(place) or not folder.of_several:
        return "", {}
    summary = read_summary(folder.path)
    kind = "fold" if "folds" in summary else "seed"
    return kind, {number: str(path) for number, path in run_folders(folder.path, summary).items()}


def _report_runs(kind: str, seeds: Mapping[int, tuple[str, Verification]], sweep: str | None, console: Console) -> bool:
    """Write the report of each seed or fold; return whether all passed."""
    pictures = {seed: _picture(verification, place, sweep, console) for seed, (place, verification) in seeds.items()}
    passed = all(verification.fidelity.passed for _, verification in seeds.values())
    if console.is_json:
        reports = {str(seed): verification.to_json() | pictures[seed] for seed, (_, verification) in seeds.items()}
        console.write_json({f"{kind}s": reports, "passed": passed})
        return passed
    for seed, (_, verification) in seeds.items():
        console.write(f"{kind} {seed}")
        _print(verification, pictures[seed], sweep, console)
    return passed


def _print(verification: Verification, picture: Mapping[str, str], sweep: str | None, console: Console) -> None:
    """Write a report as text."""
    from energyc.surfaces.report.verify_text import print_report

    print_report(verification, sweep=sweep == "beta", color=console.colors(sys.stdout))
    for path in picture.values():
        console.write(f"\n{path}")


def _picture(verification: Verification, spec: str, sweep: str | None, console: Console) -> dict[str, str]:
    """Return the path of the picture of a sweep, if one was drawn."""
    path = _draw_sweep(verification, spec, sweep, console) if sweep else None
    return {"picture": str(path)} if path else {}


def _draw_sweep(verification: Verification, spec: str, sweep: str, console: Console) -> Path | None:
    """Draw a sweep into the run's folder or the current one; on failure write a note and return None."""
    from energyc.language.diagnostics import UserError
    from energyc.surfaces.report.verify_plots import draw_sweep

    name = f"{sweep}.png"
    path = Path(spec) / "pictures" / f"verify-{name}" if Path(spec).is_dir() else Path(f"{verification.network}-{name}")
    try:
        return draw_sweep(verification.network, verification.fidelity, sweep, path)
    except UserError as error:
        console.without("no picture", error)
        return None
