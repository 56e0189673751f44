"""A witness as plain data, as ``check --format json`` shows it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from energyc.analysis.verdict import Witness

NONE: Mapping[str, float] = MappingProxyType({})


def witness_data(witness: Witness, consts: Mapping[str, float] = NONE) -> dict[str, Any]:
    """The two entries, where they stand, the enclosures that tell them apart, and the point.

    ``load`` is what ``energyc.load`` is to be called with for a network of these sizes, None where there is none.
    """
    entries = {"entry": witness.entry, "mirror": witness.mirror}
    load = None if witness.dims is None else {"dims": dict(witness.dims), "consts": dict(consts)}
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
        "load": load,
        "point": dict(witness.point),
    }
