"""``energyc list``."""

from __future__ import annotations

import click

from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import output_options

#: What the next commands are of, where no word was given.
USUAL = "hopfield"


@click.command("list")
@click.argument("word", required=False)
@output_options
def command(word: str | None, console: Console) -> None:
    """List the specs that ship, whose names stand for their paths in every command.

    With WORD those that mention it, each with the command that gave its figure. A figure is of held-out samples after
    one short training; its seconds are of processor time.
    """
    from energyc.language.diagnostics import UserError
    from energyc.surfaces.report.catalogue import catalogue, listing

    entries = catalogue()
    found = [entry for entry in entries if word is None or entry.mentions(word)]
    if not found:
        names = ", ".join(entry.name for entry in entries)
        raise UserError(f"no spec that ships mentions {word}", code="E0901", help=f"there are {names}")
    lines = "\n".join(listing(found, details=word is not None)).rstrip()
    console.result([entry.to_json() for entry in found], lines)
    first = USUAL if word is None else found[0].name
    details = [] if word is not None else [("energyc", "list", first)]
    console.next(*details, ("energyc", "check", first), ("energyc", "new", "mine", "--from", first))
