"""``energyc lsp``, which is not implemented yet."""

from __future__ import annotations

import click

from energyc.cli.options import output_options


@click.command("lsp", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@output_options
def command(arguments: tuple[str, ...], console: object) -> None:
    """Not there yet."""
    from energyc.diagnostics import UserError

    raise UserError("energyc lsp is not there yet", code="E0990")
