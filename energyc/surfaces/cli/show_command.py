"""``energyc show``."""

from __future__ import annotations

from pathlib import Path

import click

from energyc.code.targets import TARGETS
from energyc.collection import rarely_collected
from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import output_options, rule_option, spec_argument, spec_options

STAGES = ("tree", "network", "ir", "forces", "jacobian", "plan", "kernels", *TARGETS)


@click.command("show")
@spec_argument
@click.option("--stage", type=click.Choice(STAGES), required=True, help="The stage to print.")
@rarely_collected()
@rule_option
@spec_options
@output_options
def command(
    spec: str,
    stage: str,
    rules: tuple[str, ...],
    preset: str | None,
    settings: dict[str, object],
    console: Console,
) -> None:
    """Print a stage of the pipeline for SPEC; that of a target is the module that ``compile`` writes."""
    from energyc.pipeline import Choices, read
    from energyc.surfaces.report.show import show

    text = show(read(Path(spec)), stage, Choices(preset, settings), rules or None)
    console.result({"stage": stage, "text": text}, text)
