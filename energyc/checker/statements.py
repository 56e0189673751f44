"""Statements in words, composed of what a certificate or a rule tree says and the checker verifies.

The ``claim`` that a file has beside each is not among it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from energyc.checker.nodes import KINDS, summed
from energyc.checker.symmetry import ON_SETS

Json = Mapping[str, Any]


def composed(entry: Json, consts: Mapping[str, str]) -> str:
    """The statement of an entry of the right shape, of a spec with ``consts`` set from outside."""
    statement: Json = entry["statement"]
    layer, sizes = statement["layer"], statement.get("sizes", {})
    where = f"layer {layer}: " if layer is not None else ""
    at = f"; at {_set(sizes)} alone" if sizes else ""
    given = f"; with const {_set(consts)}" if consts else ""
    kind = statement["kind"]
    words = KINDS[kind].words(statement) if kind in KINDS else _WORDS[kind](statement, entry)
    return printable(f"{where}{words}; for {statement['for']}{at}{given}")


def printable(text: str) -> str:
    """A text on one line, with escapes for what moves the cursor or is not seen."""
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line)


def _set(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sorted(values.items()))


def _gradient(statement: Json, entry: Json) -> str:
    of = summed(statement["of"])
    for step in entry["steps"]:
        if step["rule"] == "potential":
            return f"{of}: minus the gradient of the energy {step['energy']} by {', '.join(statement['by'])}"
    slopes = ", ".join(f"by {step['force']} is {step['is']}" for step in entry["steps"] if step["rule"] == "slope")
    return f"{of}: minus the gradient {slopes}"


def _symmetric(statement: Json, _: Json) -> str:
    of = statement["of"] if isinstance(statement["of"], str) else summed(statement["of"])
    across = ", with an impulse at each jump," * statement["across"]
    along = " along the sets of the states" * (statement["for"] == ON_SETS)
    return f"{of}: the Jacobian by {', '.join(statement['by'])}{across} is symmetric{along}"


def _matrix(statement: Json, _: Json) -> str:
    return f"{statement['of']}: symmetric by the indices {' and '.join(statement['by'])}"


def _metric(statement: Json, _: Json) -> str:
    (by,) = statement["by"]
    return f"flow {statement['of']} = -P grad(E, {by}): (d{by}/d{statement['of']}) P is symmetric"


_WORDS: Mapping[str, Callable[[Json, Json], str]] = {
    "gradient": _gradient,
    "symmetric": _symmetric,
    "matrix": _matrix,
    "metric": _metric,
}
