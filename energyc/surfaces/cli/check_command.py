"""``energyc check``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from energyc.collection import rarely_collected
from energyc.surfaces.cli.console import Console, Exit
from energyc.surfaces.cli.options import is_writable, output_options, spec_argument, spec_options


@click.command("check")
@spec_argument
@click.option(
    "--certificates", metavar="FILE", callback=is_writable, type=click.Path(), help="Write the proofs into FILE."
)
@click.option("--verbose", is_flag=True, help="Show formulas, potentials, witnesses and a line for each rule.")
@rarely_collected()
@spec_options
@output_options
def command(spec: str, certificates: str | None, verbose: bool, console: Console, **options: Any) -> None:
    """Type-check SPEC and report what is known about it.

    The class of every term with its evidence, the verdict on every rule, the params and the operations of a step.
    """
    from energyc.language.diagnostics import SpecError
    from energyc.surfaces.api.files import write_text
    from energyc.surfaces.report.check import check

    report = check(Path(spec), **options)
    if certificates is not None and report.classes is not None:
        write_text(Path(certificates), json.dumps(report.classes.certificates, indent=2) + "\n")
    if report.ok or console.is_json:
        console.show(report, verbose=verbose)
    if report.diagnostics and not console.is_json and not (report.ok and console.quiet):
        console.diagnostics(SpecError(report.source, report.diagnostics))
    if not report.ok:
        raise Exit(1)
