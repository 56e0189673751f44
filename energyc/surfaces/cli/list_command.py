"""``energyc list``."""

from __future__ import annotations

import click

from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import output_options


@click.command("list")
@click.argument("word", required=False)
@output_options
def command(word: str | None, console: Console) -> None:
    """List the specs that ship, whose names stand for their paths in every command; with WORD those that mention it."""
    from energyc.language.diagnostics import UserError
    from energyc.surfaces.report.catalogue import catalogue

    entries = catalogue()
    found = [entry for entry in entries if word is None or word.lower() in "\n".join(entry.lines()).lower()]
    if not found:
        names = ", ".join(entry.name for entry in entries)
        raise UserError(f"no spec that ships mentions {word}", code="E0901", help=f"there are {names}")
    console.result([entry.to_json() for entry in found], "\n".join(line for entry in found for line in entry.lines()))
    first = found[0].name
    console.next(("energyc", "check", first), ("energyc", "new", "mine", "--from", first))
