"""Forward mode: the directional derivative of nodes as nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch

from energyc.mathematics.calculus.dependence import body_reads, depends
from energyc.mathematics.calculus.scalar import derivative
from energyc.mathematics.ir import (
    ONE,
    Add,
    ArgMax,
    BatchStatistic,
    Einsum,
    Graph,
    LogSumExp,
    Map,
    Max,
    Node,
    NoRule,
    Softmax,
    Stop,
    walk,
)

Tangents = Mapping[Node, Node]


def tangent(
    graph: Graph,
    roots: Sequence[Node],
    directions: Tangents,
    *,
    frozen: bool = True,
    moves: dict[Node, Node] | None = None,
) -> list[Node]:
    """``d root`` for each root where each key of ``directions`` moves by its value, a node of the same dims.

    The tangent of a root that depends on no key is zero. With ``frozen=False`` a ``frozen(...)`` is constant.
    ``moves`` collects the tangents of all nodes in between.
    """
    active = depends(roots, set(directions), frozen=frozen)
    moved = dict(directions)
    for node in walk(roots):
        if node in active and node not in directions:
            moved[node] = node_tangent(node, graph, moved)
    if moves is not None:
        moves.update(moved)
    return [moved.get(root) or graph.zero(root.dims) for root in roots]


@singledispatch
def node_tangent(node: Node, graph: Graph, moved: Tangents) -> Node:
    """The tangent of one node by those of its children. A kind of node registers its rule."""
    raise NoRule("tangent", node)


@node_tangent.register
def _einsum(node: Einsum, graph: Graph, moved: Tangents) -> Node:
    labels = dict(enumerate(node.labels))
    terms = []
    for k, operand in enumerate(node.operands):
        if operand.node in moved:
            factors = [(moved[o.node] if j == k else o.node, o.axes) for j, o in enumerate(node.operands)]
            terms.append((ONE, graph.einsum(node.coefficient, factors, labels, node.out)))
    return graph.add(terms, node.dims)


@node_tangent.register
def _add(node: Add, graph: Graph, moved: Tangents) -> Node:
    return graph.add([(c, moved[n]) for c, n in node.terms if n in moved], node.dims)


@node_tangent.register
def _map(node: Map, graph: Graph, moved: Tangents) -> Node:
    if node.argument not in moved or body_reads(node.function, moved):
        raise NotImplementedError("the tangent of a potential along an input of its slope")
    return graph.product(derivative(graph, node.function, node.argument), moved[node.argument])


@node_tangent.register
def _softmax(node: Softmax, graph: Graph, moved: Tangents) -> Node:
    weighted = graph.product(node, moved[node.argument])
    return graph.minus(weighted, reduce_against(graph, node, weighted, node.axes))


@node_tangent.register
def _logsumexp(node: LogSumExp, graph: Graph, moved: Tangents) -> Node:
    weights = graph.softmax(node.argument, node.axes, node.guard)
    return graph.sum(graph.product(weights, moved[node.argument]), node.axes)


@node_tangent.register
def _max(node: Max, graph: Graph, moved: Tangents) -> Node:
    chosen = graph.argmax(node.argument, node.axes, node.guard)
    return graph.sum(graph.product(chosen, moved[node.argument]), node.axes)


@node_tangent.register
def _argmax(node: ArgMax, graph: Graph, moved: Tangents) -> Node:
    return graph.zero(node.dims)


@node_tangent.register
def _batch_statistic(node: BatchStatistic, graph: Graph, moved: Tangents) -> Node:
    return graph.zero(node.dims)


@node_tangent.register
def _stop(node: Stop, graph: Graph, moved: Tangents) -> Node:
    return moved[node.argument]


def reduce_against(graph: Graph, weights: Node, weighted: Node, axes: Sequence[int]) -> Node:
    """``weights * sum(weighted along the axes)``, the second half of a softmax's derivative."""
    n = len(weights.dims)
    total = graph.sum(weighted, axes)
    remaining = [k for k in range(n) if k not in axes]
    return graph.einsum(ONE, [(weights, range(n)), (total, remaining)], dict(enumerate(weights.dims)), range(n))
