"""Forward mode: the directional derivative of nodes as nodes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from energyc.calculus.dependence import body_reads, depends
from energyc.calculus.scalar import derivative
from energyc.ir import ONE, Add, ArgMax, Einsum, Graph, LogSumExp, Map, Max, Node, Softmax, Stop, walk

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

    A root that depends on no key has the tangent zero: the caller asked for the change of what it named, and
    there is none. With ``frozen=False`` a ``frozen(...)`` is constant. ``moves`` receives the tangent of every node
    on the way, for whoever wants to name them.
    """
    active = depends(roots, set(directions), frozen=frozen)
    moved = dict(directions)
    for node in walk(roots):
        if node in active and node not in directions:
            moved[node] = _rule(node)(graph, node, moved)
    if moves is not None:
        moves.update(moved)
    return [moved.get(root) or graph.zero(root.dims) for root in roots]


def _einsum(graph: Graph, node: Einsum, moved: Tangents) -> Node:
    labels = dict(enumerate(node.labels))
    terms = []
    for k, operand in enumerate(node.operands):
        if operand.node in moved:
            factors = [(moved[o.node] if j == k else o.node, o.axes) for j, o in enumerate(node.operands)]
            terms.append((ONE, graph.einsum(node.coefficient, factors, labels, node.out)))
    return graph.add(terms, node.dims)


def _add(graph: Graph, node: Add, moved: Tangents) -> Node:
    return graph.add([(c, moved[n]) for c, n in node.terms if n in moved], node.dims)


def _map(graph: Graph, node: Map, moved: Tangents) -> Node:
    if node.argument not in moved or body_reads(node.function, moved):
        raise NotImplementedError("a potential whose slope holds what moves")
    return graph.product(derivative(graph, node.function, node.argument), moved[node.argument])


def _softmax(graph: Graph, node: Softmax, moved: Tangents) -> Node:
    weighted = graph.product(node, moved[node.argument])
    return graph.minus(weighted, reduce_against(graph, node, weighted, node.axes))


def _logsumexp(graph: Graph, node: LogSumExp, moved: Tangents) -> Node:
    weights = graph.softmax(node.argument, node.axes, node.guard)
    return graph.sum(graph.product(weights, moved[node.argument]), node.axes)


def _max(graph: Graph, node: Max, moved: Tangents) -> Node:
    chosen = graph.argmax(node.argument, node.axes, node.guard)
    return graph.sum(graph.product(chosen, moved[node.argument]), node.axes)


def _argmax(graph: Graph, node: ArgMax, moved: Tangents) -> Node:
    return graph.zero(node.dims)


def _stop(graph: Graph, node: Stop, moved: Tangents) -> Node:
    return moved[node.argument]


def reduce_against(graph: Graph, weights: Node, weighted: Node, axes: Sequence[int]) -> Node:
    """``weights * sum(weighted along the axes)``, the second half of a softmax's derivative."""
    n = len(weights.dims)
    total = graph.sum(weighted, axes)
    kept = [k for k in range(n) if k not in axes]
    return graph.einsum(ONE, [(weights, range(n)), (total, kept)], dict(enumerate(weights.dims)), range(n))


_RULES: tuple[tuple[type[Node], Callable[..., Node]], ...] = (
    (Einsum, _einsum),
    (Add, _add),
    (Map, _map),
    (Softmax, _softmax),
    (LogSumExp, _logsumexp),
    (Max, _max),
    (ArgMax, _argmax),
    (Stop, _stop),
)


def _rule(node: Node) -> Callable[..., Node]:
    for kind, rule in _RULES:
        if isinstance(node, kind):
            return rule
    raise TypeError(f"no tangent rule for {node!r}")


__all__ = ["reduce_against", "tangent"]
