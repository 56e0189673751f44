"""Pictures of sweeps: the gradients of rules over beta or the residual, a network over bits and mismatch."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from energyc.language.diagnostics import UserError
from energyc.language.settings.train import ALWAYS_MEASURED
from energyc.surfaces.charts import Chart, Mark, Series
from energyc.surfaces.charts.canvas import draw_charts

if TYPE_CHECKING:
    from energyc.studies.hardware.study import Row
    from energyc.studies.verify import Fidelity, Loose, Sweep

#: The cosine above which a gradient is taken for faithful.
_FAITHFUL = 0.8


def draw_sweep(name: str, fidelity: Fidelity, sweep: str, path: Path) -> Path | None:
    """Draw the sweep of ``beta`` or of the ``residual``; None if no point was measured.

    Raises UserError E0530 (no matplotlib), E0513 (the picture cannot be written).
    """
    if sweep == "residual" and fidelity.looseness is None:
        return None
    found = _residual(name, fidelity.looseness.rules) if sweep == "residual" and fidelity.looseness else None
    draw_charts([found or _beta(name, fidelity)], path, size=(5.2, 3.6))
    return path


def _beta(name: str, fidelity: Fidelity) -> Chart:
    """Return the relative error of each rule with a beta against beta."""
    swept = {rule: _drawable(result.sweep) for rule, result in fidelity.rules.items() if result.sweep}
    swept = {rule: points for rule, points in swept.items() if points}
    if not swept:
        why = "none of these rules has a beta, or a finite gradient at one"
        raise UserError(why, code="E0530", help="add a rule with nudges")
    curves = [
        Series(rule, [x for x, _ in points], [error for _, error in points], "dots", k)
        for k, (rule, points) in enumerate(swept.items())
    ]
    title = f"{name}: error of each rule's gradient"
    return Chart(tuple(curves), "beta", "|found - exact| / |exact|", "log", "log", title=title)


def _drawable(sweep: Sweep) -> list[tuple[float, float]]:
    """Return the points of a sweep of beta with positive errors."""
    return [(x, e) for x, e in sweep.points if e > 0] if sweep.name == "beta" else []


def _residual(name: str, rules: Mapping[str, Sequence[Loose]]) -> Chart:
    """Return the lowest cosine of a param against the residual from which the nudged phases start.

    A cross at the foot stands where samples diverged and there is no cosine.
    """
    curves = []
    for k, (rule, points) in enumerate(rules.items()):
        shown = [p for p in points if _has_cosine(p)]
        curves.append(Series(rule, [p.residual for p in shown], [p.worst.cosine for p in shown], "dots", k))
    foot = min([0.0, *(y for each in curves for y in each.y if y is not None)]) - 0.3
    for k, points in enumerate(rules.values()):
        lost = [p.residual for p in points if not _has_cosine(p)]
        if lost:
            curves.append(Series("diverged: no cosine", lost, [foot + 0.05 * k] * len(lost), "crosses", k))
    return Chart(
        tuple(curves),
        "residual of the free phase",
        "lowest cosine of a param",
        x_scale="log",
        y_range=(foot, 1.0),
        level=Mark(_FAITHFUL),
        title=f"{name}: gradients from a loose free phase",
    )


def _has_cosine(point: Loose) -> bool:
    return math.isfinite(point.worst.cosine) and point.kept == 1


def draw_study(title: str, rows: Sequence[Row], path: Path) -> Path:
    """Draw the cost and each metric against the bits, a line for each mismatch; without bits, against the mismatch.

    The dashed line is the network as it was trained. Raises UserError E0530 (no matplotlib), E0513 (the picture cannot
    be written).
    """
    trained, others = rows[0], rows[1:]
    names = [name for name in trained.numbers if name == "cost" or name not in ALWAYS_MEASURED]
    axis = "bits" if _has_bits(others) else "mismatch"
    charts = [
        Chart(
            tuple(_lines(others, name)),
            axis,
            name,
            level=Mark(trained.numbers[name]["mean"], "as trained"),
            title="" if k else title,
        )
        for k, name in enumerate(names)
    ]
    draw_charts(charts, path, columns=len(charts), size=(4.2, 3.2))
    return path


def _has_bits(rows: Sequence[Row]) -> bool:
    return any(row.precision.bits is not None for row in rows)


def _lines(rows: Sequence[Row], name: str) -> Iterator[Series]:
    """Yield a line of means, with a band of a deviation to each side, for each mismatch."""
    lines: dict[str, list[tuple[float, Row]]] = {}
    for row in rows:
        if not _has_bits(rows):
            lines.setdefault("with mismatch", []).append((row.precision.mismatch, row))
        else:
            label = f"mismatch {row.precision.share}" if row.precision.mismatch else "no mismatch"
            lines.setdefault(label, []).append((float(row.precision.bits or 0), row))
    for k, (label, points) in enumerate(lines.items()):
        ordered = sorted(points, key=lambda point: point[0])
        numbers = [row.numbers[name] for _, row in ordered]
        means, bands = [each["mean"] for each in numbers], [each["deviation"] or 0.0 for each in numbers]
        yield Series(label, [x for x, _ in ordered], means, "dots", k, deviation=bands)
