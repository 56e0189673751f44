"""Graphs with some of their nodes replaced."""

from __future__ import annotations

from collections.abc import Mapping

from energyc.mathematics.ir import (
    Add,
    BatchStatistic,
    Einsum,
    Graph,
    Guard,
    Indicator,
    Input,
    Map,
    Node,
    NoRule,
    Reduction,
    Stop,
    walk,
)


def substitute(graph: Graph, root: Node, replacement: Mapping[Node, Node]) -> Node:
    """``root`` with nodes replaced by others of the same dims."""
    new: dict[Node, Node] = {}
    for node in walk([root]):
        new[node] = replacement.get(node) or rebuilt(graph, node, new)
    return new[root]


def rebuilt(graph: Graph, node: Node, new: Mapping[Node, Node]) -> Node:
    """One node with its children replaced by theirs of ``new``; bodies of potentials stay as they are."""
    if all(new[child] is child for child in node.children):
        return node
    match node:
        case Einsum():
            factors = [(new[o.node], o.axes) for o in node.operands]
            return graph.einsum(node.coefficient, factors, dict(enumerate(node.labels)), node.out)
        case Add():
            return graph.add([(c, new[n]) for c, n in node.terms], node.dims)
        case Map():
            return graph.map(node.function, new[node.argument])
        case Reduction():
            return graph.reduction(type(node), new[node.argument], node.axes, _guard(node, new))
        case Stop():
            return graph.stop(new[node.argument], node.mode)
        case BatchStatistic():
            return graph.batch_statistic(new[node.argument], node.kind)
    raise NoRule("substitution", node)


def _guard(node: Reduction, new: Mapping[Node, Node]) -> Guard | None:
    if node.guard is None:
        return None
    indicator = new[node.guard.indicator]
    if not isinstance(indicator, Indicator):
        raise TypeError(f"{indicator!r} is not a guard")
    return Guard(indicator, node.guard.axes)


def lift(graph: Graph, body: Node, argument: Node) -> Node:
    """A scalar body over its :class:`Input` of kind ``argument``, at each element of ``argument``.

    What does not hold the argument stays as it is. Raises TypeError for a body that is not a function of one scalar.
    """
    new: dict[Node, Node] = {}
    for node in walk([body]):
        new[node] = _lifted(graph, node, argument, new)
    return new[body] if new[body].dims == argument.dims else graph.spread(new[body], argument.dims, ())


def _lifted(graph: Graph, node: Node, argument: Node, new: Mapping[Node, Node]) -> Node:
    if isinstance(node, Input) and node.kind == "argument":
        return argument
    if all(new[child] is child for child in node.children):
        return node
    match node:
        case Einsum() if node.operands and not node.labels:
            return graph.product(*[new[o.node] for o in node.operands], coefficient=node.coefficient)
        case Add():
            dims = max((new[n].dims for _, n in node.terms), key=len)
            terms = ((c, new[n]) for c, n in node.terms)
            return graph.add([(c, n if n.dims == dims else graph.spread(n, dims, ())) for c, n in terms], dims)
        case Map():
            return graph.map(node.function, new[node.argument])
        case Stop():
            return graph.stop(new[node.argument], node.mode)
    raise TypeError(f"{node!r} is not a function of one scalar")
