"""Scalar functions by simpler ones, so that derivatives of a potential meet the force they should equal.

The formulas are those of the table: ``tanh u = 2 s(2u) - 1`` and ``silu u = u s(u)`` with s the logistic sigmoid,
``gelu u = u P(u)`` with P the normal distribution function, ``relu u = u step(u)``. Besides, ``s(-u) = 1 - s(u)``.
For comparing only: these forms cancel.
"""

from __future__ import annotations

from collections.abc import Mapping

from energyc.calculus.scalar import expanded
from energyc.calculus.substitute import rebuilt
from energyc.ir import Add, Einsum, Function, Graph, Map, Node, Stop, walk


def unified(graph: Graph, root: Node) -> Node:
    """``root`` with every function that has a formula rewritten; equal to it everywhere."""
    new: dict[Node, Node] = {}
    for node in walk([root]):
        new[node] = _rewritten(graph, node, new)
    return new[root]


def _rewritten(graph: Graph, node: Node, new: Mapping[Node, Node]) -> Node:
    match node:
        case Map():
            return _function(graph, node.function, new[node.argument])
        case Stop():
            return new[node.argument]
    return rebuilt(graph, node, new)


def _function(graph: Graph, function: Function, u: Node) -> Node:
    if function.slope is not None:
        return graph.map(function, u)
    if function.named("sigmoid") and _negative(u):
        return graph.minus(graph.constant(1, u.dims), graph.map("sigmoid", graph.scale(-1, u)))
    formula = function.entry.rational_formula
    if formula is None:
        return graph.map(function, u)
    return expanded(graph, formula, u, lambda name, inner: _function(graph, Function(name), inner))


def _negative(u: Node) -> bool:
    """One of u and -u, told by the first coefficient."""
    match u:
        case Einsum():
            return u.coefficient.value < 0
        case Add():
            return u.terms[0][0].value < 0
    return False
