"""The curves of a run over its updates, from the rows of its ``metrics.jsonl``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from energyc.surfaces.charts.chart import Look, Number, Series, smoothed

Row = Mapping[str, Any]
#: The kinds of rows that are held out, and what their curves are called.
HELD_OUT = (("eval", "test"), ("validation", "validation"))
_NO_METRIC = (
    *("step", "kind", "split", "cost", "residual", "residual_max", "settled", "relax_steps", "samples", "saturated"),
)


def metric_names(row: Row) -> list[str]:
    """The names of the metrics in a row of an evaluation."""
    return [name for name in row if name not in _NO_METRIC and not name.endswith("_threshold")]


def of_kind(rows: Iterable[Row], kind: str) -> list[Row]:
    """The rows of a kind: ``train``, ``eval`` or ``validation``."""
    return [row for row in rows if row.get("kind") == kind]


def points(rows: Iterable[Row], key: str) -> tuple[list[float], list[Number]]:
    """Updates and values of the rows with a key; a value that was not finite is None."""
    known = [row for row in rows if key in row]
    return [float(row["step"]) for row in known], [None if row[key] is None else float(row[key]) for row in known]


def _plain(word: str) -> str:
    return word


def training(rows: Sequence[Row], name: str, colour: int = 0, label: Callable[[str], str] = _plain) -> list[Series]:
    """The values of each update, faint, and their running mean; nothing where no update has one."""
    steps, values = points(of_kind(rows, "train"), name)
    if not steps:
        return []
    return [
        Series("", steps, values, "faint", colour),
        Series(label("training"), steps, smoothed(values), "line", colour),
    ]


def held_out(
    rows: Sequence[Row],
    name: str,
    *,
    colour: int | None = None,
    label: Callable[[str], str] = _plain,
    validation: Look = "dots",
) -> list[Series]:
    """The values of the evaluations on the test and the validation part, as far as there are any.

    They have one ``colour``, or each its own. ``validation`` is the look of the second.
    """
    looks: tuple[Look, Look] = ("dots", validation)
    curves = []
    for place, ((kind, word), look) in enumerate(zip(HELD_OUT, looks, strict=True)):
        steps, values = points(of_kind(rows, kind), name)
        if steps:
            curves.append(Series(label(word), steps, values, look, 1 + place if colour is None else colour))
    return curves
