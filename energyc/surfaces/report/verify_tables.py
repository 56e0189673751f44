"""Tables and numbers of the report of ``verify``."""

from __future__ import annotations

import math

from rich.box import SIMPLE_HEAD
from rich.table import Table


def new_table(*columns: str) -> Table:
    """Return an empty table with these columns."""
    empty = Table(box=SIMPLE_HEAD, pad_edge=False)
    for k, column in enumerate(columns):
        empty.add_column(column, justify="left" if k == 0 else "right", no_wrap=True)
    return empty


def number(value: float, form: str) -> str:
    """Return a number in a form, a dash for NaN."""
    return "-" if math.isnan(value) else format(value, form)


def cosine(value: float) -> tuple[str, str]:
    """Return a cosine with its style, coloured if low, or a dash for NaN."""
    style = "" if math.isnan(value) or value >= 0.99 else "yellow" if value >= 0.9 else "red"
    return number(value, ".4f").rjust(7), style
