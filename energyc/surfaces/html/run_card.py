"""The card of a run in a notebook: its last numbers and its learning curves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from energyc.surfaces.html.card import card, latex_table, tiles
from energyc.surfaces.html.chart import Mark, Series, chart, legend, number, smoothed
from energyc.surfaces.html.markup import tag

Row = Mapping[str, Any]
#: Numbers of an evaluation that are neither the cost nor a metric.
HEALTH = frozenset({"step", "kind", "split", "residual", "residual_max", "settled", "relax_steps", "samples"})


def run_html(title: str, rows: Sequence[Row], *, total: int, best: int | None = None, notes: Sequence[str] = ()) -> str:
    """Return the card of a run from the rows of its ``metrics.jsonl``; ``best`` is the step of the best evaluation."""
    evaluations = _kind(rows, "eval")
    names = _metrics(evaluations)
    step = max((row["step"] for row in rows), default=0)
    shown = next((row for row in evaluations if row["step"] == best), evaluations[-1] if evaluations else {})
    facts = [("updates", f"{step:,} of {total:,}"), *_numbers(shown, names)]
    facts += [("best at update", f"{best:,}")] if best is not None else []
    mark = None if best is None else Mark(best, "best")
    panels = []
    for name in names:
        curves = _curves(rows, name)
        scale = "log" if name == "cost" else "linear"
        drawn = chart(curves, x_label="update", y_label=name, y_scale=scale, mark=mark)  # type: ignore[arg-type]
        panels.append(tag("figure", drawn, legend(curves) if name == "cost" else None))
    told = [tag("p", note, class_="soft") for note in notes]
    return card(title, tiles(facts), tag("div", panels, class_="panels"), told)


def run_latex(rows: Sequence[Row]) -> str:
    """Return the last evaluation of a run as a table in LaTeX."""
    evaluations = _kind(rows, "eval")
    last = evaluations[-1] if evaluations else {}
    return latex_table(("of the last evaluation", ""), _numbers(last, _metrics(evaluations)))


def _kind(rows: Sequence[Row], kind: str) -> list[Row]:
    return [row for row in rows if row.get("kind") == kind]


def _metrics(evaluations: Sequence[Row]) -> list[str]:
    further = [name for row in evaluations[:1] for name in row if name not in HEALTH | {"cost"}]
    return ["cost", *(name for name in further if not name.endswith("_threshold"))]


def _numbers(row: Row, names: Sequence[str]) -> list[tuple[str, str]]:
    return [(name, number(float(row[name]))) for name in names if row.get(name) is not None]


def _curves(rows: Sequence[Row], name: str) -> list[Series]:
    curves = []
    train = [row for row in _kind(rows, "train") if name in row]
    if train:
        steps, values = [float(row["step"]) for row in train], [row[name] for row in train]
        curves += [Series("", steps, values, "faint"), Series("training", steps, smoothed(values))]
    for colour, (kind, word) in enumerate((("eval", "test"), ("validation", "validation")), 1):
        found = [row for row in _kind(rows, kind) if name in row]
        if found:
            curves.append(Series(word, [float(r["step"]) for r in found], [r[name] for r in found], "dots", colour))
    return curves
