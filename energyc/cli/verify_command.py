"""``energyc verify``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from energyc.cli.console import Console, Exit
from energyc.cli.failures import UNFAITHFUL
from energyc.cli.options import Finite, output_options, rule_option, spec_options

if TYPE_CHECKING:
    from energyc.pipeline import Choices
    from energyc.runs.saved import Which
    from energyc.verify import Verification

#: The largest reasonable multiple of the weights.
LARGEST_GAIN = 1e6
GAIN = Finite(min=0, min_open=True, max=LARGEST_GAIN)


@click.command("verify")
@click.argument("spec", metavar="SPEC|RUN", type=click.Path(allow_dash=True))
@rule_option
@click.option("--gain", metavar="X", type=GAIN, default=1.0, help="Multiply the weights by X, at most 1e6.")
@click.option("--sweep", type=click.Choice(["residual", "beta"]), help="Draw the error against this.")
@click.option("--checkpoint", type=click.Choice(["last", "best"]), help="The checkpoint of RUN; last by default.")
@click.option(
    "--budget",
    metavar="N",
    type=click.IntRange(min=1),
    help="Evaluations of the force that each measurement may take; 250,000 by default.",
)
@spec_options
@output_options
def command(
    spec: str,
    rules: tuple[str, ...],
    gain: float,
    sweep: str | None,
    checkpoint: Which | None,
    budget: int | None,
    choices: Choices,
    console: Console,
) -> None:
    """Measure each rule's gradient on SPEC or RUN against the exact one, in the limit and as configured."""
    from energyc.cli.progress import progress
    from energyc.report.verify_text import print_report
    from energyc.runs.locate import is_run
    from energyc.verify import verify
    from energyc.verify.work import EVALUATIONS

    if checkpoint is not None and not is_run(spec):
        raise click.UsageError("--checkpoint needs a RUN: a SPEC has no checkpoints")
    with progress(console, "verify") as show:
        verification = verify(
            spec,
            choices,
            rules=rules or None,
            gain=gain,
            sweep_residual=sweep == "residual",
            checkpoint=checkpoint or "last",
            evaluations=budget or EVALUATIONS,
            notify=console.note,
            progress=show,
        )
    picture = _draw_sweep(verification, spec, sweep, console) if sweep else None
    if console.is_json:
        console.write_json(verification.to_json() | ({"picture": str(picture)} if picture else {}))
    else:
        print_report(verification, sweep=sweep == "beta", color=console.colors(sys.stdout))
        if picture:
            console.write(f"\n{picture}")
    if not verification.fidelity.passed:
        raise Exit(UNFAITHFUL)


def _draw_sweep(verification: Verification, spec: str, sweep: str, console: Console) -> Path | None:
    """Draw a sweep into the run's folder or the current one; on failure write a note and return None."""
    from energyc.diagnostics import UserError
    from energyc.report.verify_plots import draw_sweep

    name = f"{sweep}.png"
    path = Path(spec) / "pictures" / f"verify-{name}" if Path(spec).is_dir() else Path(f"{verification.network}-{name}")
    try:
        return draw_sweep(verification.network, verification.fidelity, sweep, path)
    except UserError as error:
        console.note(f"no picture: {error.message}")
        return None
