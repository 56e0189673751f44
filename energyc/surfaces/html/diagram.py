"""A network as a picture: what is clamped, the terms, the states that they move, and what is read out, left to right.

An arrow at a state: the term moves it. An arrow at a term: the term reads it. The colour of a term is its class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from markupsafe import Markup

from energyc.derivation.derive import Derivation
from energyc.derivation.derive.influence import SOURCES, Influence, influences
from energyc.language.network import Network
from energyc.mathematics.ir import Input, Node, walk
from energyc.proofs.claims.classes import Classes
from energyc.surfaces.html.markup import Content, tag
from energyc.surfaces.html.verdicts import tone

#: Widths of a character, in pixels: of a name, and of the small line below it.
_CHARACTER, _SMALL = 8.0, 6.4
#: The longest line in a box, in characters.
_ROOM = 26
_MARGIN, _GAP, _BETWEEN = 12, 14, 92
_HEIGHT = {1: 34, 2: 46}


@dataclass(eq=False)
class _Box:
    """A box with a name and a line below it, and the lines of the picture that end at it."""

    name: str
    below: str
    looks: str
    title: str
    x: float = 0
    y: float = 0
    left: list[_Line] = field(default_factory=list)
    right: list[_Line] = field(default_factory=list)

    @property
    def lines(self) -> tuple[str, ...]:
        return (self.name, self.below) if self.below else (self.name,)

    @property
    def width(self) -> float:
        return max(56, _CHARACTER * len(_cut(self.name)) + 26, _SMALL * len(_cut(self.below)) + 26)

    @property
    def height(self) -> float:
        return _HEIGHT[len(self.lines)]

    @property
    def middle(self) -> float:
        return self.y + self.height / 2


@dataclass(eq=False)
class _Line:
    """A line from the right side of a box to the left side of another, and at which of its ends it has arrows."""

    start: _Box
    end: _Box
    looks: str
    forth: bool = True
    back: bool = False

    def __post_init__(self) -> None:
        self.start.right.append(self)
        self.end.left.append(self)


def diagram(network: Network, derivation: Derivation, classes: Classes) -> Markup:
    """Return the picture of a network without layers, or of a layer, as SVG."""
    columns = _columns(network, derivation, classes)
    for _ in range(4):
        _arrange(columns)
    width, height = _place(columns)
    boxes = [box for column in columns for box in column]
    lines = [_curve(line) for box in boxes for line in box.right]
    label = f"which state of {network.name} acts on which, through which terms"
    return tag(
        "svg",
        [*lines, *map(_drawn, boxes)],
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        class_="diagram",
        role="img",
        aria_label=label,
    )


# ------------------------------------------------------------------ what is drawn


def _columns(network: Network, derivation: Derivation, classes: Classes) -> list[list[_Box]]:
    """Return the boxes in columns, with the lines between them."""
    verdicts = {term.name: term.verdict for term in classes.terms}
    found = [each for each in influences(derivation) if each.moves]
    sources = {name: _source(network, name) for name in (*network.clamps, *network.noises)}
    states = {name: _state(network, name) for name in network.states}
    terms = []
    for each in found:
        looks = tone(verdicts.get(each.term, "undecided"))
        box = _term(network, each, looks, verdicts.get(each.term, ""))
        terms.append(box)
        for name in each.reads:
            if name in sources:
                _Line(sources[name], box, "plain")
        for name in (*each.moves, *(name for name in each.reads if name in states and name not in each.moves)):
            moved = name in each.moves
            _Line(box, states[name], looks if moved else "plain", forth=moved, back=name in each.reads)
    answers = _answers(network, states, sources)
    return [list(sources.values()), terms, list(states.values()), answers]


def _source(network: Network, name: str) -> _Box:
    node = (network.clamps.get(name) or network.noises[name]).node
    word = "clamp" if name in network.clamps else "noise"
    return _Box(name, _dims(node), word, f"{word} {name}")


def _state(network: Network, name: str) -> _Box:
    state = network.states[name]
    kept = "" if state.constraint is None else f" in {state.constraint.kind}"
    return _Box(name, _dims(state.node) + kept, "state", f"state {name}")


def _term(network: Network, influence: Influence, looks: str, verdict: str) -> _Box:
    named = {energy for slope in network.terms[influence.term].slopes for energy in slope.energies}
    down = f"down {' + '.join(sorted(named))}" if named else ""
    params = ", ".join(influence.params)
    word = influence.kind if influence.kind == "flow" else ""
    name = f"{word} {influence.term}".strip()
    title = f"{influence.kind} {influence.term}: {verdict}" + (f"; params {params}" if params else "")
    return _Box(name, down or params, f"term {looks}", title)


def _answers(network: Network, states: Mapping[str, _Box], sources: Mapping[str, _Box]) -> list[_Box]:
    boxes = []
    for word, quantities in (("readout", network.readouts.values()), ("cost", network.costs.values())):
        for quantity in quantities:
            read = _inputs(quantity.node, (*SOURCES, "target"))
            targets = ", ".join(name for name in read if name in network.targets)
            below = f"against {targets}" if targets else _dims(quantity.node)
            box = _Box(quantity.name, below, word, f"{word} {quantity.name}")
            boxes.append(box)
            for name in read:
                if name in states:
                    _Line(states[name], box, "plain")
    return boxes


def _inputs(node: Node, kinds: Iterable[str]) -> list[str]:
    chosen = {each for each in walk([node]) if isinstance(each, Input) and each.kind in set(kinds)}
    return [each.name for each in sorted(chosen, key=lambda each: each.number)]


def _dims(node: Node) -> str:
    over = f" : {node.over}" if isinstance(node, Input) and node.over else ""
    return (f"[{', '.join(node.dims)}]" if node.dims else "scalar") + over


# ------------------------------------------------------------------ where it is drawn


def _arrange(columns: Sequence[list[_Box]]) -> None:
    """Order each column by the mean height of what its boxes are joined with, so that few lines cross."""
    _place(columns)
    for column in columns:
        column.sort(key=_barycentre)
        _stack(column, 0)


def _barycentre(box: _Box) -> float:
    """The mean height of what a box is joined with."""
    ends = [line.start.middle for line in box.left] + [line.end.middle for line in box.right]
    return sum(ends) / len(ends) if ends else box.middle


def _stack(column: Sequence[_Box], top: float) -> float:
    """Stack boxes from ``top`` on and return where the last one ends."""
    for box in column:
        box.y = top
        top += box.height + _GAP
    return top - _GAP


def _place(columns: Sequence[Sequence[_Box]]) -> tuple[float, float]:
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


def _port(box: _Box, line: _Line, side: Sequence[_Line]) -> float:
    """Return the height at which a line meets a side of a box: those that meet it are spread over it."""
    other = (lambda each: each.start.middle) if side is box.left else (lambda each: each.end.middle)
    place = sorted(side, key=other).index(line)
    return box.y + box.height * (place + 1) / (len(side) + 1)


# ------------------------------------------------------------------ SVG


def _curve(line: _Line) -> Markup:
    start, end = line.start, line.end
    x1, y1 = start.x + start.width, _port(start, line, start.right)
    x2, y2 = end.x, _port(end, line, end.left)
    bend = (x2 - x1) / 2
    path = f"M{x1:.1f} {y1:.1f}C{x1 + bend:.1f} {y1:.1f} {x2 - bend:.1f} {y2:.1f} {x2:.1f} {y2:.1f}"
    arrows: list[Content] = []
    if line.forth:
        arrows.append(tag("path", d=f"M{x2:.1f} {y2:.1f}l-8 -4v8z", class_="arrow"))
    if line.back:
        arrows.append(tag("path", d=f"M{x1:.1f} {y1:.1f}l8 -4v8z", class_="arrow"))
    title = tag("title", f"{start.title} \N{EN DASH} {end.title}")
    return tag("g", title, tag("path", d=path, class_="wire"), arrows, class_=f"line {line.looks}")


def _drawn(box: _Box) -> Markup:
    round_ = box.height / 2 if box.looks == "state" else 3
    body = tag("rect", x=f"{box.x:.1f}", y=f"{box.y:.1f}", width=f"{box.width:.1f}", height=f"{box.height:.1f}",
               rx=f"{round_:.0f}")  # fmt: skip
    x = f"{box.x + box.width / 2:.1f}"
    texts = [tag("text", _cut(box.name), x=x, y=f"{box.y + (20 if box.below else 22):.1f}", class_="name")]
    if box.below:
        texts.append(tag("text", _cut(box.below), x=x, y=f"{box.y + 36:.1f}", class_="below"))
    return tag("g", tag("title", box.title), body, texts, class_=f"box {box.looks}")


def _cut(text: str) -> str:
    return text if len(text) <= _ROOM else text[: _ROOM - 1] + "\N{HORIZONTAL ELLIPSIS}"
