"""Sums, means, maxima; softmax and the normalisers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from types import MappingProxyType

from energyc.diagnostics import Span
from energyc.ir import Function, IndexExpr
from energyc.resolve.algebra import add, multiply, number, power
from energyc.resolve.context import Context, Scope, introduce
from energyc.resolve.read import arguments
from energyc.resolve.read.conditions import read_condition
from energyc.resolve.terms import Apply, Bad, Index, Reduce, Share, Term
from energyc.resolve.trees import plain_name
from energyc.syntax import ast

EPSILON = Fraction(1, 100_000)


def read_reduction(context: Context, scope: Scope, expr: ast.Apply) -> Term:
    """``sum[i, j | guard](body)`` and its kin: the indices are bound here and go."""
    if _over_batch(context, expr):
        return Bad(expr.span)
    given = arguments.match(context, expr, ("body",), indexed=True)
    indices = bind(context, scope, expr)
    if given is None or indices is None:
        return Bad(expr.span)
    inner = scope.bound(indices)
    guard = read_condition(context, inner, expr.guard) if expr.guard is not None else None
    body = context.real(inner.under(guard), given["body"])
    if isinstance(body, Bad) or (expr.guard is not None and guard is None):
        return Bad(expr.span)
    return _REDUCTIONS[expr.name.text](expr.span, indices, guard, body)


def _over_batch(context: Context, expr: ast.Apply) -> bool:
    names = [plain_name(slot.expr) for slot in expr.slots or ()]
    batch = any(name is not None and name.text == "batch" for name in names)
    if batch:
        context.reporter.error("E0190", f"`{expr.name.text}[batch]` is not yet supported", expr.span, "not yet")
    return batch


def bind(context: Context, scope: Scope, expr: ast.Apply) -> tuple[Index, ...] | None:
    """The indices that a bracket binds."""
    found: dict[str, Index] = {}
    for slot in expr.slots or ():
        name = plain_name(slot.expr)
        if name is None:
            context.reporter.error(
                "E0302",
                f"the bracket of `{expr.name.text}` holds the indices it runs over",
                slot.span,
                help="write names: `sum[i,j](...)`",
            )
            return None
        if name.text in found:
            context.reporter.error("E0306", f"`{name.text}` is bound twice", name.span)
            return None
        own = name.text in scope.along and slot.dim is None
        found[name.text] = scope.indices[name.text] if own else introduce(context, scope, name, slot.dim)
    return tuple(found.values())


def _sum(span: Span, indices: tuple[Index, ...], guard: IndexExpr | None, body: Term) -> Term:
    return Reduce(span, "sum", indices, guard, body)


def _kind(name: str) -> Callable[[Span, tuple[Index, ...], IndexExpr | None, Term], Term]:
    return lambda span, indices, guard, body: Reduce(span, name, indices, guard, body)


def mean(span: Span, indices: tuple[Index, ...], guard: IndexExpr | None, body: Term) -> Term:
    """The sum over the count; of nothing it is 0."""
    total = _sum(span, indices, guard, body)
    if guard is None:
        return multiply([*(Share(span, index) for index in indices), total], span)
    count = _sum(span, indices, guard, number(1, span))
    at_least_one = add(
        [(1, number(1, span)), (1, Apply(span, Function("relu"), add([(1, count), (-1, number(1, span))], span)))], span
    )
    return multiply([total, power(at_least_one, Fraction(-1), span)], span)


def variance(span: Span, indices: tuple[Index, ...], guard: IndexExpr | None, body: Term) -> Term:
    """The biased variance."""
    centred = add([(1, body), (-1, mean(span, indices, guard, body))], span)
    return mean(span, indices, guard, power(centred, Fraction(2), span))


def read_keeper(context: Context, scope: Scope, expr: ast.Apply) -> Term:
    """``softmax[s | guard](body)``, ``layernorm[d](body, eps = ...)``: the index is bound already, and stays."""
    normaliser = expr.name.text != "softmax"
    given = arguments.match(context, expr, ("body",), ("eps",) if normaliser else (), indexed=True)
    indices = kept_indices(context, scope, expr)
    if given is None or indices is None:
        return Bad(expr.span)
    if normaliser and expr.guard is not None:
        context.reporter.error("E0405", f"`{expr.name.text}` takes no guard", expr.guard.span)
        return Bad(expr.span)
    guard = read_condition(context, scope, expr.guard) if expr.guard is not None else None
    body = context.real(scope.under(guard), given["body"])
    eps = context.real(scope, given["eps"]) if "eps" in given else number(EPSILON, expr.span)
    if isinstance(body, Bad) or isinstance(eps, Bad) or (expr.guard is not None and guard is None):
        return Bad(expr.span)
    if not normaliser:
        return Reduce(expr.span, "softmax", indices, guard, body)
    return _NORMALISERS[expr.name.text](expr.span, indices, body, eps)


def kept_indices(context: Context, scope: Scope, expr: ast.Apply) -> tuple[Index, ...] | None:
    """The indices of a bracket, each of which is bound outside."""
    found: list[Index] = []
    for slot in expr.slots or ():
        name = plain_name(slot.expr)
        if name is None or name.text not in scope.indices:
            shown = f"`{name.text}` is not bound here, and" if name else "this is no index, and"
            context.reporter.error(
                "E0303",
                f"{shown} `{expr.name.text}` keeps the index it works along",
                slot.span,
                help="bind it on the left side or in a sum around",
            )
            return None
        found.append(scope.indices[name.text])
    return tuple(found)


def _layernorm(span: Span, indices: tuple[Index, ...], body: Term, eps: Term) -> Term:
    centred = add([(1, body), (-1, mean(span, indices, None, body))], span)
    return _rmsnorm(span, indices, centred, eps)


def _rmsnorm(span: Span, indices: tuple[Index, ...], body: Term, eps: Term) -> Term:
    square = mean(span, indices, None, power(body, Fraction(2), span))
    return multiply([body, power(add([(1, square), (1, eps)], span), Fraction(-1, 2), span)], span)


Reduction = Callable[[Span, tuple[Index, ...], IndexExpr | None, Term], Term]
Normaliser = Callable[[Span, tuple[Index, ...], Term, Term], Term]
_REDUCTIONS: Mapping[str, Reduction] = MappingProxyType(
    {"sum": _sum, "mean": mean, "variance": variance, "logsumexp": _kind("logsumexp"), "max": _kind("max")}
)
_NORMALISERS: Mapping[str, Normaliser] = MappingProxyType(
    {"layernorm": _layernorm, "rmsnorm": _rmsnorm, "standardize": _layernorm}
)
