"""``energyc completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from energyc.surfaces.cli.console import Console
from energyc.surfaces.cli.options import output_options

#: The variable by which a shell asks for candidates.
VARIABLE = "_ENERGYC_COMPLETE"
SHELLS = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@output_options
def command(shell: str, console: Console) -> None:
    """Print the completion script of SHELL."""
    made = get_completion_class(shell)
    assert made is not None
    script = made(click.Group("energyc"), {}, "energyc", VARIABLE).source()
    console.result({"shell": shell, "script": script}, script)
