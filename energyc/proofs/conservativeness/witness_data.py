"""A witness as plain data, as ``check --format json`` shows it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from energyc.proofs.conservativeness.verdict import LoopWitness, Witness

NONE: Mapping[str, float] = MappingProxyType({})


def witness_data(witness: Witness | LoopWitness, consts: Mapping[str, float] = NONE) -> dict[str, Any]:
    """The evidence against a gradient, of ``kind`` jacobian or loop, with the sizes and the point.

    ``load`` are the arguments of ``energyc.load`` for a network of these sizes, None if there is none.
    """
    return {
        **(_entries_data(witness) if isinstance(witness, Witness) else _loop_data(witness)),
        "sizes": dict(witness.sizes),
        "load": None if witness.dims is None else {"dims": dict(witness.dims), "consts": dict(consts)},
        "point": dict(witness.point),
    }


def _entries_data(witness: Witness) -> dict[str, Any]:
    """The two entries, their positions in the Jacobian, and their disjoint enclosures."""
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
    """The work around a polygon, its error bound, and the states at each corner."""
    corners = [dict(corner) for corner in witness.corners]
    return {"kind": "loop", "work": witness.work, "error": witness.error, "corners": corners}
