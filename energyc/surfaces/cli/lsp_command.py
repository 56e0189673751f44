"""``energyc lsp``."""

from __future__ import annotations

import sys

import click


@click.command("lsp")
@click.option("--stdio", is_flag=True, help="Accepted and ignored: the server speaks over standard input and output.")
def command(stdio: bool) -> None:
    """Serve an editor by the Language Server Protocol, over standard input and output.

    An editor starts it; see docs/editors.md. It needs the extra lsp: pip install "energyc[lsp]".
    """
    try:
        from energyc.surfaces.lsp.server import main
    except ImportError as error:
        from energyc.language.diagnostics import UserError

        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol", "cattrs", "attrs"):
            raise
        raise UserError(
            f"the language server needs {error.name}, which is not installed",
            code="E0925",
            help='install it: pip install "energyc[lsp]"',
        ) from None
    if sys.stdin.isatty():
        click.echo("energyc lsp waits for an editor on standard input; Ctrl-D ends it", err=True)
    main()
