"""Boxes in columns, joined by lines, as SVG: few lines cross, and each box shows its name and a line below it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from markupsafe import Markup

from energyc.surfaces.html.pages import render

#: Widths of a character, in pixels: of a name, and of the small line below it.
_CHARACTER, _SMALL = 8.0, 6.4
#: The longest line in a box, in characters.
_ROOM = 26
_MARGIN, _GAP, _BETWEEN = 12, 14, 92


#: How a place looks through which a line goes past the boxes of a column: not at all.
_WAY = "way"
#: The most such places in a picture: more take long, and nobody could follow the lines.
_MOST_WAYS = 1000


@dataclass(eq=False)
class Box:
    """A box with a name and a line below it, and the lines of the picture that end at it."""

    name: str
    below: str
    looks: str
    title: str
    x: float = 0
    y: float = 0
    left: list[Line] = field(default_factory=list)
    right: list[Line] = field(default_factory=list)

    @property
    def width(self) -> float:
        if self.looks == _WAY:
            return 0
        return max(56, _CHARACTER * len(_cut(self.name)) + 26, _SMALL * len(_cut(self.below)) + 26)

    @property
    def height(self) -> float:
        if self.looks == _WAY:
            return _GAP
        return 46 if self.below else 34

    @property
    def middle(self) -> float:
        return self.y + self.height / 2

    @property
    def texts(self) -> list[tuple[str, str, int]]:
        """The texts in the box, each with its style and how far below the top it stands."""
        if self.below:
            return [(_cut(self.name), "name", 20), (_cut(self.below), "below", 36)]
        return [(_cut(self.name), "name", 22)]


@dataclass(eq=False)
class Line:
    """A line from the right side of a box to the left side of another, where it has arrows, and its title."""

    start: Box
    end: Box
    looks: str
    forth: bool = True
    back: bool = False
    said: str = ""

    def __post_init__(self) -> None:
        self.said = self.said or f"{self.start.title} \N{EN DASH} {self.end.title}"
        self.start.right.append(self)
        self.end.left.append(self)

    @property
    def origin(self) -> str:
        """Where the line begins."""
        return f"{self.start.x + self.start.width:.1f} {_port(self.start, self, self.start.right):.1f}"

    @property
    def finish(self) -> str:
        """Where the line ends."""
        return f"{self.end.x:.1f} {_port(self.end, self, self.end.left):.1f}"

    @property
    def path(self) -> str:
        """The line as a curve, which leaves both boxes level."""
        start, end = self.origin, self.finish
        middle = (self.start.x + self.start.width + self.end.x) / 2
        return f"M{start}C{middle:.1f} {start.split()[1]} {middle:.1f} {end.split()[1]} {end}"


def drawing(columns: Sequence[list[Box]], label: str) -> Markup:
    """Return the picture of columns of boxes, with the lines between them."""
    columns = [list(column) for column in columns if column]
    _lead_past(columns)
    for _ in range(4):
        _arrange(columns)
    width, height = _place(columns)
    boxes = [box for column in columns for box in column]
    svg = render(
        "diagram.svg",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        label=label,
        lines=[line for box in boxes for line in box.right],
        boxes=[box for box in boxes if box.looks != _WAY],
    )
    return Markup(svg)


# ------------------------------------------------------------------ where it is drawn


def _arrange(columns: Sequence[list[Box]]) -> None:
    """Order each column by the mean height of what its boxes are joined with, so that few lines cross."""
    _place(columns)
    for column in columns:
        column.sort(key=_barycentre)
        _stack(column, 0)


def _lead_past(columns: list[list[Box]]) -> None:
    """Give lines that go past a column a way through it, so that they are hidden by none of its boxes.

    There are at most ``_MOST_WAYS`` in all, which go to the shortest lines; the others are drawn straight.
    """
    place = {box: number for number, column in enumerate(columns) for box in column}
    past = {line: place[line.end] - place[line.start] - 1 for box in place for line in box.right}
    for line in _within(past, _MOST_WAYS):
        first = place[line.start]
        ways = [Box("", "", _WAY, "") for _ in range(past[line])]
        for number, way in enumerate(ways, first + 1):
            columns[number].append(way)
        ends = [line.start, *ways, line.end]
        line.start.right.remove(line)
        line.end.left.remove(line)
        for start, end in pairwise(ends):
            Line(start, end, line.looks, line.forth and end is line.end, line.back and start is line.start, line.said)


def _within(past: Mapping[Line, int], most: int) -> list[Line]:
    """The lines that go past columns, in their order; where those are more than ``most``, the shortest lines alone."""
    long = [line for line, count in past.items() if count > 0]
    totals = accumulate(sorted(past[line] for line in long))
    kept = {line for line, total in zip(sorted(long, key=past.__getitem__), totals, strict=True) if total <= most}
    return [line for line in long if line in kept]


def _barycentre(box: Box) -> float:
    """The mean height of what a box is joined with."""
    ends = [line.start.middle for line in box.left] + [line.end.middle for line in box.right]
    return sum(ends) / len(ends) if ends else box.middle


def _stack(column: Sequence[Box], top: float) -> float:
    """Stack boxes from ``top`` on and return where the last one ends."""
    for box in column:
        box.y = top
        top += box.height + _GAP
    return top - _GAP


def _place(columns: Sequence[Sequence[Box]]) -> tuple[float, float]:
    """Give every box its place, columns centred, and return width and height of the picture."""
    filled = [column for column in columns if column]
    tallest = max((_stack(column, 0) for column in filled), default=0)
    x = float(_MARGIN)
    for column in filled:
        _stack(column, _MARGIN + (tallest - _stack(column, 0)) / 2)
        width = max(box.width for box in column)
        for box in column:
            box.x = x + (width - box.width) / 2
        x += width + _BETWEEN
    return x - _BETWEEN + _MARGIN, tallest + 2 * _MARGIN


def _port(box: Box, line: Line, side: Sequence[Line]) -> float:
    """Return the height at which a line meets a side of a box: those that meet it are spread over it."""
    other = (lambda each: each.start.middle) if side is box.left else (lambda each: each.end.middle)
    place = sorted(side, key=other).index(line)
    return box.y + box.height * (place + 1) / (len(side) + 1)


def _cut(text: str) -> str:
    return text if len(text) <= _ROOM else text[: _ROOM - 1] + "\N{HORIZONTAL ELLIPSIS}"
