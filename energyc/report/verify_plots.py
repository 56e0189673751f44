"""Pictures of the sweeps of ``verify``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from energyc.diagnostics import UserError
from energyc.report.canvas import COLOURS, FAINT, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from energyc.rules import Fidelity, Looseness

MARKS = "os^Dv<>Px*h"


def draw_sweep(name: str, fidelity: Fidelity, sweep: str, path: Path) -> Path | None:
    """Draw the sweep of ``beta`` or of the ``residual``; None where no point was measured.

    Raises UserError E0530 (no matplotlib), E0513 (the picture cannot be written).
    """
    if sweep == "residual":
        return None if fidelity.looseness is None else _residual(name, fidelity.looseness, path)
    return _beta(name, fidelity, path)


def _beta(name: str, fidelity: Fidelity, path: Path) -> Path | None:
    """Relative error against beta, a line for each rule that has one."""
    swept = {rule: found.sweep for rule, found in fidelity.rules.items() if found.sweep and found.sweep.name == "beta"}
    if not swept:
        raise UserError("none of these rules has a beta", code="E0530", help="add a rule with nudges")
    with picture(path, 1, 1, (5.2, 3.6)) as canvas:
        panel = canvas.panels[0]
        for k, (rule, found) in enumerate(swept.items()):
            points = [(x, e) for x, e in found.points if e > 0]
            panel.plot(*zip(*points, strict=True), label=rule, **_style(k))
        panel.set(xscale="log", yscale="log", xlabel="beta", ylabel="|found - exact| / |exact|")
        panel.set_title(f"{name}: error of each rule's gradient")
        panel.legend()
    return path


def _residual(name: str, found: Looseness, path: Path) -> Path:
    """The lowest cosine of a param against the residual that the nudged phases started from."""
    with picture(path, 1, 1, (5.2, 3.6)) as canvas:
        panel = canvas.panels[0]
        for k, (rule, points) in enumerate(found.rules.items()):
            shown = [(p.residual, p.worst.cosine) for p in points if math.isfinite(p.worst.cosine) and p.kept == 1]
            lost = [p.residual for p in points if p.kept < 1]
            if shown:
                panel.plot(*zip(*shown, strict=True), label=rule, **_style(k))
            _crosses(panel, lost, COLOURS[k % len(COLOURS)], rule, bool(shown))
        panel.axhline(0.8, color=FAINT, linestyle="--", linewidth=1)
        panel.set(xscale="log", xlabel="residual of the free phase", ylabel="lowest cosine of a param")
        panel.set_ylim(-0.35, 1.05)
        panel.set_title(f"{name}: gradients from a loose free phase (x: a nudged phase diverged)")
        panel.legend()
    return path


def _crosses(panel: Axes, lost: list[float], colour: str, rule: str, named: bool) -> None:
    """Where samples were lost, at the foot of the picture."""
    if lost:
        label = None if named else rule
        panel.plot(lost, [-0.25] * len(lost), color=colour, marker="x", linestyle="none", label=label)


def _style(k: int) -> dict[str, Any]:
    return {"color": COLOURS[k % len(COLOURS)], "marker": MARKS[k % len(MARKS)], "markersize": 3.5}
