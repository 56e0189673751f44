"""Expressions that are made of others: scaled, chosen, at other labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from energyc.code.loops.affine import substituted
from energyc.code.loops.nest import Expr, Load
from energyc.mathematics.expressions import (
    ZERO,
    Call,
    Comparison,
    IndexValue,
    Product,
    Rewriter,
    Sum,
    Where,
    expression,
    rule,
)
from energyc.mathematics.functions import ScalarFunction
from energyc.mathematics.ir import IndexExpr


def scaled(coefficient: float, *factors: Expr) -> Expr:
    """``coefficient * factors``; a factor that is itself a product stays one, so that it is computed first."""
    if ZERO in factors:
        return ZERO
    return factors[0] if coefficient == 1 and len(factors) == 1 else Product(coefficient, factors)


def plain_load(expr: Expr) -> tuple[float, Load | None]:
    """A coefficient and an entry, where the expression is that."""
    match expr:
        case Load():
            return 1.0, expr
        case Product(coefficient, (Load() as load,), ()):
            return coefficient, load
        case Sum((term,)):
            return plain_load(term)
    return 1.0, None


def applied(function: ScalarFunction, argument: Expr) -> Expr:
    """A scalar function of an expression."""
    return Call(function, (argument,))


def unless(test: Expr, number: float, value: Expr, instead: Expr) -> Expr:
    """``value``, or ``instead`` where the ``test`` equals ``number``."""
    return Where(Comparison("!=", test, expression(number)), value, instead)


def rewritten(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with each of its parts changed, those inside first."""
    return change(expr.with_parts(*(rewritten(part, change) for part in expr.parts)))


class Relocation(Rewriter):
    """An expression at other labels: each is replaced by its ``place``."""

    task = "an expression at other labels"

    def __init__(self, place: Sequence[IndexExpr]) -> None:
        super().__init__()
        self.place = place

    @rule(Load)
    def _load(self, node: Load) -> Expr:
        return Load(node.buffer, tuple(substituted(k, self.place) for k in node.place))

    @rule(Where)
    def _where(self, node: Where) -> Expr:
        if not isinstance(node.condition, IndexExpr):
            return self.parts_rewritten(node)
        return Where(substituted(node.condition, self.place), self(node.if_true), self(node.if_false))

    @rule(IndexValue)
    def _value(self, node: IndexValue) -> Expr:
        return IndexValue(substituted(node.value, self.place))


def relocated(expr: Expr, place: Sequence[IndexExpr]) -> Expr:
    """The expression with each label replaced by its place."""
    return Relocation(place)(expr)
