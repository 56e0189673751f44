"""Sums, means, maxima; softmax and the normalisers; answers beside integer targets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from types import MappingProxyType

from energyc.language.diagnostics import Span, listed
from energyc.language.resolve.algebra import add, multiply, negate, number, power
from energyc.language.resolve.context import Scope, introduce, run_over
from energyc.language.resolve.read.arguments import match_arguments
from energyc.language.resolve.read.conditions import read_condition
from energyc.language.resolve.read.places import read_integer
from energyc.language.resolve.terms import (
    Bad,
    Call,
    Index,
    Indicator,
    InverseSize,
    OverBatch,
    Reduction,
    Term,
    position_of,
)
from energyc.language.resolve.words import OVER_BATCH, REDUCTIONS, STATISTICS
from energyc.language.syntax import ast
from energyc.mathematics.ir import Function, IndexExpr, Input
from energyc.mathematics.ir.indexing import equal

EPSILON = Fraction(1, 100_000)
HALF = Fraction(1, 2)

Indices = tuple[Index, ...]
MakeReduction = Callable[[Span, Indices, IndexExpr | None, Term], Term]
Normaliser = Callable[[Span, Indices, Term, Term], Term]


def read_reduction(scope: Scope, expr: ast.Apply) -> Term:
    """``sum[i, j | guard](body)`` and its kin, which bind their indices."""
    if _names_batch(expr) or expr.name.text in STATISTICS:
        return _over_batch(scope, expr)
    arguments = match_arguments(scope, expr, ("body",), indexed=True)
    indices = bind(scope, expr)
    if arguments is None or indices is None:
        return Bad(expr.span)
    inner = scope.binding(indices)
    guard = read_condition(inner, expr.guard) if expr.guard is not None else None
    body = inner.under(guard).real(arguments["body"])
    if isinstance(body, Bad) or (expr.guard is not None and guard is None):
        return Bad(expr.span)
    return _REDUCTIONS[expr.name.text](expr.span, indices, guard, body)


def _names_batch(expr: ast.Apply) -> bool:
    names = [ast.plain_name(slot.expr) for slot in expr.slots or ()]
    return any(name is not None and name.text == "batch" for name in names)


def _over_batch(scope: Scope, expr: ast.Apply) -> Term:
    """``mean[batch](body)``: a statistic of the batch, which no derivative passes."""
    arguments, kind = match_arguments(scope, expr, ("body",), indexed=True), expr.name.text
    if not _names_batch(expr):
        message = f"there is a {kind} over the batch alone"
        help = f"write `{kind}[batch](...)`; along an index there are {listed(REDUCTIONS)}"
        scope.reporter.error("E0405", message, expr.span, help=help)
        return Bad(expr.span)
    if kind not in OVER_BATCH or len(expr.slots or ()) > 1 or expr.guard is not None:
        message = f"over the batch there are {listed(OVER_BATCH)} alone, of one sample's quantity, without a guard"
        help = "write `mean[batch](...)`; a variance is `mean[batch](u^2) - mean[batch](u)^2`"
        scope.reporter.error("E0405", message, expr.span, help=help)
        return Bad(expr.span)
    if arguments is None or isinstance(body := scope.real(arguments["body"]), Bad):
        return Bad(expr.span)
    return OverBatch(expr.span, kind, body)


def bind(scope: Scope, expr: ast.Apply) -> Indices | None:
    """The indices that a bracket binds; None where it holds anything else, which is reported."""
    bound: dict[str, Index] = {}
    for slot in expr.slots or ():
        name = ast.plain_name(slot.expr)
        if name is None:
            message = f"the bracket of `{expr.name.text}` holds the indices it runs over"
            scope.reporter.error("E0302", message, slot.span, help="write names: `sum[i,j](...)`")
            return None
        if name.text in bound:
            scope.reporter.error("E0306", f"`{name.text}` is bound twice", name.span)
            return None
        along = scope.indices[name.text] if name.text in scope.along and slot.dim is None else None
        bound[name.text] = along or introduce(scope, name, slot.dim)
    return tuple(bound.values())


def _reduce(kind: str, span: Span, indices: Indices, guard: IndexExpr | None, body: Term) -> Term:
    return Reduction(span, kind, indices, guard, body)


def _least(span: Span, indices: Indices, guard: IndexExpr | None, body: Term) -> Term:
    return negate(Reduction(span, "max", indices, guard, negate(body)))


def _mean(span: Span, indices: Indices, guard: IndexExpr | None, body: Term) -> Term:
    """The sum divided by the number of entries; 0 where a guard leaves none."""
    total = Reduction(span, "sum", indices, guard, body)
    if guard is None:
        return multiply([*(InverseSize(span, index) for index in indices), total], span)
    one = number(1, span)
    count = Reduction(span, "sum", indices, guard, one)
    at_least_one = add([(1, one), (1, Call(span, Function("relu"), add([(1, count), (-1, one)], span)))], span)
    return multiply([total, power(at_least_one, Fraction(-1), span)], span)


def _variance(span: Span, indices: Indices, guard: IndexExpr | None, body: Term) -> Term:
    """The biased variance."""
    centred = add([(1, body), (-1, _mean(span, indices, guard, body))], span)
    return _mean(span, indices, guard, power(centred, Fraction(2), span))


def read_normaliser(scope: Scope, expr: ast.Apply) -> Term:
    """``softmax[s | guard](body)``, ``layernorm[d](body, eps = ...)``, along an index that is bound around them."""
    name = expr.name.text
    options = () if name == "softmax" else ("eps",)
    arguments = match_arguments(scope, expr, ("body",), options, indexed=True)
    indices = outer_indices(scope, expr)
    if arguments is None or indices is None:
        return Bad(expr.span)
    if options and expr.guard is not None:
        scope.reporter.error("E0405", f"`{name}` takes no guard", expr.guard.span)
        return Bad(expr.span)
    guard = read_condition(scope, expr.guard) if expr.guard is not None else None
    body = scope.under(guard).real(arguments["body"])
    eps = scope.real(arguments["eps"]) if "eps" in arguments else number(EPSILON, expr.span)
    if isinstance(body, Bad) or isinstance(eps, Bad) or (expr.guard is not None and guard is None):
        return Bad(expr.span)
    if name == "softmax":
        return Reduction(expr.span, "softmax", indices, guard, body)
    return _NORMALISERS[name](expr.span, indices, body, eps)


def outer_indices(scope: Scope, expr: ast.Apply) -> Indices | None:
    """The indices of a bracket, each of which must be bound around it; None where one is not, which is reported."""
    indices: list[Index] = []
    for slot in expr.slots or ():
        name = ast.plain_name(slot.expr)
        index = None if name is None else scope.indices.get(name.text)
        if index is None:
            unbound = f"`{name.text}` is not bound here" if name else "this is not an index"
            scope.reporter.error(
                "E0303",
                f"{unbound}, and `{expr.name.text}` keeps the index it works along",
                slot.span,
                help="bind it on the left side or in a sum around",
            )
            return None
        indices.append(index)
    return tuple(indices)


def _layernorm(span: Span, indices: Indices, body: Term, eps: Term) -> Term:
    centred = add([(1, body), (-1, _mean(span, indices, None, body))], span)
    return _rmsnorm(span, indices, centred, eps)


def _rmsnorm(span: Span, indices: Indices, body: Term, eps: Term) -> Term:
    mean_square = _mean(span, indices, None, power(body, Fraction(2), span))
    return multiply([body, power(add([(1, mean_square), (1, eps)], span), -HALF, span)], span)


_REDUCTIONS: Mapping[str, MakeReduction] = MappingProxyType(
    {
        **{kind: partial(_reduce, kind) for kind in ("sum", "logsumexp", "max")},
        "min": _least,
        "mean": _mean,
        "variance": _variance,
    }
)
_NORMALISERS: Mapping[str, Normaliser] = MappingProxyType(
    {"layernorm": _layernorm, "rmsnorm": _rmsnorm, "standardize": _layernorm}
)


def read_score(scope: Scope, expr: ast.Apply) -> Term:
    """``logsumexp_w(logits) - logits at the label``, or 1 where the largest answer is at the label, else 0."""
    arguments = match_arguments(scope, expr, ("answers", "label"), indexed=True)
    indices = bind(scope, expr)
    if arguments is None or indices is None:
        return Bad(expr.span)
    if len(indices) != 1 or expr.guard is not None:
        message = f"`{expr.name.text}` runs over one index, without a guard"
        scope.reporter.error("E0405", message, expr.span)
        return Bad(expr.span)
    answers = scope.binding(indices).real(arguments["answers"])
    label = read_integer(scope, arguments["label"])
    if isinstance(answers, Bad) or label is None:
        return Bad(expr.span)
    source = label.args[0] if label.op == "read" else None
    if isinstance(source, Input) and source.over is not None:
        run_over(scope.context, indices[0], source.over, arguments["label"].span)
    return (_correct if expr.name.text == "correct" else _cross_entropy)(expr, indices[0], answers, label)


def _correct(expr: ast.Apply, index: Index, answers: Term, label: IndexExpr) -> Term:
    return _at_label(expr, index, Reduction(expr.span, "argmax", (index,), None, answers), label)


def _cross_entropy(expr: ast.Apply, index: Index, answers: Term, label: IndexExpr) -> Term:
    log_normaliser = Reduction(expr.span, "logsumexp", (index,), None, answers)
    return add([(1, log_normaliser), (-1, _at_label(expr, index, answers, label))], expr.span)


def _at_label(expr: ast.Apply, index: Index, values: Term, label: IndexExpr) -> Term:
    """The value at the position of the label."""
    at_label = Indicator(expr.span, equal(position_of(index), label))
    return Reduction(expr.span, "sum", (index,), None, multiply([values, at_label], expr.span))
