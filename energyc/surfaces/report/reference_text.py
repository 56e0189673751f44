"""A network beside its reference, as a table."""

from __future__ import annotations

from rich.console import Console

from energyc.studies.verify.reference import HeldAgainst
from energyc.surfaces.tables import Table


def print_reference(held: HeldAgainst, *, color: bool = False) -> None:
    """Write the largest difference of each quantity to standard output, and what is beyond its limit."""
    console = Console(no_color=not color, highlight=False)
    rows = (
        (row.quantity, f"{row.error:.1e}", f"{row.limit:.0e}", "" if row.passed else "differs") for row in held.rows
    )
    header = ("", "largest difference", "limit", "")
    console.print(Table(header, tuple(rows), f"{held.network} beside {held.path}"))
    wrong = [row.quantity for row in held.rows if not row.passed]
    said = f"differs in {', '.join(wrong)}" if wrong else f"agrees in all {len(held.rows)} quantities"
    console.print(f"{held.network} {said}", soft_wrap=True)
