"""``energyc explain``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import is_writable, output_options, spec_options, spec_or_run_argument

if TYPE_CHECKING:
    from energyc.language.network import Network
    from energyc.pipeline import Choices

FORMS = {".md": "markdown", ".txt": "markdown", ".tex": "latex", ".html": "html", ".htm": "html"}


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
@spec_options
@output_options
def command(spec: str, out: str | None, choices: Choices, console: Console) -> None:
    """Write the derivations and the model table of SPEC or RUN, as Markdown or as the ending of FILE says."""
    from energyc.language.diagnostics import UserError
    from energyc.surfaces.cli.files import write_text
    from energyc.surfaces.report.explain import explain

    form = "markdown" if out is None else FORMS.get(Path(out).suffix)
    if form is None:
        raise UserError(f"{out} has no known ending", code="E0907", help=f"use one of {', '.join(FORMS)}")
    text = explain(_network(spec, choices), form)
    if out is not None:
        console.write(str(write_text(Path(out), text)))
    else:
        console.result({"text": text}, text)


def _network(spec: str, choices: Choices) -> Network:
    """The network of a spec, or of a run with the data that it was made with."""
    from energyc import pipeline
    from energyc.running.runs.locate import is_run, read_spec

    if not is_run(spec):
        return pipeline.resolve(read_spec(Path(spec)), choices)
    from energyc.running.runs.saved import load_run

    return load_run(spec).resolved(choices)
