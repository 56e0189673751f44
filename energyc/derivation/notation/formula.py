"""Formulas as they are read; text, LaTeX and MathML are written from them.

They are expressions whose coefficients are exact, with elements of named tensors for leaves. Slots and conditions are
index expressions (:class:`energyc.mathematics.ir.IndexExpr`); their leaves are names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from energyc.mathematics.expressions import Expression, Product, Reduction
from energyc.mathematics.ir import ONE, Coefficient, IndexExpr

Formula = Expression
#: The numbers 1 and 0.
UNIT, NOTHING = Product(ONE), Product(Coefficient(Fraction(0)))


@dataclass(frozen=True)
class Reference(Expression):
    """An element of a named tensor: ``W[d, m]``."""

    name: str
    slots: tuple[IndexExpr, ...] = ()


@dataclass(frozen=True)
class Keyword(Expression):
    """``name = value`` among the arguments of a call."""

    name: str
    value: Expression

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.value,)

    def with_parts(self, *parts: Expression) -> Expression:
        return Keyword(self.name, *parts)


@dataclass(frozen=True)
class Derivative(Expression):
    """``dE/dW[i,j]``: the left side of a gradient."""

    of: str
    by: Reference

    @property
    def parts(self) -> tuple[Expression, ...]:
        return (self.by,)


def shown_dims(reduction: Reduction) -> tuple[str | None, ...]:
    """The dim of each index, None where a body shows what it runs over, and for the batch, which is not a dim."""
    evident: set[str] = set().union(*map(anchored, reduction.bodies))
    over = zip(reduction.indices, reduction.dims, strict=True)
    return tuple(None if index in evident or index == dim else dim for index, dim in over)


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
        if coefficient.value < 0 and isinstance(factor, Reduction) and factor.operator == "max":
            inner, body = split(factor.bodies[0])
            if inner.value < 0:
                least = replace(factor, operator="min", bodies=(scaled(-inner, body),))
                return -coefficient, [*factors[:k], least, *factors[k + 1 :]]
    return coefficient, factors


def _averaged(coefficient: Coefficient, factors: list[Formula]) -> tuple[Coefficient, list[Formula]]:
    """A sum over dims divided by their sizes is a mean."""
    result: list[Formula] = []
    for factor in factors:
        if isinstance(factor, Reduction) and factor.operator == "sum" and factor.guard is None:
            powers = dict(coefficient.powers)
            if all(powers.get(dim, Fraction(0)) <= -factor.dims.count(dim) for dim in factor.dims):
                for dim in factor.dims:
                    coefficient = coefficient * Coefficient.symbol(dim)
                factor = replace(factor, operator="mean")
        result.append(factor)
    return coefficient, result
