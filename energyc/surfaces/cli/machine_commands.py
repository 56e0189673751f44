"""The commands about this machine and its tools: ``doctor``, ``completion``, ``lsp``."""

from __future__ import annotations

import sys

import click
from click.shell_completion import get_completion_class

from energyc.extras import PYGLS
from energyc.surfaces.cli.console import Console, Exit
from energyc.surfaces.cli.options import needs, output_options

#: The variable by which a shell asks for candidates.
VARIABLE = "_ENERGYC_COMPLETE"
SHELLS = ("bash", "zsh", "fish")


@click.command("doctor")
@output_options
def doctor_command(console: Console) -> None:
    """Say what works here, and the command that mends what does not.

    It tries what energyc does: torch, the shipped specs, a small network, kernels in C++ and Triton, the cache, the
    extras. Exit status 0 if specs can be compiled and trained, else 1.
    """
    from energyc.surfaces.doctor.examination import examined

    if sys.stderr.isatty():
        console.note("examining, which takes a few seconds")
    found = examined()
    console.show(found)
    if not found.passed:
        raise Exit(1)


@click.command("completion")
@click.argument("shell", type=click.Choice(SHELLS))
@output_options
def completion_command(shell: str, console: Console) -> None:
    """Print the completion script of SHELL."""
    made = get_completion_class(shell)
    assert made is not None
    script = made(click.Group("energyc"), {}, "energyc", VARIABLE).source()
    console.result({"shell": shell, "script": script}, script)


@click.command("lsp")
@click.option("--stdio", is_flag=True, help="Accepted and ignored: the server speaks over standard input and output.")
@needs(PYGLS)
def lsp_command(stdio: bool) -> None:
    """Serve an editor by the Language Server Protocol, over standard input and output.

    An editor starts it; see docs/editors.md. It needs the packages pygls and lsprotocol.
    """
    from energyc.surfaces.lsp.server import serve

    if sys.stdin.isatty():
        click.echo("energyc lsp waits for an editor on standard input; Ctrl-D ends it", err=True)
    serve()
