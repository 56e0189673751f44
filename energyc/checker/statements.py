"""Statements in words, composed of what a certificate or a rule tree says and the checker verifies.

The ``claim`` that a file has beside each is not among it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from energyc.checker.symmetry import ON_SETS

Json = Mapping[str, Any]


def composed(entry: Json, consts: Mapping[str, str]) -> str:
    """The statement of an entry of the right shape, of a spec with ``consts`` set from outside."""
    statement: Json = entry["statement"]
    layer, sizes = statement["layer"], statement.get("sizes", {})
    where = f"layer {layer}: " if layer is not None else ""
    at = f"; at {_set(sizes)} alone" if sizes else ""
    given = f"; with const {_set(consts)}" if consts else ""
    return printable(f"{where}{_WORDS[statement['kind']](statement, entry)}; for {statement['for']}{at}{given}")


def printable(text: str) -> str:
    """A text on one line, with escapes for what moves the cursor or is not seen."""
    line = " ".join(text.split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in line)


def _set(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} = {value}" for name, value in sorted(values.items()))


def _sum(names: Iterable[str]) -> str:
    return " + ".join(names)


def _lengths(statement: Json) -> str:
    return ", ".join(f"{length} of {name}" for name, length in statement["lengths"].items())


def _gradient(statement: Json, entry: Json) -> str:
    of = _sum(statement["of"])
    for step in entry["steps"]:
        if step["rule"] == "potential":
            return f"{of}: minus the gradient of the energy {step['energy']} by {', '.join(statement['by'])}"
    slopes = ", ".join(f"by {step['force']} is {step['is']}" for step in entry["steps"] if step["rule"] == "slope")
    return f"{of}: minus the gradient {slopes}"


def _symmetric(statement: Json, _: Json) -> str:
    of = statement["of"] if isinstance(statement["of"], str) else _sum(statement["of"])
    across = ", with an impulse at each jump," * statement["across"]
    along = " along the sets of the states" * (statement["for"] == ON_SETS)
    return f"{of}: the Jacobian by {', '.join(statement['by'])}{across} is symmetric{along}"


def _matrix(statement: Json, _: Json) -> str:
    return f"{statement['of']}: symmetric by the indices {' and '.join(statement['by'])}"


def _metric(statement: Json, _: Json) -> str:
    (by,) = statement["by"]
    return f"flow {statement['of']} = -P grad(E, {by}): (d{by}/d{statement['of']}) P is symmetric"


def _floor(statement: Json, _: Json) -> str:
    return f"{_sum(statement['of'])}: bounded below" + statement["attained"] * ", and takes its least value"


def _rest(statement: Json, _: Json) -> str:
    lengths = f", of length {_lengths(statement)}" if statement["lengths"] else ""
    return f"an equilibrium of {statement['steps']} steps{lengths} exists"


def _unique(statement: Json, _: Json) -> str:
    return f"there is exactly one equilibrium of {statement['steps']} steps"


def _converges(statement: Json, _: Json) -> str:
    steps = f"{statement['steps']} step of length {_lengths(statement)}"
    return f"it converges: after a {steps} any two states are at most {statement['rate']} times as far apart"


def _contraction(statement: Json, _: Json) -> str:
    return f"a step of length {statement['step']} of {statement['of']}, all else held, is a contraction"


def _semidefinite(statement: Json, entry: Json) -> str:
    of, by = statement["of"], statement["by"]
    if len(by) == 1:
        return f"flow {of} = -P grad(E, {by[0]}): (d{by[0]}/d{of}) P is positive semidefinite"
    return f"{of}: positive semidefinite by the indices {' and '.join(by)}"


def _invertible(statement: Json, _: Json) -> str:
    return f"flow {statement['of']} = -P grad(E, {statement['by']}): P is invertible"


def _positive(statement: Json, _: Json) -> str:
    given = f" where {', '.join(statement['given'])} is nowhere negative" if statement["given"] else ""
    return f"{statement['of']}: the Jacobian by {statement['by']} is positive semidefinite{given}"


_WORDS: Mapping[str, Callable[[Json, Json], str]] = {
    "gradient": _gradient,
    "symmetric": _symmetric,
    "matrix": _matrix,
    "metric": _metric,
    "floor": _floor,
    "rest": _rest,
    "unique": _unique,
    "converges": _converges,
    "contraction": _contraction,
    "semidefinite": _semidefinite,
    "invertible": _invertible,
    "positive": _positive,
}
