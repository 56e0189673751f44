"""Calls: who reads ``NAME[...](...)``."""

from __future__ import annotations

from fractions import Fraction

from energyc.diagnostics import Label
from energyc.functions import FUNCTIONS, Domain
from energyc.ir import Function
from energyc.resolve.algebra import add, is_zero, multiply
from energyc.resolve.context import Context, Scope
from energyc.resolve.read import arguments, reductions, scores, userfns
from energyc.resolve.read.conditions import negated, read_condition
from energyc.resolve.read.exact import is_positive, known_value
from energyc.resolve.reporter import did_you_mean
from energyc.resolve.terms import Apply, Bad, Scalar, Stopped, Term, Truth
from energyc.resolve.words import INDEXED, KEEPERS, REDUCTIONS, RESERVED_FUNCTIONS, SCALAR, SCORES
from energyc.syntax import ast

HALF = Fraction(1, 2)


def read_call(context: Context, scope: Scope, expr: ast.Apply) -> Term:
    """A function of the language, or one of the file."""
    name = expr.name.text
    if name in INDEXED:
        return _indexed(context, scope, expr)
    if name in SCALAR:
        return _scalar(context, scope, expr)
    if name == "where":
        return _where(context, scope, expr)
    if name in ("frozen", "detach"):
        return _stopped(context, scope, expr)
    if name == "grad":
        context.reporter.error("E0190", "`grad` is not yet supported", expr.name.span, "not yet")
        return Bad(expr.span)
    entry = context.names.get(name)
    if entry is not None and entry.kind == "fn":
        return userfns.read_user_call(context, scope, expr, entry)
    _report_unknown(context, expr)
    return Bad(expr.span)


def _report_unknown(context: Context, expr: ast.Apply) -> None:
    name = expr.name.text
    entry = context.names.get(name)
    if entry is not None:
        context.reporter.error(
            "E0205",
            f"`{name}` is {entry.spoken} and cannot be applied",
            expr.name.span,
            labels=[Label(entry.span, "declared here")],
            help="write a product with `*`",
        )
        return
    known = [*RESERVED_FUNCTIONS, *(e.name for e in context.names.of_kind("fn"))]
    context.reporter.error(
        "E0206", f"there is no function `{name}`", expr.name.span, "unknown", help=did_you_mean(name, known)
    )


def _indexed(context: Context, scope: Scope, expr: ast.Apply) -> Term:
    name = expr.name.text
    if expr.prime:
        context.reporter.error("E0408", f"`{name}` works along an index and has no slope", expr.name.span)
        return Bad(expr.span)
    if not expr.slots:
        context.reporter.error(
            "E0405",
            f"`{name}` needs the index it works along",
            expr.name.span,
            help=f"write `{name}[k](...)` with an index of yours",
        )
        return Bad(expr.span)
    if name in REDUCTIONS:
        return reductions.read_reduction(context, scope, expr)
    if name in KEEPERS:
        return reductions.read_keeper(context, scope, expr)
    assert name in SCORES
    return scores.read_score(context, scope, expr)


def _scalar(context: Context, scope: Scope, expr: ast.Apply) -> Term:
    given = arguments.read(context, scope, expr, ("u",))
    if given is None:
        return Bad(expr.span)
    argument = given["u"]
    if isinstance(argument, Bad):
        return argument
    name = expr.name.text
    domain = FUNCTIONS[name].domain
    if domain is not None and _outside(context, domain, argument):
        context.reporter.error("E0702", f"`{name}` of this number has no value", expr.span, help=domain.rule)
        return Bad(expr.span)
    if name == "sqrt" and not expr.prime and isinstance(argument, Scalar) and is_positive(context, argument):
        root = argument.coefficient.power(HALF)
        if root is not None:
            return Scalar(expr.span, root)
    return Apply(expr.span, Function(name), argument, expr.prime)


def _outside(context: Context, domain: Domain, argument: Term) -> bool:
    """Whether a number lies where a function has no value."""
    value = known_value(context, argument)
    return value is not None and (value < 0 or (value == 0 and not domain.zero))


def _where(context: Context, scope: Scope, expr: ast.Apply) -> Term:
    if expr.arguments is None or len(expr.arguments) != 3 or expr.slots or expr.prime:
        context.reporter.error(
            "E0405", "`where` takes a condition and two values", expr.span, help="write `where(k == label, 1, 0)`"
        )
        return Bad(expr.span)
    test, yes, no = (argument.value for argument in expr.arguments)
    condition = read_condition(context, scope, test)
    opposite = negated(condition)
    a = context.real(scope.under(condition), yes)
    b = context.real(scope.under(opposite), no)
    if condition is None or opposite is None:
        return Bad(expr.span)
    branches = [(condition, a), (opposite, b)]
    if any(isinstance(value, Bad) for value in (a, b)):
        return Bad(expr.span)
    parts = [
        (1, multiply([Truth(test.span, when), value], expr.span)) for when, value in branches if not is_zero(value)
    ]
    return add(parts, expr.span)


def _stopped(context: Context, scope: Scope, expr: ast.Apply) -> Term:
    given = arguments.read(context, scope, expr, ("e",))
    if given is None or isinstance(given["e"], Bad):
        return Bad(expr.span)
    return Stopped(expr.span, expr.name.text, given["e"])
