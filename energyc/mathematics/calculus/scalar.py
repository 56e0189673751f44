"""Derivatives and antiderivatives of scalar functions as nodes, so that those of every order exist."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from energyc.mathematics.calculus.substitute import lift
from energyc.mathematics.expressions import (
    Argument,
    Call,
    Comparison,
    Expression,
    Power,
    Product,
    Sum,
    Traverser,
    Where,
    rule,
    split,
)
from energyc.mathematics.ir import Coefficient, Function, Graph, Node


def derivative(graph: Graph, function: Function, u: Node) -> Node:
    """``function'`` at each element of ``u``. Raises KeyError for a function that is not in the table."""
    if function.slope is not None:
        return lift(graph, function.slope, u)
    return expanded(graph, function.entry.derivative, u)


def antiderivative(graph: Graph, function: Function, u: Node) -> Node | None:
    """A function whose derivative is ``function``, at each element of ``u``; None where no closed form is known."""
    if function.slope is not None or function.entry.antiderivative is None:
        return None
    return expanded(graph, function.entry.antiderivative, u)


def expanded(graph: Graph, expression: Expression, u: Node, call: Callable[[str, Node], Node] | None = None) -> Node:
    """An expression at each element of ``u``; ``call`` makes the node of a function of the table, by default a map.

    Raises NoRule for an expression that holds an irrational number.
    """
    return _Nodes(graph, u, call or graph.map)(expression)


class _Nodes(Traverser[Node]):
    """The node of an expression."""

    task = "the node of a definition"

    def __init__(self, graph: Graph, u: Node, call: Callable[[str, Node], Node]) -> None:
        super().__init__()
        self.graph, self.u, self.call = graph, u, call

    @rule(Argument)
    def _argument(self, node: Argument) -> Node:
        return self.u

    @rule(Call)
    def _call(self, node: Call) -> Node:
        (argument,) = node.arguments
        return self.call(str(node.function), self(argument))

    @rule(Power)
    def _power(self, node: Power) -> Node:
        return self.graph.power(self(node.base), node.exponent)

    @rule(Product)
    def _product(self, node: Product) -> Node:
        coefficient, rest = split(node)
        if rest is not node:
            return self.graph.add([(Coefficient(Fraction(coefficient)), self(rest))], self.u.dims)
        factors = [*map(self, node.factors), *(self.graph.power(self(d), Fraction(-1)) for d in node.divisors)]
        return self.graph.product(*factors) if factors else self.graph.constant(1, self.u.dims)

    @rule(Sum)
    def _sum(self, node: Sum) -> Node:
        terms = [split(term) for term in node.terms]
        return self.graph.add([(Coefficient(Fraction(factor)), self(rest)) for factor, rest in terms], self.u.dims)

    @rule(Comparison)
    def _comparison(self, node: Comparison) -> Node:
        """By ``above`` and ``reached``, of the difference that is positive where it holds."""
        high, low = (node.left, node.right) if node.relation[0] == ">" else (node.right, node.left)
        return self.graph.map("above" if len(node.relation) == 1 else "reached", self(high - low))

    @rule(Where)
    def _where(self, node: Where) -> Node:
        return self(node.condition * node.if_true + (1 - node.condition) * node.if_false)
