"""``cross_entropy[w](logits, label)`` and ``correct[k](y, label)``: answers beside integer targets."""

from __future__ import annotations

from energyc.ir import IndexExpr, Input
from energyc.ir.indexing import equal
from energyc.resolve.algebra import add, multiply
from energyc.resolve.context import Context, Scope, run_over
from energyc.resolve.read import arguments
from energyc.resolve.read.places import read_integer
from energyc.resolve.read.reductions import bind
from energyc.resolve.terms import Bad, Index, Reduce, Term, Truth, position_of
from energyc.syntax import ast


def read_score(context: Context, scope: Scope, expr: ast.Apply) -> Term:
    """``logsumexp_w(logits) - logits at the label``, or 1 where the largest answer is at the label."""
    given = arguments.match(context, expr, ("answers", "label"), indexed=True)
    indices = bind(context, scope, expr)
    if given is None or indices is None:
        return Bad(expr.span)
    if len(indices) != 1 or expr.guard is not None:
        context.reporter.error("E0405", f"`{expr.name.text}` runs over one index, without a guard", expr.span)
        return Bad(expr.span)
    answers = context.real(scope.bound(indices), given["answers"])
    label = read_integer(context, scope, given["label"])
    if isinstance(answers, Bad) or label is None:
        return Bad(expr.span)
    source = label.args[0] if label.op == "read" else None
    if isinstance(source, Input) and source.over is not None:
        run_over(context, indices[0], source.over, given["label"].span)
    return _scored(expr, indices[0], answers, label)


def _scored(expr: ast.Apply, index: Index, answers: Term, label: IndexExpr) -> Term:
    span = expr.span
    hit = Truth(span, equal(position_of(index), label))
    if expr.name.text == "correct":
        best = Reduce(span, "argmax", (index,), None, answers)
        return Reduce(span, "sum", (index,), None, multiply([best, hit], span))
    chosen = Reduce(span, "sum", (index,), None, multiply([answers, hit], span))
    return add([(1, Reduce(span, "logsumexp", (index,), None, answers)), (-1, chosen)], span)
