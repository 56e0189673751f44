"""The values that a spec can write: numbers, words, calls and lists."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias


@dataclass(frozen=True)
class Call:
    """A word with settings of its own: ``cosine(warmup = 100)``."""

    name: str
    keywords: Mapping[str, Value] = field(default_factory=dict)


Value: TypeAlias = "Fraction | int | float | str | Call | list[Value]"


def written(value: object) -> str:
    """A value as a spec writes it, exactly: ``0.1``, ``1/3``, ``jacobian(target = 0.0001)``, ``[0.9, 0.999]``."""
    match value:
        case Call():
            keywords = (f"{key} = {written(item)}" for key, item in value.keywords.items())
            return f"{value.name}({', '.join(keywords)})"
        case list() | tuple():
            return f"[{', '.join(map(written, value))}]"
        case bool():
            return str(value).lower()
        case Fraction():
            return _decimal(value)
    return str(value)


def _decimal(value: Fraction) -> str:
    """A fraction as a decimal number where that is the same number."""
    short = as_float(value)
    if value.denominator > 1 and math.isfinite(short) and Fraction(repr(short)) == value:
        return repr(short)
    return str(value)


def as_float(value: float | Fraction) -> float:
    """The nearest float; infinity for what is beyond all floats."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
