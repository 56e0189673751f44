"""Curves of a run, drawn from the rows of its ``metrics.jsonl``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from energyc.files import Place
from energyc.surfaces.charts import Chart, Mark, Number, Series, is_number
from energyc.surfaces.charts.learning import Row, held_out, metric_names, of_kind, points, training
from energyc.surfaces.report.canvas import draw, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import Locator

#: The health in a row of training: key -> (the label of the axis, whether the axis is logarithmic).
HEALTH: Mapping[str, tuple[str, bool]] = MappingProxyType(
    {
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


def learning_curves(rows: Sequence[Row], path: Place, *, title: str = "", best: int | None = None) -> None:
    """Draw training and test cost against updates, a panel for each metric, and a line at the best checkpoint."""
    mark = None if best is None else Mark(best, f"best, update {best}")
    cost = Chart((*training(rows, "cost"), *held_out(rows, "cost")), "update", "cost", "log", mark=mark)
    test = "" if of_kind(rows, "validation") else "test "
    names = [name for row in of_kind(rows, "eval")[:1] for name in metric_names(row)]
    charts = [cost, *(Chart(tuple(held_out(rows, name)), "update", test + name, mark=mark) for name in names)]
    columns = min(2, len(charts))
    with picture(path, -(-len(charts) // columns), columns, (4.6, 3.2)) as canvas:
        for panel, chart in zip(canvas.panels, charts, strict=False):
            draw(panel, chart)
        canvas.panels[0].legend()
        canvas.figure.suptitle(title)


def health_curves(rows: Sequence[Row], path: Place, *, title: str = "") -> None:
    """Draw the health of a run: residual, beta, gradient norm, free steps, rate, excluded samples and more."""
    train = of_kind(rows, "train")
    keys = [key for key in HEALTH if any(shows(key, row) for row in train)]
    columns = min(3, max(1, len(keys)))
    with picture(path, max(1, -(-len(keys) // columns)), columns, (3.8, 2.5)) as canvas:
        for panel, key in zip(canvas.panels, keys, strict=False):
            label, logarithmic = HEALTH[key]
            steps, values = points(train, key)
            draw(
                panel, Chart((Series("", steps, values),), "update", label, "log" if logarithmic else "linear"), width=1
            )
            if key in _COUNTED:
                _from_zero(panel, values)
            _over_updates(panel, train)
        canvas.figure.suptitle(title)


def seed_curves(runs: Mapping[str, Sequence[Row]], path: Place, *, title: str = "") -> None:
    """Draw the test cost and metrics of each seed as a thin line, and their mean as a thick one."""
    tests = [found for rows in runs.values() if (found := of_kind(rows, "eval"))]
    names = ["cost", *(name for rows in tests[:1] for name in metric_names(rows[0]))]
    with picture(path, 1, len(names), (4.6, 3.2)) as canvas:
        for panel, name in zip(canvas.panels, names, strict=True):
            each = [Series("", *points(rows, name), "faint") for rows in tests]
            draw(panel, Chart((*each, *_mean(each)), "update", f"test {name}"), width=2)
            panel.legend()
        canvas.figure.suptitle(title)


def shows(key: str, row: Row) -> bool:
    """Whether a row gives a key a panel; rare events have one only if they happened."""
    return bool(row.get(key)) if key in ("dropped", "frozen") else row.get(key) is not None


def _mean(series: Sequence[Series]) -> Iterator[Series]:
    """Yield the mean at the updates at which all seeds were evaluated."""
    if series:
        common = sorted(set.intersection(*(set(each.x) for each in series)))
        columns = [dict(zip(each.x, each.y, strict=True)) for each in series]
        mean = [float(np.mean([np.nan if (y := column[x]) is None else y for column in columns])) for x in common]
        yield Series(f"mean of {len(series)} seeds", common, mean, colour=1)


def _over_updates(panel: Axes, rows: Sequence[Row]) -> None:
    """Let the axis span the updates of all rows, whether or not the panel has values there."""
    first, last = min(row["step"] for row in rows), max(row["step"] for row in rows)
    margin = 0.02 * (last - first) or 1
    panel.set_xlim(first - margin, last + margin)
    panel.xaxis.set_major_locator(_whole_numbers())


def _from_zero(panel: Axes, counts: Sequence[Number]) -> None:
    top = max(1, *filter(is_number, counts))
    panel.set_ylim(-0.05 * top, 1.05 * top)
    panel.yaxis.set_major_locator(_whole_numbers())


def _whole_numbers() -> Locator:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10])
