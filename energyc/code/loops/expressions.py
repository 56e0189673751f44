"""Expressions that are made of others: scaled, negated, at other labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from energyc.code.loops.affine import substituted
from energyc.code.loops.nest import Expr, Load, Number, Times, Total
from energyc.mathematics.expressions import Call, Comparison, IndexValue, Rewriter, Where, rule
from energyc.mathematics.functions import ScalarFunction
from energyc.mathematics.ir import IndexExpr

ZERO = Number(0.0)


def scaled(factor: float, factors: Sequence[Expr]) -> Expr:
    """A product with a factor."""
    if ZERO in factors:
        return ZERO
    if not factors:
        return Number(factor)
    value = factors[0] if len(factors) == 1 else Times(tuple(factors))
    return value if factor == 1 else Total(((factor, value),))


def difference(first: Expr, second: Expr) -> Expr:
    """``first - second``."""
    return Total(((1.0, first), (-1.0, second)))


def plain_load(expr: Expr) -> tuple[float, Load | None]:
    """A factor and an entry, where the expression is that."""
    match expr:
        case Load():
            return 1.0, expr
        case Total(((factor, Load() as load),)):
            return factor, load
    return 1.0, None


def applied(function: ScalarFunction, argument: Expr) -> Expr:
    """A scalar function of an expression."""
    return Call(function, (argument,))


def unless(test: Expr, number: float, value: Expr, instead: Expr) -> Expr:
    """``value``, or ``instead`` where the ``test`` equals ``number``."""
    return Where(Comparison("!=", test, Number(number)), value, instead)


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
