"""A network beside its reference, as a table."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from energyc.studies.verify.reference import HeldAgainst


def print_reference(held: HeldAgainst, *, color: bool = False) -> None:
    """Write the largest difference of each quantity to standard output, and what is beyond its limit."""
    console = Console(no_color=not color, highlight=False)
    table = Table(title=f"{held.network} beside {held.path}", title_justify="left")
    table.add_column("")
    for heading in ("largest difference", "limit", ""):
        table.add_column(heading, justify="right")
    for row in held.rows:
        table.add_row(row.quantity, f"{row.error:.1e}", f"{row.limit:.0e}", "" if row.passed else "differs")
    console.print(table)
    wrong = [row.quantity for row in held.rows if not row.passed]
    said = f"differs in {', '.join(wrong)}" if wrong else f"agrees in all {len(held.rows)} quantities"
    console.print(f"{held.network} {said}", soft_wrap=True)
