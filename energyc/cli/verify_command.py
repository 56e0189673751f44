"""``energyc verify``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from energyc.cli.console import Console, Exit
from energyc.cli.failures import UNFAITHFUL
from energyc.cli.options import output_options, rule_option, spec_options

if TYPE_CHECKING:
    from energyc.pipeline import Choices


@click.command("verify")
@click.argument("spec", metavar="SPEC|RUN", type=click.Path(allow_dash=True))
@rule_option
@click.option("--gain", metavar="X", type=float, default=1.0, help="Weights at initialisation times this.")
@click.option("--sweep", type=click.Choice(["residual", "beta"]), help="Draw quality against this.")
@spec_options
@output_options
def command(
    spec: str, rules: tuple[str, ...], gain: float, sweep: str | None, choices: Choices, console: Console
) -> None:
    """Fidelity of each rule's gradient on SPEC or RUN: in the limit, and as configured."""
    from energyc.report.verify_text import written
    from energyc.verification import verify

    found = verify(spec, choices, rules=rules or None, gain=gain, sweep_residual=sweep == "residual")
    if console.is_json:
        console.write_json(found.to_json())
    else:
        sizes = ", ".join(f"{name} = {size}" for name, size in found.sizes.items())
        head = f"network {found.network} at {sizes}" + (f" (preset {found.preset})" if found.preset else "")
        console.write(written(head, found.fidelity, found.precision, sweep == "beta"))
    if not found.fidelity.passed:
        raise Exit(UNFAITHFUL)
