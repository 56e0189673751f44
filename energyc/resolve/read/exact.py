"""The values of exact numbers while an equation is read."""

from __future__ import annotations

from fractions import Fraction

from energyc.resolve.context import Context
from energyc.resolve.terms import Product, Scalar, Term

#: Bits of a numerator or denominator: exact numbers do not grow without end.
LONGEST = 20_000
#: Below the largest exponent of a float64.
LARGEST_LOG2 = 1000


def exact_value(context: Context, term: Term) -> Fraction | None:
    """The exact value of a number made of literals, dims and exact consts; None for any other term."""
    if not isinstance(term, Scalar):
        return None
    total = term.coefficient.value
    for name, exponent in term.coefficient.powers:
        value = _symbol(context, name)
        if value is None or exponent.denominator != 1:
            return None
        total *= value ** int(exponent)
    return total


def _symbol(context: Context, name: str) -> Fraction | None:
    entry = context.names.entries[name]
    if entry.kind == "dim":
        return Fraction(context.sizes.size(name) or 1)
    const = context.sizes.const(name)
    return const.exact if const else None


def is_positive(context: Context, term: Term) -> bool:
    """Whether a term is an exact number of positive factors."""
    if not isinstance(term, Scalar) or term.coefficient.value <= 0:
        return False
    return all(_positive_symbol(context, name) for name, _ in term.coefficient.powers)


def _positive_symbol(context: Context, name: str) -> bool:
    if context.names.entries[name].kind == "dim":
        return True
    const = context.sizes.const(name)
    return const is not None and const.value > 0


def is_representable(term: Term) -> bool:
    """Whether the number of a term, or in front of its factors, is one that floating point can hold."""
    front = term.factors[0] if isinstance(term, Product) else term
    if not isinstance(front, Scalar):
        return True
    value = front.coefficient.value
    bits = value.numerator.bit_length(), value.denominator.bit_length()
    return abs(bits[0] - bits[1]) < LARGEST_LOG2 and max(bits) < LONGEST


def known_value(context: Context, term: Term) -> float | None:
    """The value of a number made of literals, dims and consts, in floating point."""
    if not isinstance(term, Scalar):
        return None
    values: dict[str, float] = {}
    for name, _ in term.coefficient.powers:
        size = context.sizes.dims.get(name)
        values[name] = float(size.value) if size else context.sizes.consts[name].value
    try:
        return float(term.coefficient.number(values).real)
    except (OverflowError, ZeroDivisionError):
        return None
