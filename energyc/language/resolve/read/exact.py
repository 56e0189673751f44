"""The values of exact numbers while an equation is read."""

from __future__ import annotations

from fractions import Fraction
from math import log2, prod

from energyc.language.resolve.context import Context
from energyc.language.resolve.terms import IndexValue, Product, Scalar, Term
from energyc.mathematics.ir import Add, Coefficient, Einsum, IndexExpr, Node, walk

#: Bits of a numerator or denominator: exact numbers do not grow without end.
LONGEST = 20_000
LARGEST_INTEGER = 2**63 - 1
MOST_PARTS = 2_000
#: Below the largest exponent of a float64.
LARGEST_LOG2 = 1000


def exact_value(context: Context, term: Term) -> Fraction | None:
    """The exact value of a number made of literals, dims and exact consts; None for any other term."""
    if not isinstance(term, Scalar):
        return None
    total = term.coefficient.value
    for name, exponent in term.coefficient.powers:
        value = _symbol(context, name)
        if value is None or exponent.denominator != 1 or (value == 0 and exponent < 0):
            return None
        total *= value ** int(exponent)
    return total


def _symbol(context: Context, name: str) -> Fraction | None:
    if name in context.sizes.dims:
        return Fraction(context.sizes.size(name) or 1)
    const = context.sizes.const(name)
    return const.exact if const else None


def is_positive(context: Context, term: Term) -> bool:
    """Whether a term is an exact number of positive factors."""
    if not isinstance(term, Scalar) or term.coefficient.value <= 0:
        return False
    return all(_positive_symbol(context, name) for name, _ in term.coefficient.powers)


def _positive_symbol(context: Context, name: str) -> bool:
    if name in context.sizes.dims:
        return True
    const = context.sizes.const(name)
    return const is not None and const.value > 0


def is_representable(context: Context, term: Term) -> bool:
    """Whether the number in front of a term fits floating point, or its integers 64 bits."""
    if isinstance(term, IndexValue):
        return integers_fit(context, term.value)
    front = term.factors[0] if isinstance(term, Product) else term
    if not isinstance(front, Scalar):
        return True
    return in_range(context, front.coefficient)


def in_range(context: Context, coefficient: Coefficient) -> bool:
    """Whether an exact number fits floating point, at the values of the dims and consts in it."""
    value = coefficient.value
    bits = value.numerator.bit_length(), value.denominator.bit_length()
    if max(bits) >= LONGEST:
        return False
    symbols = [(abs(_approximately(context, name)), power) for name, power in coefficient.powers]
    return abs(bits[0] - bits[1] + sum(power * log2(base) for base, power in symbols if base)) < LARGEST_LOG2


def numbers_fit(context: Context, root: Node) -> bool:
    """Whether all numbers in a node fit floating point, also those that lets are multiplied out to."""
    for node in walk([root]):
        inside = [node.coefficient] if isinstance(node, Einsum) else []
        inside += [coefficient for coefficient, _ in node.terms] if isinstance(node, Add) else []
        if not all(in_range(context, coefficient) for coefficient in inside):
            return False
    return True


def integers_fit(context: Context, expr: IndexExpr) -> bool:
    """Whether an index expression is small enough to work with.

    None of its parts may leave 64-bit integers at any position, and written out (a function of a function doubles its
    argument) it has at most ``MOST_PARTS`` parts.
    """
    largest = max(context.dim_sizes().values(), default=1)
    known: dict[int, tuple[int, int]] = {}

    def magnitude_and_parts(part: IndexExpr) -> tuple[int, int]:
        if id(part) not in known:
            inner = [magnitude_and_parts(child) for child in part.parts]
            parts = 1 + sum(count for _, count in inner)
            magnitudes = [magnitude for magnitude, _ in inner]
            if part.op == "int":
                known[id(part)] = abs(int(part.args[0])), 1  # type: ignore[arg-type]
            elif part.op in ("axis", "size", "read"):
                known[id(part)] = largest, parts
            else:
                known[id(part)] = (prod if part.op == "*" else sum)(magnitudes), parts
        return known[id(part)]

    magnitude, parts = magnitude_and_parts(expr)
    return magnitude <= LARGEST_INTEGER and parts <= MOST_PARTS


def _approximately(context: Context, name: str) -> float:
    """The value of a dim or const in floating point."""
    size = context.sizes.dims.get(name)
    return float(size.value) if size else context.sizes.consts[name].value


def known_value(context: Context, term: Term) -> float | None:
    """The value of a number made of literals, dims and consts, in floating point."""
    if not isinstance(term, Scalar):
        return None
    values = {name: _approximately(context, name) for name, _ in term.coefficient.powers}
    try:
        return float(term.coefficient.number(values).real)
    except (OverflowError, ZeroDivisionError):
        return None
