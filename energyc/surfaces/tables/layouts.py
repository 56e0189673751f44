"""The layouts of a table as Markdown and as LaTeX; and the text of several as a terminal shows them."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterable

from rich.console import Console, RenderableType

from energyc.derivation.notation import latex
from energyc.surfaces.tables.table import Table

#: The columns where standard output is not a terminal.
WIDTH = 110


def to_markdown(table: Table) -> str:
    """Return a table of Markdown."""
    rows = [table.header, tuple("---" for _ in table.header), *table.rows]
    cells = [[escape_markdown(str(cell)).replace("|", "\\|") for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in cells)


def escape_markdown(content: str) -> str:
    """Escape Markdown in text from a spec."""
    return content.replace("\\", "\\\\").replace("<", "&lt;").replace("`", "'").replace("[", "\\[").replace("*", "\\*")


def to_longtable(table: Table) -> str:
    """Return a table for a document of LaTeX, with the rules of ``booktabs``."""
    rows = [" & ".join(latex.escape(str(cell)) for cell in row) + r" \\" for row in (table.header, *table.rows)]
    rows.insert(1, r"\midrule")
    columns = "l" * len(table.header)
    return "\n".join([rf"\begin{{longtable}}{{{columns}}}", r"\toprule", *rows, r"\bottomrule", r"\end{longtable}"])


def to_array(table: Table) -> str:
    """Return a table as a formula of LaTeX, which both MathJax and a document take."""
    lines = [" & ".join(rf"\text{{{_plain(str(cell))}}}" for cell in row) for row in (table.header, *table.rows)]
    lines[0] += r" \\ \hline"
    body = r" \\ ".join(lines[1:])
    return rf"$\displaystyle \begin{{array}}{{{'l' * len(table.header)}}} {lines[0]} {body} \end{{array}}$"


def _plain(cell: str) -> str:
    """Return text for LaTeX, whose fonts have no sign of minus in text."""
    return latex.escape(cell.replace("\N{MINUS SIGN}", "-"))


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
