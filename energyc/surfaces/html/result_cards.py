"""The cards of a run, a relaxation and gradients in a notebook. Their tensors are read; torch is not imported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from energyc.surfaces.charts import Chart
from energyc.surfaces.charts.learning import Row, learning_charts, metric_names, of_kind
from energyc.surfaces.charts.relaxing import followed, relaxation_chart
from energyc.surfaces.html.pages import render
from energyc.surfaces.tables import Table, number
from energyc.surfaces.tables.layouts import to_array

#: What may be recorded that is a number of each sample.
RECORDED = ("energy", "residual")


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


def relaxed_html(relaxed: Any) -> str:
    """Return the card of a ``Relaxed``: how it ended, its states, and curves of what was recorded."""
    return render(
        "relaxed.html",
        title=f"Relaxation of {_samples(relaxed.residual)}",
        ends=_ends("", relaxed),
        curves=[_curves(name, relaxed.trace[name]) for name in RECORDED if name in relaxed.trace],
        states=_states(relaxed.states),
    )


def relaxed_latex(relaxed: Any) -> str:
    """Return how a relaxation ended, as a table in LaTeX."""
    return to_array(_ends("", relaxed))


def gradients_html(gradients: Any) -> str:
    """Return the card of ``Gradients``: the free phase they belong to, and the size of each."""
    kept = int(gradients.kept.sum())
    left_out = "" if kept == len(gradients.kept) else f"; {len(gradients.kept) - kept} left out"
    beta = "" if gradients.beta is None else f"; beta {number(float(gradients.beta))}"
    return render(
        "gradients.html",
        title=f"Gradients of {_samples(gradients.cost)}",
        facts=f"mean cost {number(float(gradients.cost.double().mean()))}{beta}{left_out}",
        params=_params(gradients),
        ends=_ends("free phase", gradients),
    )


def gradients_latex(gradients: Any) -> str:
    """Return the size of each gradient, as a table in LaTeX."""
    return to_array(_params(gradients))


def _ends(heading: str, record: Any) -> Table:
    rows = [(name, *_spread(getattr(record, name))) for name in ("residual", "steps")]
    return Table((heading, "least", "median", "most"), tuple(rows))


def _spread(values: Any) -> tuple[str, str, str]:
    if not len(values):
        return "", "", ""
    found = values.double()
    low, middle, high = (number(float(value)) for value in (found.min(), found.median(), found.max()))
    return low, middle, high


def _states(states: Mapping[str, Any]) -> Table:
    rows = [(name, _shape(x.shape[1:]), *_ends_of(x)) for name, x in states.items()]
    return Table(("state", "shape", "least", "most"), tuple(rows))


def _ends_of(values: Any) -> tuple[str, str]:
    if not values.numel():
        return "", ""
    return number(float(values.min())), number(float(values.max()))


def _params(gradients: Any) -> Table:
    rows = [_param(name, slope, gradients.owners[name].detach()) for name, slope in gradients.params.items()]
    return Table(("param", "shape", "norm", "largest entry", "norm over that of the param"), tuple(rows))


def _param(name: str, slope: Any, param: Any) -> tuple[str, str, str, str, str]:
    norm, size = float(slope.norm()), float(param.norm())
    largest = number(float(slope.abs().max())) if slope.numel() else ""
    return name, _shape(slope.shape), number(norm), largest, number(norm / size) if size else ""


def _curves(name: str, values: Any) -> Chart:
    """Return the chart of what was recorded of each sample, [steps + 1, batch]."""
    samples = values.double().cpu().T.tolist()
    return relaxation_chart(name, list(followed(name, list(range(len(values))), samples)))


def _shape(shape: Sequence[int]) -> str:
    return f"[{', '.join(map(str, shape))}]" if len(shape) else "scalar"


def _samples(values: Any) -> str:
    return f"{len(values)} sample{'s' * (len(values) != 1)}"
