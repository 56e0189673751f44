"""Numbers of the report of ``verify``."""

from __future__ import annotations

import math


def number(value: float, form: str) -> str:
    """Return a number in a form, a dash for NaN."""
    return "-" if math.isnan(value) else format(value, form)


def cosine(value: float) -> tuple[str, str]:
    """Return a cosine with its style, coloured if low, or a dash for NaN."""
    style = "" if math.isnan(value) or value >= 0.99 else "yellow" if value >= 0.9 else "red"
    return number(value, ".4f").rjust(7), style
