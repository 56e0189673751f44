"""Expressions that are made of others: scaled, negated, at other labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from energyc.code.loops.affine import substituted
from energyc.code.loops.nest import Call, Choice, Clip, Count, Expr, Load, Number, Quotient, Times, Total, Unless
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


def rewritten(expr: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """The expression with each of its parts changed, those inside first."""
    return change(changed(expr, lambda part: rewritten(part, change)))


def changed(expr: Expr, inner: Callable[[Expr], Expr]) -> Expr:
    """The expression with the parts directly inside changed."""
    match expr:
        case Total(terms):
            return Total(tuple((factor, inner(term)) for factor, term in terms))
        case Times(factors):
            return Times(tuple(map(inner, factors)))
        case Call(function, argument):
            return Call(function, inner(argument))
        case Choice(condition, yes, no):
            return Choice(condition, inner(yes), inner(no))
        case Clip(argument, low, high):
            return Clip(inner(argument), low, high)
        case Quotient(part, whole):
            return Quotient(inner(part), inner(whole))
        case Unless(test, number, value, instead):
            return Unless(inner(test), number, inner(value), inner(instead))
    return expr


def relocated(expr: Expr, place: Sequence[IndexExpr]) -> Expr:
    """The expression with each label replaced by its place."""

    def moved(part: Expr) -> Expr:
        match part:
            case Load(buffer, at):
                return Load(buffer, tuple(substituted(k, place) for k in at))
            case Choice(condition, yes, no):
                return Choice(substituted(condition, place), yes, no)
            case Count(value):
                return Count(substituted(value, place))
        return part

    return rewritten(expr, moved)
