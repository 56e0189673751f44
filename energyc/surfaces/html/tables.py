"""The layout of a table as HTML."""

from __future__ import annotations

from markupsafe import Markup

from energyc.surfaces.html.markup import Content, tag
from energyc.surfaces.html.verdicts import verdict
from energyc.surfaces.tables import Cell, Table, Verdict


def to_html(table: Table) -> Markup:
    """Return a table that scrolls where it is too wide, with its verdicts in their colours."""
    head = tag("thead", tag("tr", [tag("th", word) for word in table.header]))
    body = tag("tbody", [tag("tr", [tag("td", _content(cell)) for cell in row]) for row in table.rows])
    return tag("div", tag("table", head, body), class_="wide")


def _content(cell: Cell) -> Content:
    return verdict(cell.word) if isinstance(cell, Verdict) else cell if isinstance(cell, str) else str(cell)
