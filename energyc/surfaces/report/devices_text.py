"""The held-out numbers of a network at several precisions of its params, as a table."""

from __future__ import annotations

from collections.abc import Sequence

from energyc.running.training.numbers import format_spread
from energyc.studies.hardware.study import Row
from energyc.surfaces.tables import Table


def study_table(title: str, rows: Sequence[Row]) -> Table:
    """Return a table with a line for each precision and a column for each number."""
    names = [name for name in rows[0].numbers if name != "residual"]
    lines = []
    for row in rows:
        bits = "as trained" if row.precision.bits is None else str(row.precision.bits)
        found = [format_spread(name, row.numbers[name]["mean"], row.numbers[name]["deviation"]) for name in names]
        lines.append((bits, row.precision.share, str(len(row.results)), *found))
    return Table(("bits", "mismatch", "devices", *names), tuple(lines), title, words=0)
