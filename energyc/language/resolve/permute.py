"""Transposed nodes without an intermediate node, so that a let and its uses share one node."""

from __future__ import annotations

from collections.abc import Sequence

from energyc.mathematics.ir import Add, ArgMax, Einsum, Graph, Guard, Map, Node, Softmax


def permuted(graph: Graph, node: Node, order: Sequence[int]) -> Node:
    """The node whose k-th axis is axis ``order[k]`` of ``node``."""
    if list(order) == list(range(len(node.dims))):
        return node
    match node:
        case Einsum():
            factors = [(operand.node, operand.axes) for operand in node.operands]
            return graph.einsum(node.coefficient, factors, dict(enumerate(node.labels)), [node.out[k] for k in order])
        case Add():
            terms = [(coefficient, permuted(graph, child, order)) for coefficient, child in node.terms]
            return graph.add(terms, [node.dims[k] for k in order])
        case Map():
            return graph.map(node.function, permuted(graph, node.argument, order))
        case Softmax() | ArgMax():
            make = graph.softmax if isinstance(node, Softmax) else graph.argmax
            axes = [order.index(axis) for axis in node.axes]
            return make(permuted(graph, node.argument, order), axes, _moved(node.guard, order))
    place = {axis: k for k, axis in enumerate(order)}
    return graph.spread(node, [node.dims[k] for k in order], [place[k] for k in range(len(order))])


def _moved(guard: Guard | None, order: Sequence[int]) -> Guard | None:
    return None if guard is None else Guard(guard.indicator, tuple(order.index(axis) for axis in guard.axes))
