"""``energyc fmt``."""

from __future__ import annotations

from pathlib import Path

import click

from energyc.surfaces.cli import candidates
from energyc.surfaces.cli.console import Console, Exit
from energyc.surfaces.cli.options import output_options


@click.command("fmt")
@click.argument(
    "specs",
    metavar="SPEC...",
    type=click.Path(allow_dash=True),
    nargs=-1,
    required=True,
    shell_complete=candidates.files,
)
@click.option("--check", is_flag=True, help="Change nothing; exit with status 1 if a file would change.")
@output_options
def command(specs: tuple[str, ...], check: bool, console: Console) -> None:
    """Format SPEC in place; `-` reads standard input and writes standard output."""
    from energyc.language.diagnostics import stage
    from energyc.language.syntax import format_spec, read_source
    from energyc.surfaces.api.files import write_text

    changed: list[str] = []
    for spec in specs:
        source = read_source(spec)
        with stage("fmt", spec):
            text = format_spec(source)
        if spec == "-" and not check:
            console.write_source(text)
        elif text != source.text:
            changed.append(spec)
            if not check:
                write_text(Path(spec), text)
    if console.is_json:
        console.write_json({"changed": changed})
    elif changed:
        console.note("\n".join(f"{'would format' if check else 'formatted'} {spec}" for spec in changed))
    if check and changed:
        raise Exit(1)
