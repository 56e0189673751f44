"""The card of a run in a notebook: its last numbers and its learning curves."""

from __future__ import annotations

from collections.abc import Sequence

from energyc.surfaces.charts.learning import Row, learning_charts, metric_names, of_kind
from energyc.surfaces.html.pages import render
from energyc.surfaces.tables import Table, number
from energyc.surfaces.tables.layouts import to_array


def run_html(title: str, rows: Sequence[Row], *, total: int, best: int | None = None, notes: Sequence[str] = ()) -> str:
    """Return the card of a run from the rows of its ``metrics.jsonl``; ``best`` is the step of the best evaluation."""
    evaluations = of_kind(rows, "eval")
    step = max((row["step"] for row in rows), default=0)
    shown = next((row for row in evaluations if row["step"] == best), evaluations[-1] if evaluations else {})
    facts = [("updates", f"{step:,} of {total:,}"), *_numbers(shown, evaluations)]
    facts += [("best at update", f"{best:,}")] if best is not None else []
    return render("run.html", title=title, tiles=facts, curves=learning_charts({"": rows}, best), notes=notes)


def run_latex(rows: Sequence[Row]) -> str:
    """Return the last evaluation of a run as a table in LaTeX."""
    evaluations = of_kind(rows, "eval")
    last = evaluations[-1] if evaluations else {}
    return to_array(Table(("of the last evaluation", ""), tuple(_numbers(last, evaluations))))


def _numbers(row: Row, evaluations: Sequence[Row]) -> list[tuple[str, str]]:
    names = ["cost", *(name for first in evaluations[:1] for name in metric_names(first))]
    return [(name, number(float(row[name]))) for name in names if row.get(name) is not None]
