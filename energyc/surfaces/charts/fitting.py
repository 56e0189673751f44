"""Text that fits a picture: titles and labels are folded to their room, and the paper grows where they still end."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

#: The share of the figure that its title takes at most; of the place of a panel, with its numbers and titles, what a
#: title or a label across it takes and what one down its side; the room at the edges of grown paper, in inches.
WHOLE, ACROSS, DOWN, MARGIN = 0.97, 0.84, 0.7, 0.04


def fit(figure: Figure) -> None:
    """Fold titles and labels at words, and longer words anywhere, until each is as wide as its room."""
    for text, room in _rooms(figure):
        box = text.get_window_extent()
        length = box.height if text.get_rotation() == 90 else box.width
        if length > room:
            text.set_text(_folded(text.get_text(), room / length))


def paper(figure: Figure) -> Bbox:
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
