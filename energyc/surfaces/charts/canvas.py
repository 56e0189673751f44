"""The style of all pictures, and their writing. Matplotlib is imported when a picture is drawn.

Titles and labels are folded to their room, and the paper grows where they still end beyond it.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from energyc.extras import MATPLOTLIB
from energyc.files import Place, write
from energyc.language.diagnostics import UserError
from energyc.surfaces.charts.chart import Chart, Look, Number, Scale, Series, is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

# Okabe and Ito's colours: distinct for everyone, and in print.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
FAINT = "#9AA5B1"
_GRID = "#E5E8EB"

_LOOK: Mapping[Any, Any] = MappingProxyType(
    {
        "figure.dpi": 150,
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": _GRID,
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "lines.linewidth": 1.4,
        "legend.frameon": False,
        "legend.fontsize": 8,
        "svg.fonttype": "none",
        "svg.hashsalt": "energyc",
    }
)


#: How each look is drawn.
_LOOKS: Mapping[Look, Mapping[str, Any]] = MappingProxyType(
    {
        "line": {},
        "faint": {"linewidth": 0.6, "alpha": 0.6},
        "dots": {"marker": "o", "markersize": 3},
        "dashed": {"linestyle": "--"},
        "crosses": {"marker": "x", "linestyle": "none"},
    }
)
#: In a page the colours of text and grid are those of its style, which may be dark.
_OF_PAGE = {"#000000": "var(--soft, #5d6670)", _GRID.lower(): "var(--rule, #dfe2e6)"}
#: The share of the figure that its title takes at most; of the place of a panel, with its numbers and titles, what a
#: title or a label across it takes and what one down its side; the room at the edges of grown paper, in inches.
WHOLE, ACROSS, DOWN, MARGIN = 0.97, 0.84, 0.7, 0.04
#: In a page a line of more points is drawn by the means of that many groups.
_POINTS = 400


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
    with _canvas(rows, columns, size) as canvas:
        yield canvas
        for panel in canvas.panels:
            if not panel.has_data():
                panel.set_axis_off()
        _fit(canvas.figure)
        _write(canvas.figure, path)


def draw_charts(
    charts: Sequence[Chart], path: Place, *, title: str = "", columns: int = 3, size: tuple[float, float] = (4.2, 3.0)
) -> None:
    """Draw charts into one picture, at most ``columns`` side by side. Raises as ``picture``."""
    columns = min(columns, len(charts))
    with picture(path, -(-len(charts) // columns), columns, size) as canvas:
        for panel, chart in zip(canvas.panels, charts, strict=False):
            _draw(panel, chart)
        canvas.figure.suptitle(_plain(title))


def show_image(panel: Axes, pixels: Any) -> None:
    """Draw an image [height, width(, 3)] with values in [0, 1], which fills its panel without axes."""
    panel.imshow(pixels, cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    panel.set(xticks=[], yticks=[])
    without_frame(panel)


def without_frame(panel: Axes) -> None:
    """Leave out the grid and the frame of a panel."""
    panel.grid(False)
    panel.spines[:].set_visible(False)


def svg(chart: Chart, shown: int | None = None) -> str:
    """Return a chart as an element of a page, without a size. Of series with a group that of ``shown`` is visible.

    Raises UserError E0530 if matplotlib is not installed.
    """
    with _canvas(1, 1, (4.8, 2.7)) as canvas:
        _draw(canvas.panels[0], replace(chart, series=tuple(map(_thinned, chart.series))))
        _fit(canvas.figure)
        stream = io.StringIO()
        canvas.figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"\s*<metadata>.*?</metadata>|\s*<defs>\s*<style.*?</defs>", "", text, flags=re.DOTALL)
    text = re.sub(r'^<svg [^>]*?(viewBox="[^"]*")[^>]*>', r'<svg class="chart" role="img" \1>', text, flags=re.DOTALL)
    text = re.sub(r'id="group-(\d+)"', lambda found: _grouped(int(found[1]), shown), text)
    text = re.sub(r' id="[a-z][\w.]*_\d+"|font-family: [^;"]*; ', "", text)
    return re.sub(r"#[0-9a-f]{6}\b", lambda found: _OF_PAGE.get(found[0], found[0]), text)


def _grouped(group: int, shown: int | None) -> str:
    return f'data-group="{group}"' + ("" if group == shown else ' hidden=""')


def _thinned(series: Series) -> Series:
    """Return a line with at most ``_POINTS`` points, each the mean of its group."""
    size = -(-len(series.x) // _POINTS)
    if size <= 1:
        return series
    x, y = list[float](), list[Number]()
    for first in range(0, len(series.x), size):
        places = series.x[first : first + size]
        known = [value for value in series.y[first : first + size] if is_number(value)]
        x.append(sum(places) / len(places))
        y.append(sum(known) / len(known) if known else None)
    return replace(series, x=x, y=y, deviation=None)


@contextmanager
def _canvas(rows: int, columns: int, size: tuple[float, float]) -> Iterator[Canvas]:
    try:
        import matplotlib
        from matplotlib.figure import Figure
        from matplotlib.rcsetup import cycler
    except ImportError:
        raise MATPLOTLIB.missing() from None
    with matplotlib.rc_context({**_LOOK, "axes.prop_cycle": cycler(color=COLOURS)}):
        figure = Figure(figsize=(size[0] * columns, size[1] * rows), layout="constrained")
        yield Canvas(figure, figure.subplots(rows, columns, squeeze=False).ravel().tolist())


def _draw(panel: Axes, chart: Chart) -> None:
    for each in chart.series:
        colour = FAINT if each.look == "faint" else COLOURS[each.colour % len(COLOURS)]
        values = [value if is_number(value) else math.nan for value in each.y]
        group = None if each.group is None else f"group-{each.group}"
        panel.plot(each.x, values, color=colour, label=_plain(each.label) or None, gid=group, **_LOOKS[each.look])
        if each.deviation is not None:
            low, high = ([y + sign * d for y, d in zip(values, each.deviation, strict=True)] for sign in (-1, 1))
            panel.fill_between(each.x, low, high, color=colour, alpha=0.2, linewidth=0)
    if chart.mark is not None:
        label = _plain(chart.mark.label) or None
        panel.axvline(chart.mark.at, color="black", linestyle="--", linewidth=0.8, label=label)
    if chart.level is not None:
        label = _plain(chart.level.label) or None
        panel.axhline(chart.level.at, color=FAINT, linestyle="--", linewidth=1, label=label)
    panel.set(xlabel=_plain(chart.x_label), ylabel=_plain(chart.y_label))
    panel.set_title(_plain(chart.title))
    xs = [x for each in chart.series for x in each.x]
    ys = [y for each in chart.series for y in each.y if is_number(y)]
    _scale(panel, "x", chart.x_scale, xs, chart.x_range)
    _scale(panel, "y", chart.y_scale, ys, chart.y_range)
    _legend(panel)


def _plain(text: str) -> str:
    """Return a text of a spec or a run in which matplotlib sees no formula."""
    return text.replace("$", r"\$")


def _legend(panel: Axes) -> None:
    """Say what the curves are, each label once."""
    handles = dict(zip(*reversed(panel.get_legend_handles_labels()), strict=True))
    if handles:
        panel.legend(list(handles.values()), list(handles))


def _scale(panel: Axes, axis: str, scale: Scale, values: Sequence[float], within: tuple[float, float] | None) -> None:
    """Choose the scale of an axis, ``x`` or ``y``, its range and, of whole numbers, its ticks."""
    from matplotlib.ticker import MaxNLocator

    if scale == "log":
        positive = [value for value in values if value > 0]
        if positive and min(values) >= 0 and max(positive) > 10 * min(positive):
            panel.set(**{f"{axis}scale": "log"})
    elif scale == "steps":
        panel.set_xscale("symlog", linthresh=1)
        panel.set_xlim(0, max(values, default=1))
    elif all(value == round(value) for value in values):
        ticks = MaxNLocator("auto", integer=True, steps=[1, 2, 5, 10])
        (panel.xaxis if axis == "x" else panel.yaxis).set_major_locator(ticks)
    if within is not None:
        margin = 0.05 * (within[1] - within[0]) or 1
        panel.set(**{f"{axis}lim": (within[0] - margin, within[1] + margin)})


def _write(figure: Figure, path: Place) -> None:
    try:
        buffer = io.BytesIO()
        suffix = path.suffix.removeprefix(".")
        metadata = {"Software": None} if suffix == "png" else None
        figure.savefig(buffer, format=suffix, metadata=metadata, bbox_inches=_paper(figure))
        write(path, buffer.getvalue())
    except OSError as error:
        message = f"cannot write {path}: {error.strerror or error}"
        raise UserError(message, code="E0513", help="free some space or choose another folder") from None


# ------------------------------------------------------------------ text that fits


def _fit(figure: Figure) -> None:
    """Fold titles and labels at words, and longer words anywhere, until each is as wide as its room."""
    for text, room in _rooms(figure):
        box = text.get_window_extent()
        length = box.height if text.get_rotation() == 90 else box.width
        if length > room:
            text.set_text(_folded(text.get_text(), room / length))


def _paper(figure: Figure) -> Bbox:
    """The edges of the figure, in inches, moved outwards where a text ends beyond them."""
    from matplotlib.transforms import Bbox

    figure.draw_without_rendering()
    own, drawn = figure.bbox_inches, figure.get_tightbbox()
    if drawn is None:
        return Bbox(own)
    low = [edge if edge <= at else at - MARGIN for edge, at in zip(own.min, drawn.min, strict=True)]
    high = [edge if edge >= at else at + MARGIN for edge, at in zip(own.max, drawn.max, strict=True)]
    return Bbox([low, high])


def _rooms(figure: Figure) -> Iterator[tuple[Text, float]]:
    """Each title and label with its room in pixels: the figure's for its title, for others that of a panel."""
    if figure.get_suptitle():
        yield figure._suptitle, WHOLE * figure.bbox.width  # type: ignore[attr-defined]
    for panel in figure.axes:
        rows, columns = _grid(panel)
        for text in (panel.xaxis.label, panel.title, panel._left_title):  # type: ignore[attr-defined]
            yield text, ACROSS * figure.bbox.width / columns
        if panel.yaxis.label.get_rotation() == 90:
            yield panel.yaxis.label, DOWN * figure.bbox.height / rows


def _grid(panel: Axes) -> tuple[int, int]:
    spec = panel.get_subplotspec()
    return (1, 1) if spec is None else spec.get_gridspec().get_geometry()


def _folded(text: str, share: float) -> str:
    """The text in lines of ``share`` of its longest line."""
    lines = text.splitlines()
    width = max(4, int(share * max(map(len, lines))))
    return "\n".join("\n".join(textwrap.wrap(line, width)) for line in lines)
