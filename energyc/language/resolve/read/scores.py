"""``cross_entropy[w](logits, label)`` and ``correct[k](y, label)``: answers beside integer targets."""

from __future__ import annotations

from energyc.language.resolve.algebra import add, multiply
from energyc.language.resolve.context import Scope, run_over
from energyc.language.resolve.read.arguments import match_arguments
from energyc.language.resolve.read.places import read_integer
from energyc.language.resolve.read.reductions import bind
from energyc.language.resolve.terms import Bad, Index, Indicator, Reduction, Term, position_of
from energyc.language.syntax import ast
from energyc.mathematics.ir import IndexExpr, Input
from energyc.mathematics.ir.indexing import equal


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
