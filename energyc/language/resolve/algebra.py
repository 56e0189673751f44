"""Arithmetic on terms: exact numbers and integers fold on the way."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import reduce

from energyc.language.diagnostics import Span
from energyc.language.resolve.terms import Bad, IndexValue, Power, Product, Scalar, Sum, Term
from energyc.mathematics.ir import ONE, Coefficient, IndexExpr
from energyc.mathematics.ir.indexing import integer

#: Nested products and sums are flattened up to these numbers of parts: a function of a function doubles them each time.
MOST_FACTORS = 64
MOST_TERMS = 20_000
#: Bits of an exact power.
LONGEST_POWER = 10_000


def number(value: Fraction | int, span: Span) -> Scalar:
    """A literal."""
    value = Fraction(value)
    return Scalar(span, Coefficient(value), integer(int(value)) if value.denominator == 1 else None)


def is_zero(term: Term) -> bool:
    """Whether a term is the number 0."""
    return isinstance(term, Scalar) and term.coefficient.is_zero


def as_integer(term: Term) -> IndexExpr | None:
    """A term as an index expression, where it is one."""
    if isinstance(term, IndexValue):
        return term.value
    return term.integer if isinstance(term, Scalar) else None


# ------------------------------------------------------------------ sums


def add(terms: Sequence[tuple[int, Term]], span: Span) -> Term:
    """The sum of terms with their signs (1 or -1)."""
    if any(isinstance(term, Bad) for _, term in terms):
        return Bad(span)
    integers = _integer_sum(terms)
    if integers is not None and any(isinstance(term, IndexValue) for _, term in terms):
        return IndexValue(span, integers)
    scalar = _scalar_sum(terms, integers, span)
    if scalar is not None:
        return scalar
    signed = [negate(term) if sign < 0 else term for sign, term in terms if not is_zero(term)]
    flat = [part for term in signed for part in (term.terms if isinstance(term, Sum) else (term,))]
    flat = flat if len(flat) <= MOST_TERMS else signed
    if not flat:
        return number(0, span)
    return flat[0] if len(flat) == 1 else Sum(span, tuple(flat))


def _integer_sum(terms: Sequence[tuple[int, Term]]) -> IndexExpr | None:
    """The sum as an index expression; None where a term is not an integer."""
    total: IndexExpr | None = None
    for sign, term in terms:
        expr = as_integer(term)
        if expr is None:
            return None
        if total is None:
            total = expr if sign > 0 else IndexExpr("neg", (expr,))
        else:
            total = IndexExpr("+" if sign > 0 else "-", (total, expr))
    return total


def _scalar_sum(terms: Sequence[tuple[int, Term]], integers: IndexExpr | None, span: Span) -> Scalar | None:
    """The sum of exact numbers with the same symbols; None for other terms."""
    scalars = [(sign, term.coefficient) for sign, term in terms if isinstance(term, Scalar)]
    powers = {coefficient.powers for _, coefficient in scalars}
    if len(scalars) < len(terms) or len(powers) != 1:
        return None
    value = sum((sign * coefficient.value for sign, coefficient in scalars), Fraction(0))
    return Scalar(span, Coefficient(value, powers.pop() if value else ()), integers)


def negate(term: Term) -> Term:
    """``-term``."""
    return multiply([number(-1, term.span), term], term.span)


# ------------------------------------------------------------------ products


def multiply(factors: Sequence[Term], span: Span) -> Term:
    """The product of terms; nested products are flattened, exact numbers gather in front."""
    if any(isinstance(factor, Bad) for factor in factors):
        return Bad(span)
    flat = [part for factor in factors for part in (factor.factors if isinstance(factor, Product) else (factor,))]
    flat = flat if len(flat) <= MOST_FACTORS else list(factors)
    others = [factor for factor in flat if not isinstance(factor, Scalar)]
    integers = _integer_product(flat)
    if integers is not None and others:
        return IndexValue(span, integers)
    coefficient = ONE
    for factor in flat:
        coefficient = coefficient * factor.coefficient if isinstance(factor, Scalar) else coefficient
    if coefficient.is_zero:
        return number(0, span)
    if not others:
        return Scalar(span, coefficient, integers)
    parts = others if coefficient == ONE else [Scalar(span, coefficient), *others]
    return parts[0] if len(parts) == 1 else Product(span, tuple(parts))


def _integer_product(factors: Sequence[Term]) -> IndexExpr | None:
    """The product as an index expression; None where a factor is not an integer."""
    integers = [expr for factor in factors if (expr := as_integer(factor)) is not None]
    return reduce(_times, integers) if len(integers) == len(factors) else None


def _times(a: IndexExpr, b: IndexExpr) -> IndexExpr:
    return IndexExpr("neg", (b,)) if a == integer(-1) else IndexExpr("*", (a, b))


def divide(a: Term, b: Term, span: Span) -> Term:
    """``a / b``."""
    return multiply([a, power(b, Fraction(-1), span)], span)


# ------------------------------------------------------------------ powers


def power(base: Term, exponent: Fraction, span: Span, *, positive: bool = False) -> Term:
    """``base ^ exponent``; an integer power of a product is the product of powers.

    ``positive`` says that the symbols of an exact base are positive, so that a root of it is exact too.
    """
    integral = exponent.denominator == 1
    match base:
        case Bad():
            return base
        case _ if exponent == 1:
            return base
        case Scalar():
            return _scalar_power(base, exponent, span, positive)
        case Product(factors=factors) if integral and exponent < 0:
            if not any(isinstance(factor, Product) for factor in factors):
                return multiply([power(factor, exponent, span) for factor in factors], span)
        case Power() if integral and base.exponent.denominator == 1:
            return power(base.base, base.exponent * exponent, span)
    return Power(span, base, exponent)


def _scalar_power(base: Scalar, exponent: Fraction, span: Span, positive: bool) -> Term:
    """The power of an exact number, which stays exact where it can be written out."""
    value = base.coefficient.value
    bits = max(value.numerator.bit_length(), value.denominator.bit_length())
    if bits * abs(exponent) > LONGEST_POWER:
        return Power(span, base, exponent)
    exact = exponent.denominator == 1 or positive or not base.coefficient.powers
    folded = base.coefficient.power(exponent) if exact else None
    return Power(span, base, exponent) if folded is None else Scalar(span, folded)
