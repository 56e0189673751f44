"""Formulas as they are read; text, LaTeX and MathML are written from them.

Slots and conditions are index expressions (:class:`energyc.mathematics.ir.IndexExpr`); their leaves are names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from energyc.mathematics.ir import ONE, Coefficient, IndexExpr


@dataclass(frozen=True)
class Formula:
    """Any formula."""

    @property
    def parts(self) -> tuple[Formula, ...]:
        """The formulas directly inside."""
        return ()


@dataclass(frozen=True)
class Reference(Formula):
    """An element of a named tensor: ``W[d, m]``."""

    name: str
    slots: tuple[IndexExpr, ...] = ()


@dataclass(frozen=True)
class Product(Formula):
    """``coefficient * factors / divisors``; without factors a number."""

    coefficient: Coefficient = ONE
    factors: tuple[Formula, ...] = ()
    divisors: tuple[Formula, ...] = ()

    @property
    def parts(self) -> tuple[Formula, ...]:
        return self.factors + self.divisors


@dataclass(frozen=True)
class Total(Formula):
    """A sum of terms."""

    terms: tuple[Formula, ...]

    @property
    def parts(self) -> tuple[Formula, ...]:
        return self.terms


@dataclass(frozen=True)
class Bound(Formula):
    """``sum[d in D | guard](bodies)``."""

    operator: str
    indices: tuple[str, ...]
    dims: tuple[str, ...]
    guard: IndexExpr | None
    bodies: tuple[Formula, ...]

    @property
    def shown_dims(self) -> tuple[str | None, ...]:
        """The dim of each index, None where a body shows what it runs over, and for the batch, which is no dim."""
        evident: set[str] = set().union(*(anchored(body) for body in self.bodies))
        over = zip(self.indices, self.dims, strict=True)
        return tuple(None if index in evident or index == dim else dim for index, dim in over)

    @property
    def parts(self) -> tuple[Formula, ...]:
        return self.bodies


@dataclass(frozen=True)
class Call(Formula):
    """``f''(arguments)``: a function and how often it is differentiated; ``declared`` where it is the spec's own."""

    function: str
    arguments: tuple[Formula, ...]
    primes: int = 0
    declared: bool = False

    @property
    def parts(self) -> tuple[Formula, ...]:
        return self.arguments


@dataclass(frozen=True)
class Keyword(Formula):
    """``name = value`` among the arguments of a call."""

    name: str
    value: Formula

    @property
    def parts(self) -> tuple[Formula, ...]:
        return (self.value,)


@dataclass(frozen=True)
class Power(Formula):
    """``base ^ exponent`` with a positive exponent."""

    base: Formula
    exponent: Fraction

    @property
    def parts(self) -> tuple[Formula, ...]:
        return (self.base,)


@dataclass(frozen=True)
class Choice(Formula):
    """``where(condition, body, 0)``."""

    condition: IndexExpr
    body: Formula

    @property
    def parts(self) -> tuple[Formula, ...]:
        return (self.body,)


@dataclass(frozen=True)
class Condition(Formula):
    """1 where a relation of two real values holds, else 0."""

    relation: str
    left: Formula
    right: Formula

    @property
    def parts(self) -> tuple[Formula, ...]:
        return (self.left, self.right)


@dataclass(frozen=True)
class Cases(Formula):
    """``where(condition, if_true, if_false)`` of a condition on real values."""

    condition: Condition
    if_true: Formula
    if_false: Formula

    @property
    def parts(self) -> tuple[Formula, ...]:
        return (self.condition, self.if_true, self.if_false)


@dataclass(frozen=True)
class Derivative(Formula):
    """``dE/dW[i,j]``: the left side of a gradient."""

    of: str
    by: Reference

    @property
    def parts(self) -> tuple[Formula, ...]:
        return (self.by,)


@dataclass(frozen=True)
class IndexValue(Formula):
    """The value of an index expression as a number: ``t - s``."""

    value: IndexExpr


def name(text: str) -> IndexExpr:
    """An index by its name."""
    return IndexExpr("name", (text,))


def name_of(slot: IndexExpr) -> str | None:
    """The name of a slot that is a bare index."""
    return str(slot.args[0]) if slot.op == "name" else None


def walk_formula(formula: Formula) -> Iterator[Formula]:
    """A formula and all inside it."""
    stack = [formula]
    while stack:
        top = stack.pop()
        yield top
        stack.extend(top.parts)


def anchored(formula: Formula) -> set[str]:
    """The indices that are a slot of their own somewhere, so that a reader sees what they run over."""
    slots = (slot for part in walk_formula(formula) if isinstance(part, Reference) for slot in part.slots)
    return {name for slot in slots if (name := name_of(slot)) is not None}


def scaled(coefficient: Coefficient, formula: Formula) -> Formula:
    """A formula times an exact factor."""
    return multiplied(coefficient, (formula,))


def multiplied(coefficient: Coefficient, formulas: Iterable[Formula]) -> Formula:
    """The product of formulas as one flat product, or the one thing that it is."""
    factors: list[Formula] = []
    divisors: list[Formula] = []
    for formula in formulas:
        if isinstance(formula, Product):
            coefficient = coefficient * formula.coefficient
            factors.extend(formula.factors)
            divisors.extend(formula.divisors)
        else:
            factors.append(formula)
    coefficient, factors = _averaged(coefficient, factors)
    coefficient, factors = _least(coefficient, factors)
    if coefficient == ONE and len(factors) == 1 and not divisors:
        return factors[0]
    return Product(coefficient, tuple(factors), tuple(divisors))


def split(formula: Formula) -> tuple[Coefficient, Formula]:
    """The exact factor in front of a formula, and the rest."""
    if not isinstance(formula, Product) or formula.coefficient == ONE:
        return ONE, formula
    return formula.coefficient, multiplied(ONE, (Product(ONE, formula.factors, formula.divisors),))


def _least(coefficient: Coefficient, factors: list[Formula]) -> tuple[Coefficient, list[Formula]]:
    """Minus the largest of what has a minus in front is the smallest."""
    for k, factor in enumerate(factors):
        if coefficient.value < 0 and isinstance(factor, Bound) and factor.operator == "max":
            inner, body = split(factor.bodies[0])
            if inner.value < 0:
                least = replace(factor, operator="min", bodies=(scaled(-inner, body),))
                return -coefficient, [*factors[:k], least, *factors[k + 1 :]]
    return coefficient, factors


def _averaged(coefficient: Coefficient, factors: list[Formula]) -> tuple[Coefficient, list[Formula]]:
    """A sum over dims divided by their sizes is a mean."""
    result: list[Formula] = []
    for factor in factors:
        if isinstance(factor, Bound) and factor.operator == "sum" and factor.guard is None:
            powers = dict(coefficient.powers)
            if all(powers.get(dim, Fraction(0)) <= -factor.dims.count(dim) for dim in factor.dims):
                for dim in factor.dims:
                    coefficient = coefficient * Coefficient.symbol(dim)
                factor = replace(factor, operator="mean")
        result.append(factor)
    return coefficient, result
