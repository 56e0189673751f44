"""Draw how good a network is with params of few bits and with mismatch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from energyc.language.settings.train import ALWAYS_MEASURED
from energyc.studies.hardware.study import Row
from energyc.surfaces.report.canvas import COLOURS, FAINT, picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Line = tuple[str, list[tuple[float, Row]]]


def draw_study(title: str, rows: Sequence[Row], path: Path) -> Path:
    """Draw the cost and each metric against the bits, a line for each mismatch; without bits, against the mismatch.

    The dashed line is the network as it was trained. Raises UserError E0530 (no matplotlib), E0513 (the picture cannot
    be written).
    """
    trained, others = rows[0], rows[1:]
    names = [name for name in trained.numbers if name == "cost" or name not in ALWAYS_MEASURED]
    with picture(path, 1, len(names), (4.2, 3.2)) as canvas:
        for panel, name in zip(canvas.panels, names, strict=False):
            panel.axhline(trained.numbers[name]["mean"], color=FAINT, linestyle="--", linewidth=1, label="as trained")
            for k, (label, points) in enumerate(_lines(others)):
                _draw_line(panel, name, points, label, COLOURS[k % len(COLOURS)])
            panel.set(xlabel="bits" if _has_bits(others) else "mismatch", ylabel=name)
        canvas.panels[0].set_title(title)
        canvas.panels[0].legend()
    return path


def _has_bits(rows: Sequence[Row]) -> bool:
    return any(row.precision.bits is not None for row in rows)


def _lines(rows: Sequence[Row]) -> list[Line]:
    """The points of each line, with its label."""
    if not _has_bits(rows):
        return [("with mismatch", [(row.precision.mismatch, row) for row in rows])]
    lines: dict[str, list[tuple[float, Row]]] = {}
    for row in rows:
        label = f"mismatch {row.precision.share}" if row.precision.mismatch else "no mismatch"
        lines.setdefault(label, []).append((float(row.precision.bits or 0), row))
    return list(lines.items())


def _draw_line(panel: Axes, name: str, points: Sequence[tuple[float, Row]], label: str, colour: str) -> None:
    """Draw means with bars of a deviation to each side."""
    ordered = sorted(points, key=lambda point: point[0])
    means = [row.numbers[name]["mean"] for _, row in ordered]
    bars = [row.numbers[name]["deviation"] or 0.0 for _, row in ordered]
    panel.errorbar(
        [x for x, _ in ordered], means, bars, label=label, color=colour, marker="o", markersize=3.5, capsize=2
    )
