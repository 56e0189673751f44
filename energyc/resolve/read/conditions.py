"""Conditions: guards, and the tests of ``where``."""

from __future__ import annotations

from functools import reduce

from energyc.diagnostics import Span
from energyc.ir import IndexExpr, Input
from energyc.resolve.context import Context, Scope, run_over
from energyc.resolve.names import TENSORS
from energyc.resolve.read.places import combine, read_integer
from energyc.resolve.terms import plain_index
from energyc.syntax import ast


def read_condition(context: Context, scope: Scope, expr: ast.Expr) -> IndexExpr | None:
    """A guard: comparisons of index expressions with and, or, not; None where it is none."""
    match expr:
        case ast.Unary(op="not", operand=operand):
            return negated(read_condition(context, scope, operand))
        case ast.Binary(op="and" | "or"):
            return _logic(context, scope, expr)
        case ast.Compare():
            return _comparison(context, scope, expr)
        case ast.Apply(name=name) if (
            name.text in context.names.entries and context.names.entries[name.text].kind in TENSORS
        ):
            if context.definitions.tensor(name.text) is None:
                return None
    context.reporter.error(
        "E0402",
        "a number stands where a condition is expected",
        expr.span,
        help="compare it: `s <= t`, `n != m`, `k == label`",
    )
    return None


def _logic(context: Context, scope: Scope, expr: ast.Binary) -> IndexExpr | None:
    parts: list[ast.Expr] = []
    rest: ast.Expr = expr
    while isinstance(rest, ast.Binary) and rest.op == expr.op:
        parts.append(rest.right)
        rest = rest.left
    conditions = [read_condition(context, scope, part) for part in [rest, *reversed(parts)]]
    return reduce(lambda a, b: combine(expr.op, [a, b]), conditions)


def _comparison(context: Context, scope: Scope, expr: ast.Compare) -> IndexExpr | None:
    read = [read_integer(context, scope, operand) for operand in expr.operands]
    sides = [side for side in read if side is not None]
    if len(sides) < len(read):
        return None
    pairs = list(zip(expr.ops, sides, sides[1:], strict=False))
    for (_, a, b), operand in zip(pairs, expr.operands[1:], strict=True):
        _check_nominal(context, a, b, operand.span)
        _check_nominal(context, b, a, operand.span)
    return reduce(lambda a, b: IndexExpr("and", (a, b)), [IndexExpr(op, (a, b)) for op, a, b in pairs])


def _check_nominal(context: Context, index: IndexExpr, value: IndexExpr, span: Span) -> None:
    """An index compared with an integer input runs over the dim that the input takes its values in."""
    plain = plain_index(index)
    source = value.args[0] if value.op == "read" else None
    if plain is not None and isinstance(source, Input) and source.over is not None:
        run_over(context, plain, source.over, span, context.names.entries[source.name].span)


OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def negated(condition: IndexExpr | None) -> IndexExpr | None:
    """The opposite of a condition."""
    if condition is None:
        return None
    if condition.op in OPPOSITE:
        return IndexExpr(OPPOSITE[condition.op], condition.args)
    if condition.op == "not":
        return condition.parts[0]
    return IndexExpr("not", (condition,))
