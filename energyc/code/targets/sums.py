"""Sums and products of a loop nest as chains of operators, in the order in which they are computed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from energyc.code.loops.nest import Expr
from energyc.code.tree import expressions as e
from energyc.code.tree.extents import Dims, Extent
from energyc.mathematics.expressions import Product, Sum, split

ZERO = e.Number(0)
ONE = Product(1)


def terms_of(expr: Expr) -> Iterator[tuple[float, Expr]]:
    """The terms of a sum with their coefficients, a number with its sign; of all else the one term that it is.

    A term that is itself a multiple, and not scaled again, is that multiple.
    """
    for term in expr.terms if isinstance(expr, Sum) else (expr,):
        coefficient, rest = split(term)
        if rest == ONE:
            yield math.copysign(1.0, coefficient), Product(abs(coefficient))
        elif abs(coefficient) == 1 and _is_multiple(rest):
            yield from ((inner if coefficient > 0 else -inner, part) for inner, part in terms_of(rest))
        else:
            yield coefficient, rest


def _is_multiple(expr: Expr) -> bool:
    """Whether an expression is a single term with a coefficient."""
    return len(expr.terms) == 1 if isinstance(expr, Sum) else isinstance(expr, Product) and expr.coefficient != 1


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


def address(terms: Iterable[tuple[int, e.Expr]]) -> list[tuple[int, e.Expr]]:
    """Strides times labels, by Horner's rule where sizes have names: ``T * D * b + D * i + r`` is one term.

    It is ``(b * T + i) * D + r``. Terms of another shape stand by themselves.
    """
    done = list[tuple[int, e.Expr]]()
    for stride, label in terms:
        before = _between(done[-1][0], stride) if done else None
        if before is None:
            done.append((stride, label))
        else:
            inner = product([done[-1][1], *(e.Name(dim) for dim in before)])
            done[-1] = (stride, e.Binary("+", inner, label))
    return [part for term in done for part in _terms(*term)]


def _terms(stride: int, index: e.Expr) -> list[tuple[int, e.Expr]]:
    """A sum that is taken once, as its terms."""
    if stride == 1 and isinstance(index, e.Binary) and index.operator == "+":
        return [*_terms(1, index.left), *_terms(1, index.right)]
    return [(stride, index)]


def _between(outer: int, inner: int) -> list[str] | None:
    """The dims that an outer stride has before those of an inner one; None where it is not made so."""
    if not isinstance(outer, Extent) or outer.multiple != 1 or inner <= 0:
        return None
    ending = inner.dims if isinstance(inner, Extent) else ()
    if (inner.multiple if isinstance(inner, Extent) else inner) != 1 or len(ending) >= len(outer.dims):
        return None
    first = len(outer.dims) - len(ending)
    return [dim for dim, _ in outer.dims[:first]] if outer.dims[first:] == ending else None


def _factors(value: int) -> list[e.Expr]:
    if not isinstance(value, Extent):
        return [e.Number(value)]
    if len(value.terms) > 1:
        positive_first = sorted(value.terms, key=lambda term: term[0] < 0)
        return [
            signed_sum([(multiple, product(_factors_of(abs(multiple), dims))) for multiple, dims in positive_first])
        ]
    return _factors_of(*value.terms[0])


def _factors_of(multiple: int, dims: Dims) -> list[e.Expr]:
    """A number and dims, as factors; a one beside dims is left out."""
    named = [e.Name(dim) for dim, _ in dims]
    return [*([] if named and multiple == 1 else [e.Number(multiple)]), *named]
