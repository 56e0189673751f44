"""Graphs with some of their nodes replaced."""

from __future__ import annotations

from collections.abc import Mapping

from energyc.ir import Add, ArgMax, Einsum, Graph, LogSumExp, Map, Max, Node, Softmax, Stop, walk


def substitute(graph: Graph, root: Node, replacement: Mapping[Node, Node]) -> Node:
    """``root`` with nodes replaced by others of the same dims."""
    new: dict[Node, Node] = {}
    for node in walk([root]):
        new[node] = replacement.get(node) or _rebuilt(graph, node, new)
    return new[root]


def _rebuilt(graph: Graph, node: Node, new: Mapping[Node, Node]) -> Node:
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
        case Softmax():
            return graph.softmax(new[node.argument], node.axes, node.guard)
        case ArgMax():
            return graph.argmax(new[node.argument], node.axes, node.guard)
        case LogSumExp():
            return graph.logsumexp(new[node.argument], node.axes, node.guard)
        case Max():
            return graph.max(new[node.argument], node.axes, node.guard)
        case Stop():
            return graph.stop(new[node.argument], node.mode)
    raise TypeError(f"no rule to rebuild {node!r}")


def lift(graph: Graph, body: Node, argument: Node) -> Node:
    """A scalar body over its :class:`Input` of kind ``argument``, at each element of ``argument``."""
    new: dict[Node, Node] = {}
    for node in walk([body]):
        new[node] = _lifted(graph, node, argument, new)
    return new[body] if new[body].dims == argument.dims else graph.spread(new[body], argument.dims, ())


def _lifted(graph: Graph, node: Node, argument: Node, new: Mapping[Node, Node]) -> Node:
    if getattr(node, "kind", None) == "argument":
        return argument
    match node:
        case Einsum() if node.operands and not node.labels:
            return graph.product(*[new[o.node] for o in node.operands], coefficient=node.coefficient)
        case Add():
            dims = max((new[n].dims for _, n in node.terms), key=len)
            return graph.add([(c, n if n.dims == dims else graph.spread(n, dims, ())) for c, n in ((c, new[n]) for c, n in node.terms)], dims)
        case Map():
            return graph.map(node.function, new[node.argument])
    return node
