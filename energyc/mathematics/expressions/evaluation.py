"""Values of expressions, in any arithmetic."""

from __future__ import annotations

from functools import reduce
from operator import add, mul
from typing import TypeVar

from energyc.mathematics.expressions.nodes import (
    Argument,
    Call,
    Comparison,
    Constant,
    Number,
    Power,
    Product,
    Sum,
    Where,
)
from energyc.mathematics.expressions.traverser import Traverser, rule

Value = TypeVar("Value")


class Evaluation(Traverser[Value]):
    """The value of a function's definition at an argument.

    An arithmetic states how it takes a ``number`` and a ``constant``, how it divides, raises, calls and chooses; its
    values have ``+``, ``*`` and a minus.
    """

    task = "evaluation"

    def __init__(self, argument: Value) -> None:
        super().__init__()
        self.argument = argument

    def number(self, value: Number) -> Value:
        """An exact number."""
        raise NotImplementedError

    def constant(self, node: Constant) -> Value:
        """A number that has a name."""
        raise NotImplementedError

    def quotient(self, over: Value, under: Value) -> Value:
        """``over / under``."""
        raise NotImplementedError

    def power(self, base: Value, node: Power) -> Value:
        """The base to the exponent of the node."""
        raise NotImplementedError

    def called(self, function: str, argument: Value) -> Value:
        """A function of the table."""
        raise NotImplementedError

    def chosen(self, relation: str, left: Value, right: Value, if_true: Value, if_false: Value) -> Value:
        """One of two values by a relation."""
        raise NotImplementedError

    # ------------------------------------------------------------ rules

    @rule(Argument)
    def _argument(self, node: Argument) -> Value:
        return self.argument

    @rule(Constant)
    def _constant(self, node: Constant) -> Value:
        return self.constant(node)

    @rule(Sum)
    def _sum(self, node: Sum) -> Value:
        return reduce(add, map(self, node.terms)) if node.terms else self.number(0)

    @rule(Product)
    def _product(self, node: Product) -> Value:
        if node.is_number:
            return self.number(node.coefficient)
        value = self._of_all(node.factors)
        if node.divisors:
            value = self.quotient(value, self._of_all(node.divisors))
        if node.coefficient in (1, -1):
            return value if node.coefficient == 1 else -value  # type: ignore[operator]
        return mul(self.number(node.coefficient), value)

    def _of_all(self, factors: tuple[object, ...]) -> Value:
        return reduce(mul, map(self, factors)) if factors else self.number(1)  # type: ignore[arg-type]

    @rule(Power)
    def _power(self, node: Power) -> Value:
        return self.power(self(node.base), node)

    @rule(Call)
    def _call(self, node: Call) -> Value:
        (argument,) = node.arguments
        return self.called(str(node.function), self(argument))

    @rule(Comparison)
    def _comparison(self, node: Comparison) -> Value:
        return self.chosen(node.relation, self(node.left), self(node.right), self.number(1), self.number(0))

    @rule(Where)
    def _where(self, node: Where) -> Value:
        test = node.condition
        sides = self(node.if_true), self(node.if_false)
        return self.chosen(test.relation, self(test.left), self(test.right), *sides)
