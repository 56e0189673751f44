"""A network beside its reference, as a table."""

from __future__ import annotations

from rich.console import RenderableType

from energyc.studies.verify.reference import HeldAgainst
from energyc.surfaces.tables import Table


def reference_parts(held: HeldAgainst) -> list[RenderableType]:
    """Return a table of the largest difference of each quantity, and a line that says what is beyond its limit."""
    rows = (
        (row.quantity, f"{row.error:.1e}", f"{row.limit:.0e}", "" if row.passed else "differs") for row in held.rows
    )
    header = ("", "largest difference", "limit", "")
    wrong = [row.quantity for row in held.rows if not row.passed]
    said = f"differs in {', '.join(wrong)}" if wrong else f"agrees in all {len(held.rows)} quantities"
    return [Table(header, tuple(rows), f"{held.network} beside {held.path}"), f"{held.network} {said}"]
