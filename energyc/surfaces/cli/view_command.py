"""``energyc view``."""

from __future__ import annotations

from pathlib import Path

import click

from energyc.surfaces.cli import candidates
from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import is_run, is_writable, output_options


@click.command("view")
@click.argument(
    "runs",
    metavar="RUN [RUN2]",
    nargs=-1,
    required=True,
    type=click.Path(),
    callback=is_run,
    shell_complete=candidates.runs,
)
@click.option(
    "-o",
    "out",
    metavar="FILE",
    callback=is_writable,
    type=click.Path(dir_okay=False),
    help="A .html file; by default RUN/view.html.",
)
@output_options
def command(runs: tuple[str, ...], out: str | None, console: Console) -> None:
    """Write a page of RUN, or of two runs side by side: curves, health, relaxations, settings, pictures.

    The page is one file, which needs no network. A run may be in progress.
    """
    from energyc.files import SafePath
    from energyc.language.diagnostics import UserError
    from energyc.surfaces.cli.files import write_text
    from energyc.surfaces.report.view import view

    if len(runs) > 2:
        raise click.UsageError("give one run, or two to see them side by side")
    if out is not None and Path(out).suffix not in (".html", ".htm"):
        raise UserError(f"{out} has no known ending", code="E0907", help="use .html")
    text = view(runs, console.note)
    other = f"-{Path(runs[1]).resolve().name}" if len(runs) > 1 else ""
    path = (
        write_text(Path(out), text)
        if out is not None
        else write_text(SafePath(Path(runs[0])) / f"view{other}.html", text)
    )
    console.result({"runs": list(runs), "page": str(path)}, str(path))
