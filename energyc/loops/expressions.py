"""Expressions that are made of others: scaled, negated, at other labels."""

from __future__ import annotations

from collections.abc import Sequence

from energyc.ir import IndexExpr
from energyc.loops.affine import substituted
from energyc.loops.nest import Call, Choice, Clip, Count, Expr, Load, Number, Quotient, Times, Total, Unless


def scaled(factor: float, factors: Sequence[Expr]) -> Expr:
    """A product with a factor."""
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


def relocated(expr: Expr, place: Sequence[IndexExpr]) -> Expr:
    """The expression with each label replaced by its place."""
    match expr:
        case Load(buffer, at):
            return Load(buffer, tuple(substituted(k, place) for k in at))
        case Total(terms):
            return Total(tuple((factor, relocated(term, place)) for factor, term in terms))
        case Times(factors):
            return Times(tuple(relocated(part, place) for part in factors))
        case Call(function, argument):
            return Call(function, relocated(argument, place))
        case Choice(condition, yes, no):
            return Choice(substituted(condition, place), relocated(yes, place), relocated(no, place))
        case Count(value):
            return Count(substituted(value, place))
        case Clip(argument, low, high):
            return Clip(relocated(argument, place), low, high)
        case Quotient(part, whole):
            return Quotient(relocated(part, place), relocated(whole, place))
        case Unless(test, number, value, instead):
            return Unless(relocated(test, place), number, relocated(value, place), relocated(instead, place))
    return expr
