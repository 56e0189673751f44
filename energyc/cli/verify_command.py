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

#: Of the multiples of the weights that make sense.
LARGEST_GAIN = 1e6
GAIN = Finite(min=0, min_open=True, max=LARGEST_GAIN)


@click.command("verify")
@click.argument("spec", metavar="SPEC|RUN", type=click.Path(allow_dash=True))
@rule_option
@click.option("--gain", metavar="X", type=GAIN, default=1.0, help="Multiply the weights by X, at most 1e6.")
@click.option("--sweep", type=click.Choice(["residual", "beta"]), help="Draw the error against this.")
@click.option("--checkpoint", type=click.Choice(["last", "best"]), help="The checkpoint of RUN; last by default.")
@spec_options
@output_options
def command(
    spec: str,
    rules: tuple[str, ...],
    gain: float,
    sweep: str | None,
    checkpoint: Which | None,
    choices: Choices,
    console: Console,
) -> None:
    """Measure each rule's gradient on SPEC or RUN against the exact one, in the limit and as configured."""
    from energyc.cli.progress import progress
    from energyc.report.verify_text import print_report
    from energyc.runs.locate import is_run
    from energyc.verify import verify

    if checkpoint is not None and not is_run(spec):
        raise click.UsageError("--checkpoint needs a RUN: a SPEC has no checkpoints")
    with progress(console, "verify") as show:
        found = verify(
            spec,
            choices,
            rules=rules or None,
            gain=gain,
            sweep_residual=sweep == "residual",
            checkpoint=checkpoint or "last",
            notify=console.note,
            progress=show,
        )
    drawn = _draw_sweep(found, spec, sweep, console) if sweep else None
    if console.is_json:
        console.write_json(found.to_json() | ({"picture": str(drawn)} if drawn else {}))
    else:
        print_report(found, sweep=sweep == "beta", color=console.colors(sys.stdout))
        if drawn:
            console.write(f"\n{drawn}")
    if not found.fidelity.passed:
        raise Exit(UNFAITHFUL)


def _draw_sweep(found: Verification, spec: str, sweep: str, console: Console) -> Path | None:
    """The picture of a sweep, in the run's folder or here; None, with a note, where it cannot be drawn."""
    from energyc.diagnostics import UserError
    from energyc.report.verify_plots import draw_sweep

    name = f"{sweep}.png"
    path = Path(spec) / "pictures" / f"verify-{name}" if Path(spec).is_dir() else Path(f"{found.network}-{name}")
    try:
        return draw_sweep(found.network, found.fidelity, sweep, path)
    except UserError as error:
        console.note(f"no picture: {error.message}")
        return None
