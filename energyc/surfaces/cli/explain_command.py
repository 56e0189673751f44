"""``energyc explain``."""

from __future__ import annotations

from typing import Any

import click

from energyc.collection import rarely_collected
from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import is_writable, output_options, spec_options, spec_or_run_argument


@click.command("explain")
@spec_or_run_argument
@click.option(
    "-o",
    "out",
    metavar="FILE",
    callback=is_writable,
    type=click.Path(dir_okay=False),
    help="A .md, .tex or .html file.",
)
@rarely_collected()
@spec_options
@output_options
def command(spec: str, out: str | None, console: Console, **options: Any) -> None:
    """Write the derivations and the model table of SPEC or RUN, as Markdown or as the ending of FILE says."""
    from energyc.surfaces.api.pages import explain

    console.show(explain(spec, out, **options))
