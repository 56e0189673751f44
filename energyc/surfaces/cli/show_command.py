"""``energyc show``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from energyc.code.targets import TARGETS, find_target
from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import output_options, rule_option, spec_argument, spec_options

if TYPE_CHECKING:
    from energyc.pipeline import Choices

STAGES = ("tree", "network", "ir", "forces", "jacobian", "plan", "kernels", *TARGETS)

#: The end of a module that is shown, which imports what the one that `compile` writes carries.
LEFT_OUT = "\n\n# Left out: the runtime of energyc that this part imports; `energyc compile` writes a copy of it.\n"


@click.command("show")
@spec_argument
@click.option("--stage", type=click.Choice(STAGES), required=True, help="The stage to print.")
@rule_option
@spec_options
@output_options
def command(spec: str, stage: str, rules: tuple[str, ...], choices: Choices, console: Console) -> None:
    """Print a stage of the pipeline for SPEC."""
    from energyc.pipeline import read
    from energyc.surfaces.report.show import show

    text = show(read(Path(spec)), stage, choices, rules or None)
    if stage in TARGETS and find_target(stage).learns:
        text += LEFT_OUT
    console.result({"stage": stage, "text": text}, text)
