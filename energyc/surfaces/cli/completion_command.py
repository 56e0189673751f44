"""``energyc completion``."""

from __future__ import annotations

import click

from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import output_options
from energyc.surfaces.cli.shells import SCRIPTS


@click.command("completion")
@click.argument("shell", type=click.Choice(list(SCRIPTS)))
@output_options
def command(shell: str, console: Console) -> None:
    """Print the completion script of SHELL, with how to install it in its first lines."""
    console.result({"shell": shell, "script": SCRIPTS[shell]}, SCRIPTS[shell])
