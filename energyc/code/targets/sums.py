"""Sums and products of a loop nest as chains of operators, in the order in which they are computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from energyc.code.loops.extents import Extent
from energyc.code.loops.nest import Expr, Number, Total
from energyc.code.tree import expressions as e

ZERO = e.Number(0)


def terms_of(expr: Total) -> Iterator[tuple[float, Expr]]:
    """The terms of a sum with their factors; one that is itself a multiple, and not scaled again, is that multiple."""
    for factor, term in expr.terms:
        if isinstance(term, Total) and len(term.terms) == 1 and abs(factor) == 1:
            yield from ((factor * inner, part) for inner, part in terms_of(term))
        elif term == Number(1.0):
            yield math.copysign(1.0, factor), Number(abs(factor))
        else:
            yield factor, term


def product(factors: Iterable[e.Expr]) -> e.Expr:
    """``a * b * c``, from the left."""
    return reduce(lambda a, b: e.Binary("*", a, b), factors)


def signed_sum(terms: Sequence[tuple[float, e.Expr]]) -> e.Expr:
    """``a - b + c``: each term with the sign of its factor; the first one is negated itself."""
    (factor, first), *others = terms
    found = negated(first) if factor < 0 else first
    for factor, term in others:
        found = e.Binary("-" if factor < 0 else "+", found, term)
    return found


def negated(expr: e.Expr) -> e.Expr:
    """``-a``; of a product the first factor is negated."""
    if isinstance(expr, e.Binary) and expr.operator in ("*", "/"):
        return e.Binary(expr.operator, negated(expr.left), expr.right)
    return e.Unary("-", expr)


def total(terms: Sequence[e.Expr]) -> e.Expr:
    """``a + b + c``; 0 for none."""
    return reduce(lambda a, b: e.Binary("+", a, b), terms) if terms else ZERO


def size(value: int) -> e.Expr:
    """A size, by the names of its dims where it has any."""
    return product(_factors(value))


def times(stride: int, index: e.Expr) -> e.Expr:
    """``stride * index``."""
    return index if stride == 1 else product([*_factors(stride), index])


def _factors(value: int) -> list[e.Expr]:
    if not isinstance(value, Extent):
        return [e.Number(value)]
    multiple = [] if value.multiple == 1 else [e.Number(value.multiple)]
    return [*multiple, *(e.Name(dim) for dim, _ in value.dims)]
