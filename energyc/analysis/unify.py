"""Scalar functions by fewer of their kind, so that derivatives of a potential meet the force they should equal.

``tanh u = 2 s(2u) - 1``, ``silu u = u s(u)``, ``s(-u) = 1 - s(u)`` with s the logistic sigmoid; ``gelu u = u P(u)`` and
``gelu' u = P(u) + u gauss(u)`` with P the normal distribution function; ``relu u = u step(u)``, ``abs u = u sign(u)``.
For comparing only: these forms cancel.
"""

from __future__ import annotations

from collections.abc import Mapping

from energyc.calculus.substitute import rebuilt
from energyc.ir import ONE, Add, Einsum, Graph, Map, Node, Stop, walk


def unified(graph: Graph, root: Node) -> Node:
    """``root`` with the functions of the table above rewritten; equal to it everywhere."""
    new: dict[Node, Node] = {}
    for node in walk([root]):
        new[node] = _rewritten(graph, node, new)
    return new[root]


def _rewritten(graph: Graph, node: Node, new: Mapping[Node, Node]) -> Node:
    match node:
        case Map():
            return _function(graph, node, new[node.argument])
        case Stop():
            return new[node.argument]
    return rebuilt(graph, node, new)


def _function(graph: Graph, node: Map, u: Node) -> Node:
    one = graph.constant(1, u.dims)
    match node.function.name:
        case "sigmoid":
            return _sigmoid(graph, u)
        case "tanh":
            return graph.add([(ONE.scaled(2), _sigmoid(graph, graph.scale(2, u))), (-ONE, one)], u.dims)
        case "silu":
            return graph.product(u, _sigmoid(graph, u))
        case "silu_slope":
            s = _sigmoid(graph, u)
            return graph.add([(ONE, s), (ONE, graph.product(u, s)), (-ONE, graph.product(u, s, s))], u.dims)
        case "relu":
            return graph.product(u, graph.map("step", u))
        case "abs":
            return graph.product(u, graph.map("sign", u))
        case "gelu":
            return graph.product(u, graph.map("cumulative", u))
        case "gelu_slope":
            return graph.plus(graph.map("cumulative", u), graph.product(u, graph.map("gauss", u)))
    return graph.map(node.function, u)


def _sigmoid(graph: Graph, u: Node) -> Node:
    if not _negative(u):
        return graph.map("sigmoid", u)
    return graph.minus(graph.constant(1, u.dims), graph.map("sigmoid", graph.scale(-1, u)))


def _negative(u: Node) -> bool:
    """One of u and -u, told by the first coefficient."""
    match u:
        case Einsum():
            return u.coefficient.value < 0
        case Add():
            return u.terms[0][0].value < 0
    return False
