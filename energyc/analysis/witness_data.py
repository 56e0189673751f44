"""A witness as plain data, as ``check --format json`` shows it."""

from __future__ import annotations

from typing import Any

from energyc.analysis.verdict import Witness


def witness_data(witness: Witness) -> dict[str, Any]:
    """The two entries, where they stand, and the enclosures that tell them apart."""
    entries = {"entry": witness.entry, "mirror": witness.mirror}
    return {
        "row": list(witness.row.index),
        "column": list(witness.column.index),
        "row_state": witness.row.state,
        "column_state": witness.column.state,
        **{name: e.middle for name, e in entries.items()},
        "enclosures": {name: [str(e.low), str(e.high)] for name, e in entries.items()},
        "certified": witness.certified,
        "arithmetic": witness.arithmetic,
        "sizes": dict(witness.sizes),
    }
