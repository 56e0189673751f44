"""Cards: what a notebook shows of an object, as HTML and as LaTeX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from markupsafe import Markup

from energyc.derivation.notation import latex
from energyc.surfaces.html.markup import Content, style, tag

#: The styles of a card; they reach nothing outside of it.
STYLES = ("card.css", "verdict.css", "diagram.css", "chart.css")
#: A sample has a curve of its own where there are at most so many.
CURVES = 32


def card(title: Content, *content: Content) -> str:
    """Return a card with its styles, as a notebook shows it."""
    head = tag("p", title, class_="title")
    return str(style(*STYLES, within=".energyc") + tag("div", head, content, class_="energyc"))


def table(header: Sequence[str], rows: Iterable[Sequence[Content]]) -> Markup:
    """Return a table that scrolls where it is too wide."""
    head = tag("thead", tag("tr", [tag("th", word) for word in header]))
    body = tag("tbody", [tag("tr", [tag("td", cell) for cell in row]) for row in rows])
    return tag("div", tag("table", head, body), class_="wide")


def tiles(pairs: Iterable[tuple[str, str]]) -> Markup:
    """Return numbers with what they are."""
    return tag("div", [tag("div", tag("span", label), tag("b", value)) for label, value in pairs], class_="tiles")


def latex_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as LaTeX that both MathJax and a document take."""
    lines = [" & ".join(rf"\text{{{_plain(cell)}}}" for cell in row) for row in (header, *rows)]
    lines[0] += r" \\ \hline"
    body = r" \\ ".join(lines[1:])
    return rf"$\displaystyle \begin{{array}}{{{'l' * len(header)}}} {lines[0]} {body} \end{{array}}$"


def _plain(cell: str) -> str:
    """Return text for LaTeX, whose fonts have no sign of minus in text."""
    return latex.escape(cell.replace("\N{MINUS SIGN}", "-"))
