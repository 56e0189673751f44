"""Derivatives and antiderivatives of scalar functions as nodes, so that those of every order exist."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from energyc.mathematics.calculus.substitute import lift
from energyc.mathematics.functions import Argument, Call, Expression, Power, Product, Sum
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

    Raises TypeError for an expression that holds an irrational number.
    """
    call = call or graph.map

    def node(part: Expression) -> Node:
        match part:
            case Argument():
                return u
            case Call(function, argument):
                return call(function, node(argument))
            case Power(base, exponent):
                return graph.power(node(base), exponent)
            case Product(factors):
                return graph.product(*map(node, factors)) if factors else graph.constant(1, u.dims)
            case Sum(terms):
                return graph.add([(Coefficient(Fraction(factor)), node(term)) for factor, term in terms], u.dims)
        raise TypeError(f"no node for {part!r}")

    return node(expression)
