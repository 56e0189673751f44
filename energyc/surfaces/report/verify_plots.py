"""Draw the sweeps of ``verify``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from energyc.language.diagnostics import UserError
from energyc.surfaces.report.canvas import COLOURS, FAINT, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from energyc.studies.verify import Fidelity, Loose, Looseness, Sweep

MARKS = "os^Dv<>Px*h"
#: The distance between the foot of a panel and rows of crosses, as a share of the panel's height.
FOOT = 0.02


def draw_sweep(name: str, fidelity: Fidelity, sweep: str, path: Path) -> Path | None:
    """Draw the sweep of ``beta`` or of the ``residual``; None if no point was measured.

    Raises UserError E0530 (no matplotlib), E0513 (the picture cannot be written).
    """
    if sweep == "residual":
        return None if fidelity.looseness is None else _residual(name, fidelity.looseness, path)
    return _beta(name, fidelity, path)


def _beta(name: str, fidelity: Fidelity, path: Path) -> Path | None:
    """Draw the relative error of each rule with a beta against beta."""
    swept = {rule: _drawable(result.sweep) for rule, result in fidelity.rules.items() if result.sweep}
    swept = {rule: points for rule, points in swept.items() if points}
    if not swept:
        why = "none of these rules has a beta, or a finite gradient at one"
        raise UserError(why, code="E0530", help="add a rule with nudges")
    with picture(path, 1, 1, (5.2, 3.6)) as canvas:
        panel = canvas.panels[0]
        for k, (rule, points) in enumerate(swept.items()):
            panel.plot(*zip(*points, strict=True), label=rule, **_style(k))
        panel.set(xscale="log", yscale="log", xlabel="beta", ylabel="|found - exact| / |exact|")
        panel.set_title(f"{name}: error of each rule's gradient")
        panel.legend()
    return path


def _drawable(sweep: Sweep) -> list[tuple[float, float]]:
    """Return the points of a sweep of beta with positive errors."""
    return [(x, e) for x, e in sweep.points if e > 0] if sweep.name == "beta" else []


def _residual(name: str, looseness: Looseness, path: Path) -> Path:
    """Draw the lowest cosine of a param against the residual from which the nudged phases start."""
    with picture(path, 1, 1, (5.2, 3.6)) as canvas:
        panel = canvas.panels[0]
        lowest = 0.0
        for k, (rule, points) in enumerate(looseness.rules.items()):
            points_shown = [p for p in points if _has_cosine(p)]
            cosines = [p.worst.cosine for p in points_shown]
            panel.plot([p.residual for p in points_shown], cosines, label=rule, **_style(k))
            lowest = min([lowest, *cosines])
        panel.set_ylim(lowest - 0.25, 1.05)
        _mark_missing(panel, looseness)
        panel.axhline(0.8, color=FAINT, linestyle="--", linewidth=1)
        panel.set(xscale="log", xlabel="residual of the free phase", ylabel="lowest cosine of a param")
        panel.set_title(f"{name}: gradients from a loose free phase")
        panel.legend()
    return path


def _mark_missing(panel: Axes, looseness: Looseness) -> None:
    """Draw a cross at the foot of the panel, in the rule's colour, where samples diverged and there is no cosine."""
    marks = [(p.residual, k) for k, points in enumerate(looseness.rules.values()) for p in points if not _has_cosine(p)]
    style: dict[str, Any] = {
        "transform": panel.get_xaxis_transform(),
        "marker": "x",
        "linestyle": "none",
        "clip_on": False,
    }
    for residual, k in marks:
        panel.plot([residual], [FOOT * (k + 1)], color=COLOURS[k % len(COLOURS)], **style)
    if marks:
        panel.plot([], [], color=FAINT, marker="x", linestyle="none", label="diverged: no cosine")


def _has_cosine(point: Loose) -> bool:
    return math.isfinite(point.worst.cosine) and point.kept == 1


def _style(k: int) -> dict[str, Any]:
    return {"color": COLOURS[k % len(COLOURS)], "marker": MARKS[k % len(MARKS)], "markersize": 3.5}
