"""``energyc lsp``."""

from __future__ import annotations

import sys

import click

from energyc.extras import PYGLS
from energyc.surfaces.cli.options import needs


@click.command("lsp")
@click.option("--stdio", is_flag=True, help="Accepted and ignored: the server speaks over standard input and output.")
@needs(PYGLS)
def command(stdio: bool) -> None:
    """Serve an editor by the Language Server Protocol, over standard input and output.

    An editor starts it; see docs/editors.md. It needs the packages pygls and lsprotocol.
    """
    from energyc.surfaces.lsp.server import serve

    if sys.stdin.isatty():
        click.echo("energyc lsp waits for an editor on standard input; Ctrl-D ends it", err=True)
    serve()
