"""Leaks: a softmax without the guard of the sum around it, whose normaliser sees what the sum leaves out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod

from energyc.language.diagnostics import Label, Span
from energyc.language.resolve.context import Context
from energyc.language.resolve.ranges import conjuncts, true_everywhere
from energyc.language.resolve.terms import (
    Element,
    Frame,
    Index,
    Product,
    Reduction,
    Sum,
    Term,
    indices_of,
    plain_index,
    walk_terms,
)
from energyc.mathematics.ir import IndexExpr, Softmax

#: Dims are cut to this size where implications are tried position by position.
LARGEST_TRIED = 7
MOST_TRIED = 200_000


def check_leaks(context: Context, frame: Frame, term: Term) -> None:
    """Warn of each ``sum[s | c](softmax[s](...) * ...)`` whose softmax is not guarded by ``c`` as well."""
    for outer in _sums(term):
        for weights, guard in _softmaxes(outer):
            if not _implies(context, guard, outer):
                _report(context, frame, outer, weights)


def _sums(term: Term) -> Iterator[Reduction]:
    """The guarded sums inside a term."""
    for part in walk_terms(term):
        if isinstance(part, Reduction) and part.kind == "sum" and part.guard is not None:
            yield part


def _softmaxes(outer: Reduction) -> Iterator[tuple[Span, IndexExpr | None]]:
    """The factors of a sum that are softmaxes along its indices, with their guards."""
    bodies = outer.body.terms if isinstance(outer.body, Sum) else (outer.body,)
    for body in bodies:
        for factor in body.factors if isinstance(body, Product) else (body,):
            if isinstance(factor, Reduction) and factor.kind == "softmax" and set(factor.indices) & set(outer.indices):
                yield factor.span, factor.guard
            if isinstance(factor, Element) and isinstance(factor.node, Softmax) and _is_along(factor, outer):
                yield factor.span, _guard_of(factor)


def _is_along(factor: Element, outer: Reduction) -> bool:
    assert isinstance(factor.node, Softmax)
    return any(plain_index(factor.places[k]) in outer.indices for k in factor.node.axes)


def _guard_of(factor: Element) -> IndexExpr | None:
    """The guard of a softmax that was named by a let, in the indices of the place where it is used."""
    assert isinstance(factor.node, Softmax)
    guard = factor.node.guard
    if guard is None:
        return None
    places = {k: factor.places[axis] for k, axis in enumerate(guard.axes)}
    return _substituted(guard.indicator.condition, places)


def _substituted(expr: IndexExpr, places: Mapping[int, IndexExpr]) -> IndexExpr:
    if expr.op == "axis":
        return places[expr.args[0]]  # type: ignore[index]
    return IndexExpr(expr.op, tuple(_substituted(a, places) if isinstance(a, IndexExpr) else a for a in expr.args))


def _implies(context: Context, guard: IndexExpr | None, outer: Reduction) -> bool:
    """Whether a softmax includes only entries that the sum does."""
    assert outer.guard is not None
    known = conjuncts(guard) if guard is not None else []
    required = [part for part in conjuncts(outer.guard) if set(indices_of(part)) & set(outer.indices)]
    return all(part in known or _implied_at_small_sizes(context, known, part) for part in required)


def _implied_at_small_sizes(context: Context, known: list[IndexExpr], part: IndexExpr) -> bool:
    """Whether conditions imply another at every position of dims cut to a few entries."""
    conditions = [*known, part]
    if any(expr.op in ("read", "related") for condition in conditions for expr in condition.walk()):
        return False
    indices: list[Index] = list(dict.fromkeys(i for condition in conditions for i in indices_of(condition)))
    dims = {name: min(size, LARGEST_TRIED) for name, size in context.dim_sizes().items()}
    if prod(dims[index.known_dim] for index in indices) > MOST_TRIED:
        return False
    return true_everywhere(part, known, indices, dims)


def _report(context: Context, frame: Frame, outer: Reduction, weights: Span) -> None:
    context.reporter.warn(
        "W0701",
        f"the softmax in `{frame.owner}` lacks the guard of the sum around it: what the sum leaves out leaks in",
        weights,
        "its normaliser sees every entry",
        labels=[Label(outer.span, "this sum has a guard")],
        help="give the softmax the same guard",
    )
