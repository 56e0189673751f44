"""Formulas of one real argument ``u``: how derivatives are stated in terms of other functions.

An expression is data. The calculus makes nodes of it, interval arithmetic encloses it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

Number = int | Fraction


@dataclass(frozen=True)
class Expression:
    """Any formula; sums and products of sums and products are flat."""

    def __add__(self, other: Expression | Number) -> Expression:
        return Sum((*_terms(self), *_terms(other)))

    def __radd__(self, other: Number) -> Expression:
        return Sum((*_terms(other), *_terms(self)))

    def __sub__(self, other: Expression | Number) -> Expression:
        return self + -1 * _expression(other)

    def __rsub__(self, other: Number) -> Expression:
        return other + -1 * self

    def __neg__(self) -> Expression:
        return -1 * self

    def __mul__(self, other: Expression | Number) -> Expression:
        if isinstance(other, Expression):
            return Product((*_factors(self), *_factors(other)))
        return Sum(tuple((other * coefficient, term) for coefficient, term in _terms(self)))

    __rmul__ = __mul__

    def __truediv__(self, divisor: Number) -> Expression:
        return self * Fraction(1, divisor)

    def __pow__(self, exponent: Number) -> Expression:
        return Power(self, Fraction(exponent))

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions directly inside."""
        return ()

    def walk(self) -> Iterator[Expression]:
        """This expression and all inside it."""
        yield self
        for part in self.parts:
            yield from part.walk()


@dataclass(frozen=True)
class Argument(Expression):
    """The argument ``u``."""


@dataclass(frozen=True)
class Real(Expression):
    """A constant that is no fraction, right to a few units in the last place."""

    value: float


@dataclass(frozen=True)
class Call(Expression):
    """A function of the table."""

    function: str
    argument: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.argument,)


@dataclass(frozen=True)
class Power(Expression):
    """A fixed power."""

    base: Expression
    exponent: Fraction

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.base,)


@dataclass(frozen=True)
class Product(Expression):
    """A product; without factors it is 1."""

    factors: tuple[Expression, ...] = ()

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.factors


@dataclass(frozen=True)
class Sum(Expression):
    """A sum of exact coefficients times expressions; without terms it is 0."""

    terms: tuple[tuple[Number, Expression], ...] = ()

    @property
    def parts(self) -> tuple[Expression, ...]:
        return tuple(term for _, term in self.terms)


U = Argument()
ZERO = Sum()


def call(function: str, argument: Expression | Number = U) -> Expression:
    """A function of the table, by its name."""
    return Call(function, _expression(argument))


def _expression(value: Expression | Number) -> Expression:
    return value if isinstance(value, Expression) else value * Product()


def _terms(value: Expression | Number) -> tuple[tuple[Number, Expression], ...]:
    if not isinstance(value, Expression):
        return ((value, Product()),)
    return value.terms if isinstance(value, Sum) else ((1, value),)


def _factors(value: Expression) -> tuple[Expression, ...]:
    return value.factors if isinstance(value, Product) else (value,)
