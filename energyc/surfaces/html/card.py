"""Cards: what a notebook shows of an object, as HTML."""

from __future__ import annotations

from collections.abc import Iterable

from markupsafe import Markup

from energyc.surfaces.html.markup import Content, style, tag

#: The styles of a card; they reach nothing outside of it.
STYLES = ("card.css", "verdict.css", "diagram.css", "chart.css")
#: A sample has a curve of its own where there are at most so many.
CURVES = 32


def card(title: Content, *content: Content) -> str:
    """Return a card with its styles, as a notebook shows it."""
    head = tag("p", title, class_="title")
    return str(style(*STYLES, within=".energyc") + tag("div", head, content, class_="energyc"))


def tiles(pairs: Iterable[tuple[str, str]]) -> Markup:
    """Return numbers with what they are."""
    return tag("div", [tag("div", tag("span", label), tag("b", value)) for label, value in pairs], class_="tiles")
