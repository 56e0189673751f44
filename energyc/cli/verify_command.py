"""``energyc verify``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from energyc.cli.console import Console
from energyc.cli.options import output_options, rule_option, spec_options

if TYPE_CHECKING:
    from energyc.pipeline import Choices


@click.command("verify")
@click.argument("spec", metavar="SPEC|RUN")
@rule_option
@click.option("--gain", metavar="X", type=float, default=1.0, help="Weights at initialisation times this.")
@click.option("--sweep", type=click.Choice(["residual", "beta"]), help="Draw quality against this.")
@spec_options
@output_options
def command(
    spec: str, rules: tuple[str, ...], gain: float, sweep: str | None, choices: Choices, console: Console
) -> None:
    """Fidelity of each rule's gradient on SPEC or RUN: in the limit, and as configured."""
    from energyc.diagnostics import UserError

    raise UserError("energyc verify is not there yet", code="E0990")
