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

    With WORD those that mention it, each with its class, the rule that trains it, its data, and a figure with its
    command. A figure is of held-out samples after one short training; its seconds are of processor time.
    """
    from energyc.language.diagnostics import UserError
    from energyc.surfaces.report.catalogue import catalogue, details, listing

    entries = catalogue()
    found = [entry for entry in entries if word is None or entry.mentions(word)]
    if not found:
        names = ", ".join(entry.name for entry in entries)
        raise UserError(f"no spec that ships mentions {word}", code="E0901", help=f"there are {names}")
    lines = listing(found, console.width) if word is None else details(found)
    console.result([entry.to_json() for entry in found], "\n".join(lines).rstrip())
    first = USUAL if word is None else next((e.name for e in found if e.name == word), found[0].name)
    more = [] if word is not None else [("energyc", "list", first)]
    console.next(*more, ("energyc", "check", first), ("energyc", "new", "mine", "--from", first))
