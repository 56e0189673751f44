"""Learning rates of a param: one, or one for each index of its first dim (a layer, a step)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from energyc.language.settings.kinds import Kind, Misfit, Number, Variant
from energyc.language.settings.values import Call


@dataclass(frozen=True)
class Geometric:
    """Rates from ``first`` to ``last``, each the one before times the same factor."""

    first: float
    last: float

    def rates(self, count: int) -> tuple[float, ...]:
        """So many of them; one alone is ``first``."""
        factor = math.log(self.last / self.first) / max(count - 1, 1)
        return tuple(self.first * math.exp(factor * k) for k in range(count))


Rate: TypeAlias = "float | tuple[float, ...] | Geometric"
_POSITIVE, _NOT_NEGATIVE = Number(above=0), Number(low=0)
_GEOMETRIC = Variant({"geometric": {"first": _POSITIVE, "last": _POSITIVE}}, "geometric(first = 0.1, last = 0.001)")


@dataclass(frozen=True)
class Rates(Kind):
    """A rate, a list of rates, or ``geometric(first = 0.1, last = 0.001)``."""

    @property
    def wanted(self) -> str:
        return "a number of at least 0, a list of them, or geometric(first = 1, last = 0.1)"

    def read(self, value: object) -> Rate:
        if isinstance(value, Call):
            keywords = _GEOMETRIC.read(value).keywords
            if set(keywords) != {"first", "last"}:
                raise Misfit(self.wanted, value)
            return Geometric(**keywords)  # type: ignore[arg-type]
        try:
            if isinstance(value, list | tuple):
                return tuple(_NOT_NEGATIVE.read(item) or 0.0 for item in value)
            return _NOT_NEGATIVE.read(value) or 0.0
        except Misfit:
            raise Misfit(self.wanted, value) from None


def as_written(rate: object) -> object:
    """The value of ``lr.PARAM`` that gave a rate, from its JSON."""
    return Call("geometric", rate) if isinstance(rate, Mapping) else rate
