"""The curves of runs over their updates, from the rows of ``metrics.jsonl``, and of samples over the steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from energyc.surfaces.charts.chart import Chart, Mark, Number, Scale, Series, is_number, mean, smoothed

Row = Mapping[str, Any]
#: Runs by the names that their curves have; the name of a run that is alone does not show.
Runs = Mapping[str, Sequence[Row]]
#: The kinds of rows that are held out, and what their curves are called.
HELD_OUT = (("eval", "test"), ("validation", "validation"))
_NO_METRIC = (
    *("step", "kind", "split", "cost", "residual", "residual_max", "settled", "relax_steps", "samples", "saturated"),
)
#: The health in a row of training: key -> (the label of the axis, whether the axis is logarithmic).
HEALTH: Mapping[str, tuple[str, bool]] = MappingProxyType(
    {
        "settled": ("share of samples that settled", False),
        "residual": ("residual, worst sample", True),
        "beta": ("beta", True),
        "gradient_norm": ("norm of the gradient", True),
        "relax_steps": ("free steps, mean", False),
        "lr": ("learning rate", False),
        "cosine": ("cosine with the exact gradient", False),
        "gated": ("samples gated", False),
        "dropped": ("samples whose nudge diverged", False),
        "frozen": ("samples frozen by rounding", False),
        "residual_ema": ("running mean of the residual", True),
        "penalty": ("weight of the Jacobian penalty", True),
        "penalty_value": ("|J_nc w|^2 / dim", True),
        "contraction_value": ("factor of a step along the slowest mode", False),
        "defence_value": ("|step F|^2 / |z|^2", True),
        "snapshot": ("nudged step taken, mean", False),
        "leakage": ("leakage of the circle", True),
        "clamped": ("residual of the clamped phase, mean", True),
    }
)
_COUNTED = ("gated", "dropped", "frozen")


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


def learning_charts(runs: Runs, best: int | None = None) -> list[Chart]:
    """The cost and each metric over the updates of one run or of two; ``best`` is the update of the best checkpoint."""
    mark = None if best is None else Mark(best, f"best, update {best}")
    tests = [row for rows in runs.values() for row in of_kind(rows, "eval")[:1]]
    metrics = dict.fromkeys(name for row in tests for name in metric_names(row))
    cost = [*_each(runs, _training), *_each(runs, _held_out, "cost")]
    charts = [Chart(tuple(cost), "update", "cost", "log", mark=mark)]
    return charts + [Chart((*_each(runs, _held_out, name),), "update", name, mark=mark) for name in metrics]


def _each(runs: Runs, draw: Any, *names: str) -> Iterator[Series]:
    for place, (run, rows) in enumerate(runs.items()):
        yield from draw(rows, *names, f"{run}, " if len(runs) > 1 else "", place if len(runs) > 1 else None)


def _training(rows: Sequence[Row], prefix: str, colour: int | None) -> Iterator[Series]:
    """The cost of each update, faint, and its running mean."""
    steps, values = points(of_kind(rows, "train"), "cost")
    if steps:
        yield Series("", steps, values, "faint", colour or 0)
        yield Series(f"{prefix}training", steps, smoothed(values), "line", colour or 0)


def _held_out(rows: Sequence[Row], name: str, prefix: str, colour: int | None) -> Iterator[Series]:
    """The evaluations on the test and the validation part, in one colour or each in its own."""
    for place, (kind, word) in enumerate(HELD_OUT):
        steps, values = points(of_kind(rows, kind), name)
        if steps:
            own = 1 + place if colour is None else colour
            yield Series(f"{prefix}{word}", steps, values, "dashed" if place else "dots", own)


def health_charts(runs: Runs) -> list[Chart]:
    """The health of one run or of two: residual, beta, gradient norm, free steps, rate, excluded samples and more."""
    trained = {name: of_kind(rows, "train") for name, rows in runs.items()}
    updates = [float(row["step"]) for rows in trained.values() for row in rows]
    charts = []
    for key, (label, logarithmic) in HEALTH.items():
        curves = [
            Series(name if len(runs) > 1 else "", *points(rows, key), colour=k)
            for k, (name, rows) in enumerate(trained.items())
            if any(_shows(key, row) for row in rows)
        ]
        if curves:
            scale: Scale = "log" if logarithmic else "linear"
            span = min(updates), max(updates)
            within = _range(key, curves)
            charts.append(Chart(tuple(curves), "update", label, scale, x_range=span, y_range=within))
    return charts


def _shows(key: str, row: Row) -> bool:
    """Whether a row gives a key a panel; rare events have one only if they happened."""
    return bool(row.get(key)) if key in ("dropped", "frozen") else row.get(key) is not None


def _range(key: str, curves: Sequence[Series]) -> tuple[float, float] | None:
    if key == "settled":
        return 0.0, 1.0
    return (0.0, max(1, *(y for each in curves for y in each.y if is_number(y)))) if key in _COUNTED else None


def seed_charts(runs: Runs) -> list[Chart]:
    """The test cost and metrics of each seed, thin, and their mean at the updates at which all were evaluated."""
    tests = [found for rows in runs.values() if (found := of_kind(rows, "eval"))]
    names = ["cost", *(name for rows in tests[:1] for name in metric_names(rows[0]))]
    charts = []
    for name in names:
        each = [Series("", *points(rows, name), "faint") for rows in tests]
        columns = [dict(zip(series.x, series.y, strict=True)) for series in each]
        common = sorted(set.intersection(*map(set, columns)))
        means = [mean([column[x] for column in columns]) for x in common]
        curves = (*each, Series(f"mean of {len(each)} seeds", common, means, colour=1))
        charts.append(Chart(curves, "update", f"test {name}"))
    return charts


# ---------------------------------------------------------------- over the steps of a relaxation


#: The most samples that have a curve of their own.
CURVES = 32
#: The number of steps from which on their axis is logarithmic.
_MANY = 50
#: A residual above it is taken for one of a state that has only begun to move.
_TO_NOTHING = 1e6


def followed(
    name: str,
    steps: Sequence[float],
    samples: Sequence[Sequence[Number]],
    *,
    label: str = "mean",
    colour: int = 0,
    group: int | None = None,
) -> Iterator[Series]:
    """Yield the curves of ``samples``, thin, and their mean; where a sample diverged there is no mean.

    A ``residual`` says nothing before the first step, nor while a state is still 0: it is relative to nothing then.
    """
    places = list(zip(*samples, strict=True))
    first = next((k for k, values in enumerate(places) if k and _is_relative(values)), 1) if name == "residual" else 0
    for sample in samples[:CURVES]:
        yield Series("", steps[first:], sample[first:], "faint", group=group)
    yield Series(label, steps[first:], [mean(values) for values in places[first:]], colour=colour, group=group)


def _is_relative(values: Sequence[Number]) -> bool:
    return all(value < _TO_NOTHING for value in values if is_number(value))


def relaxation_chart(name: str, series: Sequence[Series], *, y_label: str = "", title: str = "", t1: int = 0) -> Chart:
    """Return the chart of a number over the steps; ``t1`` is the end of the free phase, 0 where it is not marked."""
    last = max((each.x[-1] for each in series if each.x), default=0)
    return Chart(
        tuple(series),
        "step",
        y_label or name,
        "log" if name == "residual" else "linear",
        "steps" if last > _MANY else "linear",
        mark=Mark(t1, f"T1 = {t1}") if t1 else None,
        title=title,
    )
