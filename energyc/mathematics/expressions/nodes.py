"""The kinds of nodes, and arithmetic that makes them.

A node is equal to another of the same shape. Leaves of its own each user adds: an element of a named tensor, an entry
of a buffer, the number of an index.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

#: An exact number, a float, or an exact coefficient with symbols; one user has one kind.
Number = Any
#: A :class:`Comparison` of real values, or a condition on indices in the form of whoever uses it.
Condition = Any


@dataclass(frozen=True)
class Expression:
    """Any expression. With integers and fractions it is written by the usual signs."""

    @property
    def parts(self) -> tuple[Expression, ...]:
        """The expressions directly inside."""
        return ()

    def with_parts(self, *parts: Expression) -> Expression:
        """The same kind of node of other parts, as many as it has."""
        assert not parts
        return self

    def walk(self) -> Iterator[Expression]:
        """This expression and all inside it, in order. Iterative: depth is not limited."""
        stack = [self]
        while stack:
            node = stack.pop()
            yield node
            stack += reversed(node.parts)

    def __add__(self, other: Expression | Number) -> Expression:
        return Sum((*_terms(self), *_terms(other)))

    def __radd__(self, other: Number) -> Expression:
        return Sum((*_terms(other), *_terms(self)))

    def __sub__(self, other: Expression | Number) -> Expression:
        return self + -1 * expression(other)

    def __rsub__(self, other: Number) -> Expression:
        return other + -1 * self

    def __neg__(self) -> Expression:
        return -1 * self

    def __mul__(self, other: Expression | Number) -> Expression:
        if isinstance(other, Expression):
            return Product(1, (*_factors(self), *_factors(other)))
        if isinstance(self, Sum):
            return Sum(tuple(_scaled(other, term) for term in self.terms))
        return _scaled(other, self)

    __rmul__ = __mul__

    def __truediv__(self, divisor: Expression | Number) -> Expression:
        if isinstance(divisor, Expression):
            return Product(1, _factors(self), (divisor,))
        return self * Fraction(1, divisor)

    def __rtruediv__(self, dividend: Number) -> Expression:
        return Product(dividend, (), (self,))

    def __pow__(self, exponent: Number) -> Expression:
        return Power(self, Fraction(exponent))

    def __lt__(self, other: Expression | Number) -> Comparison:
        return Comparison("<", self, expression(other))

    def __gt__(self, other: Expression | Number) -> Comparison:
        return Comparison(">", self, expression(other))

    def __le__(self, other: Expression | Number) -> Comparison:
        return Comparison("<=", self, expression(other))

    def __ge__(self, other: Expression | Number) -> Comparison:
        return Comparison(">=", self, expression(other))


@dataclass(frozen=True)
class Argument(Expression):
    """The argument ``u`` of a function."""


@dataclass(frozen=True)
class Constant(Expression):
    """A number by its name, such as pi; ``value`` is the nearest float."""

    name: str
    value: float


@dataclass(frozen=True)
class Sum(Expression):
    """A sum of terms; without any it is 0."""

    terms: tuple[Expression, ...] = ()

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.terms

    def with_parts(self, *parts: Expression) -> Expression:
        return Sum(parts)


@dataclass(frozen=True)
class Product(Expression):
    """``coefficient * factors / divisors``; without factors and divisors it is a number."""

    coefficient: Number = 1
    factors: tuple[Expression, ...] = ()
    divisors: tuple[Expression, ...] = ()

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.factors + self.divisors

    def with_parts(self, *parts: Expression) -> Expression:
        count = len(self.factors)
        return Product(self.coefficient, parts[:count], parts[count:])

    @property
    def is_number(self) -> bool:
        """Whether it has neither factors nor divisors."""
        return not self.factors and not self.divisors


@dataclass(frozen=True)
class Power(Expression):
    """A fixed power."""

    base: Expression
    exponent: Fraction

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.base,)

    def with_parts(self, *parts: Expression) -> Expression:
        (base,) = parts
        return Power(base, self.exponent)


@dataclass(frozen=True)
class Call(Expression):
    """``f''(arguments)``: a function, by its name or whatever stands for it, and how often it is differentiated.

    ``declared`` says that it is the spec's own.
    """

    function: Hashable
    arguments: tuple[Expression, ...]
    primes: int = 0
    declared: bool = False

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.arguments

    def with_parts(self, *parts: Expression) -> Expression:
        return Call(self.function, parts, self.primes, self.declared)


@dataclass(frozen=True)
class Comparison(Expression):
    """1 where a relation of two values holds, else 0."""

    relation: str
    left: Expression
    right: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    def with_parts(self, *parts: Expression) -> Expression:
        left, right = parts
        return Comparison(self.relation, left, right)


@dataclass(frozen=True)
class Where(Expression):
    """``if_true`` where the condition holds, else ``if_false``."""

    condition: Condition
    if_true: Expression
    if_false: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        sides = (self.if_true, self.if_false)
        return (self.condition, *sides) if isinstance(self.condition, Expression) else sides

    def with_parts(self, *parts: Expression) -> Expression:
        *condition, if_true, if_false = parts
        return Where(condition[0] if condition else self.condition, if_true, if_false)


@dataclass(frozen=True)
class Reduction(Expression):
    """``operator[i in I, j in J | guard](bodies)``: a sum, a mean, a largest value, a softmax over indices."""

    operator: str
    indices: tuple[str, ...]
    dims: tuple[str, ...]
    guard: Condition | None
    bodies: tuple[Expression, ...]

    @property
    def parts(self) -> tuple[Expression, ...]:
        return self.bodies

    def with_parts(self, *parts: Expression) -> Expression:
        return Reduction(self.operator, self.indices, self.dims, self.guard, parts)


@dataclass(frozen=True)
class Clip(Expression):
    """A value moved into an interval, which may have one end."""

    value: Expression
    low: float | None
    high: float | None

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.value,)

    def with_parts(self, *parts: Expression) -> Expression:
        (value,) = parts
        return Clip(value, self.low, self.high)


@dataclass(frozen=True)
class IndexValue(Expression):
    """An integer made of indices as a real number: ``t - s``."""

    value: Any


U = Argument()
PI = Constant("pi", 3.141592653589793)
ZERO = Sum()


def call(function: str, argument: Expression | Number = U) -> Expression:
    """A function of one argument by its name."""
    return Call(function, (expression(argument),))


def where(condition: Comparison, if_true: Expression | Number, if_false: Expression | Number) -> Expression:
    """One of two values."""
    return Where(condition, expression(if_true), expression(if_false))


def expression(value: Expression | Number) -> Expression:
    """A number as an expression; an expression is one already."""
    return value if isinstance(value, Expression) else Product(value)


def split(term: Expression) -> tuple[Number, Expression]:
    """A term as its coefficient and the rest."""
    if not isinstance(term, Product) or term.coefficient == 1:
        return 1, term
    if len(term.factors) == 1 and not term.divisors:
        return term.coefficient, term.factors[0]
    return term.coefficient, Product(1, term.factors, term.divisors)


def _scaled(factor: Number, term: Expression) -> Expression:
    coefficient, rest = split(term)
    coefficient = factor * coefficient
    if coefficient == 1:
        return rest
    if isinstance(rest, Product):
        return Product(coefficient, rest.factors, rest.divisors)
    return Product(coefficient, (rest,))


def _terms(value: Expression | Number) -> tuple[Expression, ...]:
    value = expression(value)
    return value.terms if isinstance(value, Sum) else (value,)


def _factors(value: Expression) -> tuple[Expression, ...]:
    if isinstance(value, Product) and value.coefficient == 1 and not value.divisors:
        return value.factors
    return (value,)
