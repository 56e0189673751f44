"""Text of tables and paragraphs as a terminal shows them, for standard output and for ``str`` of a result."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterable

from rich.console import Console, RenderableType

from energyc.surfaces.tables import Table

#: The columns where standard output is not a terminal.
WIDTH = 110


def printed(parts: Iterable[RenderableType], *, color: bool = False) -> str:
    """Return tables and texts, one below the other, as wide as the terminal or as the widest table needs.

    Plain strings are never folded.
    """
    shown, stream = list(parts), io.StringIO()
    measuring = Console(width=10_000)
    tables = (measuring.measure(part).maximum for part in shown if isinstance(part, Table))
    terminal = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH
    console = Console(
        file=stream,
        width=max([terminal, *tables]),
        force_terminal=color,
        no_color=not color,
        highlight=False,
        markup=False,
    )
    for part in shown:
        console.print(part, soft_wrap=isinstance(part, str))
    return stream.getvalue()
