"""Facts that follow from the formula of a function: its derivative, its parity, whether it is analytic."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import prod

from energyc.mathematics.expressions import (
    ZERO,
    Argument,
    Call,
    Comparison,
    Constant,
    Expression,
    Power,
    Product,
    Rewriter,
    Sum,
    Traverser,
    Where,
    rule,
)
from energyc.mathematics.functions.entry import ScalarFunction

ONE = Product(1)


class Derivative(Traverser[Expression]):
    """The derivative by the argument; ``slopes`` gives that of a function of the table."""

    task = "the derivative of a definition"

    def __init__(self, slopes: Callable[[str], Expression]) -> None:
        super().__init__()
        self.slopes = slopes

    @rule(Argument)
    def _argument(self, node: Argument) -> Expression:
        return ONE

    @rule(Constant, Comparison)
    def _constant(self, node: Expression) -> Expression:
        return ZERO

    @rule(Sum)
    def _sum(self, node: Sum) -> Expression:
        return total(map(self, node.terms))

    @rule(Product)
    def _product(self, node: Product) -> Expression:
        """``f' g h + f g' h - f g h' / h`` over the divisors."""
        factors, divisors = node.factors, node.divisors
        terms = [_quotient((*factors[:k], self(f), *factors[k + 1 :]), divisors) for k, f in enumerate(factors)]
        terms += [-1 * _quotient((*factors, self(d)), (*divisors, d)) for d in divisors]
        return node.coefficient * total(terms)

    @rule(Power)
    def _power(self, node: Power) -> Expression:
        outer = node.base if node.exponent == 2 else node.base ** (node.exponent - 1)
        return node.exponent * _quotient((outer, self(node.base)), ())

    @rule(Call)
    def _call(self, node: Call) -> Expression:
        (argument,) = node.arguments
        return _quotient((composed(self.slopes(str(node.function)), argument), self(argument)), ())

    @rule(Where)
    def _where(self, node: Where) -> Expression:
        sides = self(node.if_true), self(node.if_false)
        return ZERO if sides == (ZERO, ZERO) else Where(node.condition, *sides)


def total(terms: Iterable[Expression]) -> Expression:
    """The sum without terms that are 0."""
    left = [term for term in terms if term != ZERO]
    result: Expression = ZERO
    for term in left:
        result = result + term
    return left[0] if len(left) == 1 else result


def _quotient(factors: Iterable[Expression], divisors: tuple[Expression, ...]) -> Expression:
    """A product over divisors without factors that are 1; 0 where a factor is."""
    factors = list(factors)
    if ZERO in factors:
        return ZERO
    result: Expression = ONE
    for factor in factors:
        result = factor if result == ONE else result * factor if factor != ONE else result
    return Product(1, (result,), divisors) if divisors else result


class _Composition(Rewriter):
    """An expression with the argument replaced."""

    task = "a composition"

    def __init__(self, argument: Expression) -> None:
        super().__init__()
        self.argument = argument

    @rule(Argument)
    def _argument(self, node: Argument) -> Expression:
        return self.argument


def composed(outer: Expression, inner: Expression) -> Expression:
    """``outer`` with ``inner`` for its argument."""
    return _Composition(inner)(outer)


class Parity(Traverser[int]):
    """1 for an even expression, -1 for an odd one, else 0; ``parities`` are those of the functions."""

    task = "the parity of a definition"

    def __init__(self, parities: Callable[[str], int]) -> None:
        super().__init__()
        self.parities = parities

    @rule(Argument)
    def _argument(self, node: Argument) -> int:
        return -1

    @rule(Constant)
    def _constant(self, node: Constant) -> int:
        return 1

    @rule(Sum)
    def _sum(self, node: Sum) -> int:
        parities = {self(term) for term in node.terms}
        return parities.pop() if len(parities) == 1 else 0

    @rule(Product)
    def _product(self, node: Product) -> int:
        return prod(map(self, node.parts))

    @rule(Power)
    def _power(self, node: Power) -> int:
        base = self(node.base)
        odd = node.exponent.denominator == 1 and node.exponent % 2
        return base if odd or base >= 0 else 1 if node.exponent.denominator == 1 else 0

    @rule(Call)
    def _call(self, node: Call) -> int:
        (argument,) = map(self, node.arguments)
        return self.parities(str(node.function)) if argument == -1 else argument

    @rule(Comparison, Where)
    def _selection(self, node: Expression) -> int:
        return int(all(self(part) == 1 for part in node.parts))


def is_analytic(formula: Expression, functions: Callable[[str], ScalarFunction]) -> bool:
    """Whether a formula selects nothing, and is of functions without kinks."""
    parts = list(formula.walk())
    called = [functions(str(part.function)) for part in parts if isinstance(part, Call)]
    return not any(isinstance(part, Comparison | Where) for part in parts) and all(f.holomorphic for f in called)
