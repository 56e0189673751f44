"""Terms put together with the arithmetic of exact numbers and of indices folded on the way."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from energyc.diagnostics import Span
from energyc.ir import Coefficient, IndexExpr
from energyc.ir.indexing import integer
from energyc.resolve.terms import Bad, Integer, Power, Product, Scalar, Sum, Term

#: Nested products and sums dissolve up to these numbers of parts: a function of a function doubles them each time.
MOST_FACTORS = 64
MOST_TERMS = 20_000
#: Bits of an exact power.
LONGEST_POWER = 10_000


def number(value: Fraction | int, span: Span) -> Scalar:
    """A literal."""
    value = Fraction(value)
    whole = integer(int(value)) if value.denominator == 1 else None
    return Scalar(span, Coefficient(value), whole)


def is_zero(term: Term) -> bool:
    """Whether a term is the number 0."""
    return isinstance(term, Scalar) and term.coefficient.is_zero


def as_integer(term: Term) -> IndexExpr | None:
    """A term as an index expression, where it is one."""
    if isinstance(term, Integer):
        return term.value
    return term.integer if isinstance(term, Scalar) else None


def add(terms: Sequence[tuple[int, Term]], span: Span) -> Term:
    """The sum of terms with their signs (1 or -1)."""
    if any(isinstance(term, Bad) for _, term in terms):
        return Bad(span)
    whole = [(sign, as_integer(term)) for sign, term in terms]
    if any(isinstance(term, Integer) for _, term in terms) and all(expr for _, expr in whole):
        return Integer(span, _integer_sum(whole))
    if all(isinstance(term, Scalar) for _, term in terms):
        folded = _scalar_sum([(sign, term) for sign, term in terms if isinstance(term, Scalar)], span)
        if folded is not None:
            return folded
    kept = [negate(term) if sign < 0 else term for sign, term in terms if not is_zero(term)]
    flat = [part for term in kept for part in (term.terms if isinstance(term, Sum) else (term,))]
    flat = flat if len(flat) <= MOST_TERMS else kept
    if not flat:
        return number(0, span)
    return flat[0] if len(flat) == 1 else Sum(span, tuple(flat))


def _integer_sum(terms: Sequence[tuple[int, IndexExpr | None]]) -> IndexExpr:
    total: IndexExpr | None = None
    for sign, expr in terms:
        assert expr is not None
        if total is None:
            total = expr if sign > 0 else IndexExpr("neg", (expr,))
        else:
            total = IndexExpr("+" if sign > 0 else "-", (total, expr))
    assert total is not None
    return total


def _scalar_sum(terms: Sequence[tuple[int, Scalar]], span: Span) -> Scalar | None:
    powers = {term.coefficient.powers for _, term in terms}
    whole = [(sign, term.integer) for sign, term in terms]
    expr = _integer_sum(whole) if all(e for _, e in whole) else None
    if len(powers) == 1:
        value = sum((sign * term.coefficient.value for sign, term in terms), Fraction(0))
        return Scalar(span, Coefficient(value, powers.pop() if value else ()), expr)
    return None


def negate(term: Term) -> Term:
    """``-term``."""
    return multiply([number(-1, term.span), term], term.span)


def multiply(factors: Sequence[Term], span: Span) -> Term:
    """The product of terms; nested products dissolve, exact numbers gather in front."""
    if any(isinstance(factor, Bad) for factor in factors):
        return Bad(span)
    flat = [part for factor in factors for part in (factor.factors if isinstance(factor, Product) else (factor,))]
    flat = flat if len(flat) <= MOST_FACTORS else list(factors)
    scalars = [factor for factor in flat if isinstance(factor, Scalar)]
    rest = [factor for factor in flat if not isinstance(factor, Scalar)]
    whole = [as_integer(factor) for factor in flat]
    if all(whole) and rest:
        return Integer(span, _integer_product(whole))
    coefficient = Coefficient(Fraction(1))
    for scalar in scalars:
        coefficient = coefficient * scalar.coefficient
    if coefficient.is_zero:
        return number(0, span)
    if not rest:
        return Scalar(span, coefficient, _integer_product(whole) if all(whole) else None)
    front: list[Term] = [] if coefficient == Coefficient(Fraction(1)) else [Scalar(span, coefficient)]
    both = (*front, *rest)
    return both[0] if len(both) == 1 else Product(span, both)


def _integer_product(factors: Sequence[IndexExpr | None]) -> IndexExpr:
    total: IndexExpr | None = None
    for expr in factors:
        assert expr is not None
        if total is None:
            total = expr
        elif total == integer(-1):
            total = IndexExpr("neg", (expr,))
        else:
            total = IndexExpr("*", (total, expr))
    assert total is not None
    return total


def power(base: Term, exponent: Fraction, span: Span, *, positive: bool = False) -> Term:
    """``base ^ exponent``; a whole power of a product is the product of powers.

    ``positive`` says that the symbols of an exact base are positive, so that a root of it is exact too.
    """
    if isinstance(base, Bad):
        return base
    if exponent == 1:
        return base
    if isinstance(base, Scalar) and _grows(base, exponent):
        return Power(span, base, exponent)
    if isinstance(base, Scalar):
        folded = (
            base.coefficient.power(exponent)
            if exponent.denominator == 1 or positive or not base.coefficient.powers
            else None
        )
        return Scalar(span, folded) if folded is not None else Power(span, base, exponent)
    flat = isinstance(base, Product) and not any(isinstance(factor, Product) for factor in base.factors)
    if isinstance(base, Product) and flat and exponent < 0 and exponent.denominator == 1:
        return multiply([power(factor, exponent, span) for factor in base.factors], span)
    if isinstance(base, Power) and exponent.denominator == 1 and base.exponent.denominator == 1:
        return power(base.base, base.exponent * exponent, span)
    return Power(span, base, exponent)


def _grows(base: Scalar, exponent: Fraction) -> bool:
    """Whether a power of an exact number would be too long to write."""
    value = base.coefficient.value
    return max(value.numerator.bit_length(), value.denominator.bit_length()) * abs(exponent) > LONGEST_POWER


def divide(a: Term, b: Term, span: Span) -> Term:
    """``a / b``."""
    return multiply([a, power(b, Fraction(-1), span)], span)
