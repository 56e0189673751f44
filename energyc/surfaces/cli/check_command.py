"""``energyc check``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from energyc.surfaces.cli.console import Console, Exit
from energyc.surfaces.cli.options import output_options, spec_argument, spec_options

if TYPE_CHECKING:
    from energyc.pipeline import Choices


@click.command("check")
@spec_argument
@spec_options
@output_options
def command(spec: str, choices: Choices, console: Console) -> None:
    """Type-check SPEC and report what is known about it.

    The class of every term with its evidence, the verdict on every rule, the params and the operations of a step.
    """
    from energyc.language.diagnostics import SpecError
    from energyc.pipeline import read
    from energyc.surfaces.report.check import check_source
    from energyc.surfaces.report.check_text import render_check

    report = check_source(read(Path(spec)), choices)
    if console.is_json:
        console.write_json(report.to_json())
    elif report.ok:
        console.write(render_check(report, console.colors(sys.stdout)))
    if report.diagnostics and not console.is_json and not (report.ok and console.quiet):
        console.diagnostics(SpecError(report.source, report.diagnostics))
    if not report.ok:
        raise Exit(1)
