"""Charts as SVG: axes, lines and dots; a page's script adds what a pointer reads off."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from energyc.surfaces.charts import Chart, Mark, Number, Scale, Series, is_number
from energyc.surfaces.html.markup import tag

#: The size of a chart, and the room around its panel: left, top, right, bottom.
WIDTH, HEIGHT = 460.0, 250.0
LEFT, TOP, RIGHT, BOTTOM = 58.0, 14.0, 12.0, 40.0
#: A line of more points is drawn by the means of that many groups.
POINTS = 400


def svg(chart: Chart, shown: int | None = None) -> Markup:
    """Return a chart as SVG that fills its place; without a point it says so.

    A logarithmic y leaves out what is not positive. Of series with a group only that of ``shown`` is visible.
    """
    curves = [_thinned(each) for each in chart.series]
    values = [y for each in curves for y in each.y if is_number(y)]
    if not values:
        return tag("p", f"no {chart.y_label} yet", class_="nothing")
    y_scale = "linear" if chart.y_scale == "log" and not any(y > 0 for y in values) else chart.y_scale
    horizontal = _Axis.over([x for each in curves for x in each.x], chart.x_scale, LEFT, WIDTH - RIGHT, margin=0)
    vertical = _Axis.over([*values, *(chart.y_range or ())], y_scale, HEIGHT - BOTTOM, TOP, margin=0.06)
    drawn = [_drawn(each, horizontal, vertical, shown) for each in curves]
    return tag(
        "svg",
        tag("title", f"{chart.y_label} against {chart.x_label}"),
        _grid(horizontal, vertical),
        _labels(chart.x_label, chart.y_label),
        None if chart.mark is None else _mark(chart.mark, horizontal),
        drawn,
        viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
        class_="chart",
        role="img",
        data_left=LEFT,
        data_right=WIDTH - RIGHT,
        data_top=TOP,
        data_bottom=HEIGHT - BOTTOM,
        data_x=chart.x_label,
    )


def legend(series: Sequence[Series]) -> Markup:
    """Return what the curves are, each label once."""
    seen: dict[str, Series] = {}
    for each in series:
        if each.label and each.look != "faint":
            seen.setdefault(each.label, each)
    items = [
        tag("span", tag("i", class_=f"key {each.look}"), label, class_=f"c{each.colour % 6}")
        for label, each in seen.items()
    ]
    return tag("p", items, class_="legend")


# ------------------------------------------------------------------ scales


#: Values that differ by less than this share of their size are drawn as one.
_FLAT = 1e-9


@dataclass(frozen=True)
class _Axis:
    """Values from ``low`` to ``high`` on a scale, at pixels from ``start`` to ``end``."""

    scale: Scale
    low: float
    high: float
    start: float
    end: float

    @staticmethod
    def over(values: Sequence[Number], scale: Scale, start: float, end: float, *, margin: float) -> _Axis:
        known = [value for value in values if is_number(value) and (scale != "log" or value > 0)]
        low, high = min(known), max(known)
        to, back = _TURN[scale]
        if to(high) - to(low) <= _FLAT * max(abs(to(low)), abs(to(high)), 1 if scale == "log" else 0):
            low, high = (
                (low / 2, high * 2) if scale == "log" else (low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2)
            )
        room = margin * (to(high) - to(low))
        return _Axis(scale, back(to(low) - room), back(to(high) + room), start, end)

    def place(self, value: float) -> float:
        to, _ = _TURN[self.scale]
        share = (to(value) - to(self.low)) / (to(self.high) - to(self.low))
        return self.start + share * (self.end - self.start)

    def shows(self, value: Number) -> bool:
        return is_number(value) and (self.scale != "log" or value > 0)

    def ticks(self) -> list[float]:
        if self.scale == "linear":
            return list(_round_numbers(self.low, self.high))
        first = math.floor(math.log10(max(self.low, 1e-300) if self.scale == "log" else 1))
        last = math.ceil(math.log10(max(self.high, 1e-300)))
        every = max(1, (last - first) // 5)
        powers = [10.0**k for k in range(first, last + 1, every)]
        low = self.low * (1 - 1e-9)
        found = [x for x in powers if low <= x <= self.high]
        if len(found) < 2:
            found = [x * m for x in powers for m in (1, 2, 5) if low <= x * m <= self.high]
        if len(found) < 2 and self.scale == "log":
            return list(_round_numbers(self.low, self.high))
        return [0.0, *found] if self.scale == "steps" and self.low <= 0 else found


def _step_scale(value: float) -> float:
    """Linear up to 1, logarithmic from there on."""
    return value if value <= 1 else 1 + math.log10(value)


def _step_back(value: float) -> float:
    return value if value <= 1 else 10 ** (value - 1)


def _same(value: float) -> float:
    return value


_TURN: dict[Scale, tuple[Callable[[float], float], Callable[[float], float]]] = {
    "linear": (_same, _same),
    "log": (math.log10, lambda value: 10.0**value),
    "steps": (_step_scale, _step_back),
}


def _round_numbers(low: float, high: float) -> Iterator[float]:
    """Yield about five round numbers in a range."""
    raw = (high - low) / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * 0.999)
    k = math.ceil(low / step - 1e-9)
    while k * step <= high * (1 + 1e-12) + 1e-300:
        yield k * step
        k += 1


def number(value: float) -> str:
    """Return a number as an axis or a table shows it."""
    if value and not 1e-3 <= abs(value) < 1e6:
        return _scientific(value)
    text = f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return text.replace("-", "\N{MINUS SIGN}")


def _narrow(value: float) -> str:
    """The same for a vertical axis, where there is room for six characters before its name."""
    return number(value) if len(number(value)) <= 6 else _scientific(value)


def _scientific(value: float) -> str:
    mantissa, _, exponent = f"{value:.2e}".partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}".replace("-", "\N{MINUS SIGN}")


# ------------------------------------------------------------------ drawing


def _thinned(series: Series) -> Series:
    """Return a line with at most ``POINTS`` points, each the mean of its group."""
    count = len(series.x)
    if count <= POINTS:
        return series
    size = -(-count // POINTS)
    x, y = [], []
    for first in range(0, count, size):
        group = [value for value in series.y[first : first + size] if is_number(value)]
        places = series.x[first : first + size]
        x.append(sum(places) / len(places))
        y.append(sum(group) / len(group) if group else None)
    return Series(series.label, x, y, series.look, series.colour, series.group)


def _drawn(series: Series, horizontal: _Axis, vertical: _Axis, shown: int | None) -> Markup:
    points: list[tuple[float, float] | None] = []
    read: list[str] = []
    for x, y in zip(series.x, series.y, strict=True):
        if y is not None and vertical.shows(y):
            points.append((horizontal.place(x), vertical.place(y)))
            read.append(f"{x:.6g} {y:.4g} {points[-1][0]:.0f}")  # type: ignore[index]
        else:
            points.append(None)
    known = [point for point in points if point is not None]
    dots = [tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=2.4) for x, y in known] if series.look == "dots" else []
    alone = [tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=2) for x, y in known] if len(known) == 1 else []
    return tag(
        "g",
        tag("path", d=_path(points), class_="curve"),
        dots or alone,
        class_=f"series {series.look} c{series.colour % 6}",
        data_label=series.label if series.look != "faint" else None,
        data_points=";".join(read) if series.look != "faint" else None,
        data_group=series.group,
        hidden=series.group is not None and series.group != shown,
    )


def _path(points: Sequence[tuple[float, float] | None]) -> str:
    """Return the commands of a line that begins anew after each gap."""
    parts, pen = [], "M"
    for point in points:
        if point is None:
            pen = "M"
            continue
        parts.append(f"{pen}{point[0]:.1f} {point[1]:.1f}")
        pen = "L"
    return "".join(parts)


def _grid(horizontal: _Axis, vertical: _Axis) -> list[Markup]:
    parts = []
    for value in vertical.ticks():
        y = f"{vertical.place(value):.1f}"
        parts.append(tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid"))
        parts.append(tag("text", _narrow(value), x=LEFT - 8, y=y, dy="0.32em", class_="tick end"))
    for value in horizontal.ticks():
        x = f"{horizontal.place(value):.1f}"
        parts.append(tag("line", x1=x, x2=x, y1=HEIGHT - BOTTOM, y2=HEIGHT - BOTTOM + 4, class_="axis"))
        parts.append(tag("text", number(value), x=x, y=HEIGHT - BOTTOM + 16, class_="tick"))
    base = HEIGHT - BOTTOM
    return [*parts, tag("line", x1=LEFT, x2=WIDTH - RIGHT, y1=base, y2=base, class_="axis")]


def _labels(x_label: str, y_label: str) -> list[Markup]:
    middle = f"translate(13 {(TOP + HEIGHT - BOTTOM) / 2:.0f}) rotate(-90)"
    return [
        tag("text", x_label, x=(LEFT + WIDTH - RIGHT) / 2, y=HEIGHT - 6, class_="label"),
        tag("text", y_label, x=0, y=0, class_="label", transform=middle),
    ]


def _mark(mark: Mark, horizontal: _Axis) -> Markup:
    x = horizontal.place(mark.x)
    line = tag("line", x1=f"{x:.1f}", x2=f"{x:.1f}", y1=TOP, y2=HEIGHT - BOTTOM, class_="mark")
    side, away = ("end", -4) if x > WIDTH * 0.7 else ("start", 4)
    return tag("g", line, tag("text", mark.label, x=f"{x + away:.1f}", y=TOP + 9, class_=f"tick {side}"))
