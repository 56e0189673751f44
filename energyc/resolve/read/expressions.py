"""Real expressions: the arithmetic, and who reads what stands in it."""

from __future__ import annotations

from energyc.diagnostics import Span
from energyc.ir import Coefficient, Function
from energyc.ir.indexing import IndexExpr
from energyc.resolve.algebra import add, divide, is_zero, multiply, negate, number, power
from energyc.resolve.context import Context, Scope
from energyc.resolve.read.access import read_element
from energyc.resolve.read.calls import read_call
from energyc.resolve.read.exact import exact_value, in_range, is_positive, known_value
from energyc.resolve.terms import Apply, Bad, Integer, Scalar, Term, position_of
from energyc.syntax import ast


def read_real(context: Context, scope: Scope, expr: ast.Expr) -> Term:
    """An expression as a real number for each position of its indices."""
    term = _read(context, scope, expr)
    if in_range(term):
        return term
    context.reporter.error("E0704", "a number here is outside the range of floating point", expr.span)
    return Bad(expr.span)


def _read(context: Context, scope: Scope, expr: ast.Expr) -> Term:
    match expr:
        case ast.Number(value=value):
            return number(value, expr.span)
        case ast.Unary(op="-", operand=operand):
            return negate(read_real(context, scope, operand))
        case ast.Binary(op="+" | "-"):
            return _sum(context, scope, expr)
        case ast.Binary(op="*" | "/"):
            return _product(context, scope, expr)
        case ast.Binary(op="^", left=left, right=right):
            return _power(context, scope, expr, read_real(context, scope, left), right)
        case ast.Apply(arguments=None):
            return _named(context, scope, expr)
        case ast.Apply():
            return read_call(context, scope, expr)
        case ast.Field():
            return _field(context, expr)
    context.reporter.error(
        "E0401",
        "a condition stands where a number is expected",
        expr.span,
        help="write `where(CONDITION, a, b)` to make a number of it",
    )
    return Bad(expr.span)


def _sum(context: Context, scope: Scope, expr: ast.Binary) -> Term:
    """A chain of + and -, however long."""
    parts: list[tuple[int, ast.Expr]] = []
    rest: ast.Expr = expr
    while isinstance(rest, ast.Binary) and rest.op in ("+", "-"):
        parts.append((1 if rest.op == "+" else -1, rest.right))
        rest = rest.left
    parts.append((1, rest))
    return add([(sign, read_real(context, scope, part)) for sign, part in reversed(parts)], expr.span)


def _product(context: Context, scope: Scope, expr: ast.Binary) -> Term:
    """A chain of * and /, however long."""
    parts: list[tuple[str, ast.Expr]] = []
    rest: ast.Expr = expr
    while isinstance(rest, ast.Binary) and rest.op in ("*", "/"):
        parts.append((rest.op, rest.right))
        rest = rest.left
    factors = [read_real(context, scope, rest)]
    for op, part in reversed(parts):
        factor = read_real(context, scope, part)
        factors.append(_reciprocal(context, factor, part) if op == "/" else factor)
    return multiply(factors, expr.span)


def _reciprocal(context: Context, factor: Term, part: ast.Expr) -> Term:
    if is_zero(factor):
        context.reporter.error("E0701", "this divides by 0", part.span)
        return Bad(part.span)
    return divide(number(1, part.span), factor, part.span)


def _power(context: Context, scope: Scope, expr: ast.Binary, base: Term, right: ast.Expr) -> Term:
    exponent = read_real(context, scope, right)
    if isinstance(exponent, Bad) or isinstance(base, Bad):
        return Bad(expr.span)
    exact = exact_value(context, exponent)
    if exact is not None and abs(exact) <= 1024:
        if is_zero(base) and exact < 0:
            context.reporter.error("E0701", "this divides by 0", expr.span)
            return Bad(expr.span)
        if exact.denominator != 1 and (known_value(context, base) or 0) < 0:
            context.reporter.error("E0702", "this root of a negative number has no value", expr.span)
            return Bad(expr.span)
        return power(base, exact, expr.span, positive=is_positive(context, base))
    if not is_positive(context, base):
        context.reporter.error(
            "E0702",
            "an exponent that is no exact number needs a base that is a positive number",
            right.span,
            help="write `exp(b * log(a))` where `a` is known to be positive",
        )
        return Bad(expr.span)
    return Apply(expr.span, Function("exp"), multiply([exponent, Apply(expr.span, Function("log"), base)], expr.span))


def _named(context: Context, scope: Scope, expr: ast.Apply) -> Term:
    """A name without a call: an argument, an index, a dim or const, or an element of a tensor."""
    name = expr.name.text
    if expr.slots is None and not expr.prime:
        if name in scope.arguments:
            return scope.arguments[name]
        if name in scope.indices:
            return Integer(expr.span, position_of(scope.indices[name]))
        entry = context.names.get(name)
        if entry is not None and entry.kind in ("dim", "const"):
            return _symbolic(context, name, entry.kind, expr.span)
    return read_element(context, scope, expr)


def _symbolic(context: Context, name: str, kind: str, span: Span) -> Term:
    context.sizes.used.add(name)
    known = context.sizes.size(name) if kind == "dim" else context.sizes.const(name)
    if known is None:
        return Bad(span)
    if kind == "const" and known.exact == 0:  # type: ignore[union-attr]
        return number(0, span)
    return Scalar(span, Coefficient.symbol(name), IndexExpr("size", (name,)) if kind == "dim" else None)


def _field(context: Context, expr: ast.Field) -> Term:
    entry = context.names.get(expr.owner.text)
    if entry is not None and entry.kind == "data":
        context.reporter.error(
            "E0205",
            "an equation cannot read data directly",
            expr.span,
            help=f"declare `clamp NAME[DIMS] = {expr.owner.text}.{expr.field.text}` and read that",
        )
    else:
        context.reporter.error("E0190", "states of layers are not yet supported", expr.span, "not yet")
    return Bad(expr.span)
