"""The style of all pictures, and writing them. Matplotlib is imported when a picture is drawn."""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from energyc.extras import MATPLOTLIB
from energyc.files import Place, write
from energyc.language.diagnostics import UserError
from energyc.surfaces.charts import Chart, Number, is_number
from energyc.surfaces.charts.chart import Look
from energyc.surfaces.report.fitting import fit, paper

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours: distinct for everyone, and in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
FAINT = "#9AA5B1"

_LOOK: Mapping[Any, Any] = MappingProxyType(
    {
        "figure.dpi": 150,
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#E5E8EB",
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "lines.linewidth": 1.4,
        "legend.frameon": False,
        "legend.fontsize": 8,
    }
)


#: How each look is drawn.
_LOOKS: Mapping[Look, Mapping[str, Any]] = MappingProxyType(
    {
        "line": {},
        "faint": {"linewidth": 0.6, "alpha": 0.6},
        "dots": {"marker": "o", "markersize": 3},
        "dashed": {"linestyle": "--"},
    }
)


@dataclass(frozen=True)
class Canvas:
    """A figure with its panels in reading order."""

    figure: Figure
    panels: list[Axes]


@contextmanager
def picture(path: Place, rows: int, columns: int, size: tuple[float, float]) -> Iterator[Canvas]:
    """Yield a canvas of ``rows`` x ``columns`` panels, each of ``size`` inches, and write it to ``path``.

    A panel that nothing was drawn on is left blank.

    Raises UserError E0530 if matplotlib is not installed, E0513 if the picture cannot be written.
    """
    try:
        import matplotlib
        from matplotlib.figure import Figure
        from matplotlib.rcsetup import cycler
    except ImportError:
        raise MATPLOTLIB.missing() from None
    with matplotlib.rc_context({**_LOOK, "axes.prop_cycle": cycler(color=COLOURS)}):
        figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
        panels = figure.subplots(rows, columns, squeeze=False).ravel().tolist()
        yield Canvas(figure, panels)
        for panel in panels:
            if not panel.has_data():
                panel.set_axis_off()
        fit(figure)
        _write(figure, path)


def draw(panel: Axes, chart: Chart, *, width: float | None = None) -> None:
    """Draw a chart on a panel. A logarithmic y is linear where a value is not positive, or where all are alike."""
    for each in chart.series:
        colour = FAINT if each.look == "faint" else COLOURS[each.colour % len(COLOURS)]
        style = {**_LOOKS[each.look], **({} if width is None or each.look == "faint" else {"linewidth": width})}
        panel.plot(each.x, _with_gaps(each.y), color=colour, label=each.label or None, **style)
    if chart.mark is not None:
        panel.axvline(chart.mark.x, color=FAINT, linestyle="--", linewidth=1, label=chart.mark.label)
    panel.set(xlabel=chart.x_label, ylabel=chart.y_label)
    known = [y for each in chart.series for y in each.y if is_number(y)]
    if chart.y_scale == "log" and known and min(known) > 0 and max(known) > 10 * min(known):
        panel.set_yscale("log")


def _with_gaps(values: Sequence[Number]) -> list[float]:
    return [value if is_number(value) else math.nan for value in values]


def _write(figure: Figure, path: Place) -> None:
    try:
        buffer = io.BytesIO()
        suffix = path.suffix.removeprefix(".")
        metadata = {"Software": None} if suffix == "png" else None
        figure.savefig(buffer, format=suffix, metadata=metadata, bbox_inches=paper(figure))
        write(path, buffer.getvalue())
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise UserError(message, code="E0513", help="free some space or choose another folder") from None
