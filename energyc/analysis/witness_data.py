"""A witness as plain data, as ``check --format json`` shows it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from energyc.analysis.verdict import LoopWitness, Witness

NONE: Mapping[str, float] = MappingProxyType({})


def witness_data(witness: Witness | LoopWitness, consts: Mapping[str, float] = NONE) -> dict[str, Any]:
    """Of ``kind`` jacobian or loop: what contradicts a gradient, the sizes, and the point.

    ``load`` is what ``energyc.load`` is to be called with for a network of these sizes, None where there is none.
    """
    return {
        **(_entries_data(witness) if isinstance(witness, Witness) else _loop_data(witness)),
        "sizes": dict(witness.sizes),
        "load": None if witness.dims is None else {"dims": dict(witness.dims), "consts": dict(consts)},
        "point": dict(witness.point),
    }


def _entries_data(witness: Witness) -> dict[str, Any]:
    """The two entries, where they are in the Jacobian, and the enclosures that tell them apart."""
    entries = {"entry": witness.entry, "mirror": witness.mirror}
    return {
        "kind": "jacobian",
        "row": list(witness.row.index),
        "column": list(witness.column.index),
        "row_state": witness.row.state,
        "column_state": witness.column.state,
        **{name: e.middle for name, e in entries.items()},
        "enclosures": {name: [str(e.low), str(e.high)] for name, e in entries.items()},
        "certified": witness.certified,
        "arithmetic": witness.arithmetic,
    }


def _loop_data(witness: LoopWitness) -> dict[str, Any]:
    """The work round a polygon, a bound of its error, and the states at each corner."""
    corners = [dict(corner) for corner in witness.corners]
    return {"kind": "loop", "work": witness.work, "error": witness.error, "corners": corners}
