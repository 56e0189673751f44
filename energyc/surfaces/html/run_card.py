"""The card of a run in a notebook: its last numbers and its learning curves."""

from __future__ import annotations

from collections.abc import Sequence

from energyc.surfaces.charts import Chart, Mark, Scale, Series
from energyc.surfaces.charts.learning import Row, held_out, metric_names, of_kind, training
from energyc.surfaces.html.card import card, tiles
from energyc.surfaces.html.chart import legend, number, svg
from energyc.surfaces.html.markup import tag
from energyc.surfaces.tables import Table
from energyc.surfaces.tables.layouts import to_array


def run_html(title: str, rows: Sequence[Row], *, total: int, best: int | None = None, notes: Sequence[str] = ()) -> str:
    """Return the card of a run from the rows of its ``metrics.jsonl``; ``best`` is the step of the best evaluation."""
    evaluations = of_kind(rows, "eval")
    names = _metrics(evaluations)
    step = max((row["step"] for row in rows), default=0)
    shown = next((row for row in evaluations if row["step"] == best), evaluations[-1] if evaluations else {})
    facts = [("updates", f"{step:,} of {total:,}"), *_numbers(shown, names)]
    facts += [("best at update", f"{best:,}")] if best is not None else []
    mark = None if best is None else Mark(best, "best")
    panels = []
    for name in names:
        curves = _curves(rows, name)
        scale: Scale = "log" if name == "cost" else "linear"
        drawn = svg(Chart(tuple(curves), "update", name, scale, mark=mark))
        panels.append(tag("figure", drawn, legend(curves) if name == "cost" else None))
    told = [tag("p", note, class_="soft") for note in notes]
    return card(title, tiles(facts), tag("div", panels, class_="panels"), told)


def run_latex(rows: Sequence[Row]) -> str:
    """Return the last evaluation of a run as a table in LaTeX."""
    evaluations = of_kind(rows, "eval")
    last = evaluations[-1] if evaluations else {}
    return to_array(Table(("of the last evaluation", ""), tuple(_numbers(last, _metrics(evaluations)))))


def _metrics(evaluations: Sequence[Row]) -> list[str]:
    return ["cost", *(name for row in evaluations[:1] for name in metric_names(row))]


def _numbers(row: Row, names: Sequence[str]) -> list[tuple[str, str]]:
    return [(name, number(float(row[name]))) for name in names if row.get(name) is not None]


def _curves(rows: Sequence[Row], name: str) -> list[Series]:
    return [*training(rows, name), *held_out(rows, name)]
