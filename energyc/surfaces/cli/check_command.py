"""``energyc check``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from energyc.surfaces.cli.console import Console, Exit
from energyc.surfaces.cli.files import write_text
from energyc.surfaces.cli.options import (
    is_writable,
    output_options,
    rarely_collected,
    spec_argument,
    spec_options,
)

if TYPE_CHECKING:
    from energyc.pipeline import Choices


@click.command("check")
@spec_argument
@click.option(
    "--certificates", metavar="FILE", callback=is_writable, type=click.Path(), help="Write the proofs into FILE."
)
@rarely_collected
@spec_options
@output_options
def command(spec: str, certificates: str | None, choices: Choices, console: Console) -> None:
    """Type-check SPEC and report what is known about it.

    The class of every term with its evidence, the verdict on every rule, the params and the operations of a step.
    """
    from energyc.language.diagnostics import SpecError
    from energyc.pipeline import read
    from energyc.surfaces.report.check import check_source
    from energyc.surfaces.report.check_text import render_check

    source = read(Path(spec))
    report = check_source(source, choices)
    if certificates is not None and report.classes is not None:
        write_text(Path(certificates), json.dumps(report.classes.certificates, indent=2) + "\n")
    if console.is_json:
        console.write_json(report.to_json())
    elif report.ok:
        console.write(render_check(report, console.colors(sys.stdout)))
    if report.diagnostics and not console.is_json and not (report.ok and console.quiet):
        console.diagnostics(SpecError(report.source, report.diagnostics))
    if not report.ok:
        raise Exit(1)
