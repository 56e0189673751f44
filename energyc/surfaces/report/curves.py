"""Curves of a run, drawn from the rows of its ``metrics.jsonl``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from energyc.surfaces.report.canvas import COLOURS, FAINT, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import Locator

Row = Mapping[str, Any]

#: The health in a row of training: key -> (the label of the axis, whether the axis is logarithmic).
HEALTH: Mapping[str, tuple[str, bool]] = MappingProxyType(
    {
        "residual": ("residual, worst sample", True),
        "beta": ("beta", True),
        "gradient_norm": ("norm of the gradient", True),
        "relax_steps": ("free steps, mean", False),
        "lr": ("learning rate", False),
        "gated": ("samples gated", False),
        "dropped": ("samples whose nudge diverged", False),
        "frozen": ("samples frozen by rounding", False),
        "residual_ema": ("running mean of the residual", True),
        "penalty": ("weight of the Jacobian penalty", True),
        "penalty_value": ("|J_nc w|^2 / dim", True),
        "defence_value": ("|step F|^2 / |z|^2", True),
        "snapshot": ("nudged step taken, mean", False),
        "leakage": ("leakage of the circle", True),
        "clamped": ("residual of the clamped phase, mean", True),
    }
)
_COUNTED = ("gated", "dropped", "frozen")
_NO_METRIC = ("step", "kind", "split", "cost", "residual", "residual_max", "settled", "relax_steps", "samples")


def learning_curves(rows: Sequence[Row], path: Path, *, title: str = "", best: int | None = None) -> None:
    """Draw training and test cost against updates, a panel for each metric, and a line at the best checkpoint."""
    train, test, validation = (_kind(rows, kind) for kind in ("train", "eval", "validation"))
    metrics = metric_names(test[0] if test else {})
    columns = min(2, 1 + len(metrics))
    with picture(path, -(-(1 + len(metrics)) // columns), columns, (4.6, 3.2)) as canvas:
        _cost(canvas.panels[0], train, test, validation)
        for panel, name in zip(canvas.panels[1:], metrics, strict=False):
            panel.plot(*_series(test, name), color=COLOURS[1], marker="o", markersize=3, label="test")
            _held_out(panel, validation, name)
            panel.set_ylabel(name if validation else f"test {name}")
        for panel in canvas.panels[: 1 + len(metrics)]:
            panel.set_xlabel("update")
            if best is not None:
                panel.axvline(best, color=FAINT, linestyle="--", linewidth=1, label=f"best, update {best}")
        canvas.panels[0].legend()
        canvas.figure.suptitle(title)


def health_curves(rows: Sequence[Row], path: Path, *, title: str = "") -> None:
    """Draw the health of a run: residual, beta, gradient norm, free steps, rate, excluded samples and more."""
    train = _kind(rows, "train")
    keys = [key for key in HEALTH if any(shows(key, row) for row in train)]
    columns = min(3, max(1, len(keys)))
    with picture(path, max(1, -(-len(keys) // columns)), columns, (3.8, 2.5)) as canvas:
        for panel, key in zip(canvas.panels, keys, strict=False):
            label, logarithmic = HEALTH[key]
            steps, values = _series(train, key)
            panel.plot(steps, values, color=COLOURS[0], linewidth=1)
            panel.set(xlabel="update", ylabel=label)
            if logarithmic:
                _log_if_positive(panel, values)
            if key in _COUNTED:
                _from_zero(panel, values)
            _over_updates(panel, train)
        canvas.figure.suptitle(title)


def seed_curves(runs: Mapping[str, Sequence[Row]], path: Path, *, title: str = "") -> None:
    """Draw the test cost and metrics of each seed as a thin line, and their mean as a thick one."""
    tests = {name: _kind(rows, "eval") for name, rows in runs.items()}
    first = next((rows[0] for rows in tests.values() if rows), {})
    names = ["cost", *metric_names(first)]
    with picture(path, 1, len(names), (4.6, 3.2)) as canvas:
        for panel, name in zip(canvas.panels, names, strict=True):
            series = [_series(rows, name) for rows in tests.values() if rows]
            for steps, values in series:
                panel.plot(steps, values, color=FAINT, linewidth=0.8)
            _mean_line(panel, series)
            panel.set(xlabel="update", ylabel=f"test {name}")
            panel.legend()
        canvas.figure.suptitle(title)


def metric_names(row: Row) -> list[str]:
    """The names of the metrics in a row of an evaluation."""
    return [name for name in row if name not in _NO_METRIC and not name.endswith("_threshold")]


def _held_out(panel: Axes, validation: Sequence[Row], name: str) -> None:
    """Draw what decides which checkpoint is the best, where that is not the test."""
    if validation:
        panel.plot(*_series(validation, name), color=COLOURS[2], marker="o", markersize=3, label="validation")


def shows(key: str, row: Row) -> bool:
    """Whether a row gives a key a panel; rare events have one only if they happened."""
    return bool(row.get(key)) if key in ("dropped", "frozen") else row.get(key) is not None


def _cost(panel: Axes, train: Sequence[Row], test: Sequence[Row], validation: Sequence[Row]) -> None:
    steps, values = _series(train, "cost")
    panel.plot(steps, values, color=FAINT, linewidth=0.6, alpha=0.6)
    panel.plot(steps, _smoothed(values), color=COLOURS[0], label="training")
    held_out = _series(test, "cost")
    panel.plot(*held_out, color=COLOURS[1], marker="o", markersize=3, label="test")
    _held_out(panel, validation, "cost")
    panel.set_ylabel("cost")
    _log_if_positive(panel, np.concatenate([values, held_out[1]]))


def _mean_line(panel: Axes, series: Sequence[tuple[np.ndarray, np.ndarray]]) -> None:
    """Draw the mean at the updates at which all seeds were evaluated."""
    if not series:
        return
    common = sorted(set.intersection(*(set(steps.tolist()) for steps, _ in series)))
    columns = [dict(zip(steps.tolist(), values.tolist(), strict=True)) for steps, values in series]
    mean = [float(np.mean([column[step] for column in columns])) for step in common]
    panel.plot(common, mean, color=COLOURS[1], linewidth=2, label=f"mean of {len(series)} seeds")


def _over_updates(panel: Axes, rows: Sequence[Row]) -> None:
    """Let the axis span the updates of all rows, whether or not the panel has values there."""
    first, last = min(row["step"] for row in rows), max(row["step"] for row in rows)
    margin = 0.02 * (last - first) or 1
    panel.set_xlim(first - margin, last + margin)
    panel.xaxis.set_major_locator(_whole_numbers())


def _from_zero(panel: Axes, counts: np.ndarray) -> None:
    top = max(1, np.nanmax(counts, initial=0))
    panel.set_ylim(-0.05 * top, 1.05 * top)
    panel.yaxis.set_major_locator(_whole_numbers())


def _whole_numbers() -> Locator:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10])


def _kind(rows: Sequence[Row], kind: str) -> list[Row]:
    return [row for row in rows if row.get("kind") == kind]


def _series(rows: Sequence[Row], key: str) -> tuple[np.ndarray, np.ndarray]:
    """Return steps and values of the rows with a key; a value that was not finite is a gap."""
    points = [(row["step"], row[key]) for row in rows if key in row]
    values = [np.nan if value is None else float(value) for _, value in points]
    return np.array([step for step, _ in points], dtype=float), np.array(values, dtype=float)


def _smoothed(values: np.ndarray) -> np.ndarray:
    """Return a centred running mean over a fiftieth of the run, shorter at the ends, that ignores gaps."""
    half = max(1, len(values) // 100)
    known = np.isfinite(values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(known, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(known)])
    places = np.arange(len(values))
    low, high = np.maximum(places - half, 0), np.minimum(places + half + 1, len(values))
    count = counts[high] - counts[low]
    return np.where(count > 0, (sums[high] - sums[low]) / np.maximum(count, 1), np.nan)


def _log_if_positive(panel: Axes, values: np.ndarray) -> None:
    """Use a log axis if all values are positive and span more than a factor of ten."""
    known = values[np.isfinite(values)]
    if len(known) and known.min() > 0 and known.max() > 10 * known.min():
        panel.set_yscale("log")
