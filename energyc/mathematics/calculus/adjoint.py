"""Reverse mode: the adjoints of nodes as nodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import singledispatch

from energyc.mathematics.calculus.dependence import DoesNotOccur, body_reads, depends
from energyc.mathematics.calculus.scalar import derivative
from energyc.mathematics.calculus.tangent import reduce_against
from energyc.mathematics.ir import (
    ONE,
    Add,
    ArgMax,
    BatchStatistic,
    Coefficient,
    Einsum,
    Graph,
    LogSumExp,
    Map,
    Max,
    Node,
    NoRule,
    Operand,
    Softmax,
    Stop,
    walk,
)
from energyc.mathematics.ir.indexing import axis, equal

Contribution = tuple[Node, Coefficient, Node]


def gradient(
    graph: Graph, scalar: Node, by: Sequence[Node], *, frozen: bool = False, strict: bool = True
) -> dict[Node, Node]:
    """``d scalar / d node`` for each node of ``by``; as in forces, a ``frozen(...)`` is constant by default.

    Raises DoesNotOccur for a node that the scalar does not depend on (with ``strict=False`` it is left out).
    """
    return adjoint(graph, {scalar: graph.constant(1)}, by, frozen=frozen, strict=strict)


def adjoint(
    graph: Graph,
    cotangents: Mapping[Node, Node],
    by: Sequence[Node],
    *,
    frozen: bool = True,
    strict: bool = True,
    bars: dict[Node, Node] | None = None,
) -> dict[Node, Node]:
    """``sum over roots of <cotangent, d root / d node>`` for each node of ``by``.

    ``cotangents`` gives each root its cotangent, of the same dims. Nothing passes beyond a node of ``by``: each is
    taken as independent. Raises DoesNotOccur for one that no root depends on, or only through a stop or another node
    of ``by`` (with ``strict=False`` it is left out).
    ``bars`` collects the adjoints of all nodes in between.
    """
    wanted = set(by)
    active = depends(cotangents, wanted, frozen=frozen)
    collected: dict[Node, list[tuple[Coefficient, Node]]] = {root: [(ONE, bar)] for root, bar in cotangents.items()}
    result: dict[Node, Node] = {}
    for node in reversed(list(walk(cotangents))):
        if node not in collected or node not in active:
            continue
        bar = graph.add(collected[node], node.dims)
        if bars is not None:
            bars[node] = bar
        if node in wanted:
            result[node] = bar
            continue
        for child, coefficient, share in node_adjoint(node, graph, bar, active):
            collected.setdefault(child, []).append((coefficient, share))
    for node in by:
        if strict and node not in result:
            raise DoesNotOccur(node)
    return {node: result[node] for node in by if node in result}


@singledispatch
def node_adjoint(node: Node, graph: Graph, bar: Node, active: set[Node]) -> Iterable[Contribution]:
    """Contributions of the adjoint ``bar`` of a node to those of its children in ``active``: (child, factor, share).

    A kind of node registers its rule.
    """
    raise NoRule("adjoint", node)


@node_adjoint.register
def _einsum(node: Einsum, graph: Graph, bar: Node, active: set[Node]) -> Iterable[Contribution]:
    for k, operand in enumerate(node.operands):
        if operand.node in active:
            others = [(o.node, o.axes) for j, o in enumerate(node.operands) if j != k]
            yield operand.node, ONE, _operand_adjoint(graph, node, operand, [*others, (bar, node.out)])


def _operand_adjoint(graph: Graph, node: Einsum, operand: Operand, factors: list[tuple[Node, Sequence[int]]]) -> Node:
    labels = dict(enumerate(node.labels))
    out: list[int] = []
    for a in operand.axes:
        if a in out:  # a diagonal: the entries off it get nothing
            fresh = len(labels)
            labels[fresh] = labels[a]
            factors.append((graph.indicator((labels[a], labels[a]), equal(axis(0), axis(1))), (a, fresh)))
            a = fresh
        out.append(a)
    return graph.einsum(node.coefficient, factors, labels, out)


@node_adjoint.register
def _add(node: Add, graph: Graph, bar: Node, active: set[Node]) -> Iterable[Contribution]:
    return ((n, c, bar) for c, n in node.terms if n in active)


@node_adjoint.register
def _map(node: Map, graph: Graph, bar: Node, active: set[Node]) -> Iterable[Contribution]:
    if node.argument not in active or body_reads(node.function, active):
        raise NotImplementedError("the derivative of a potential by an input of its slope")
    yield node.argument, ONE, graph.product(derivative(graph, node.function, node.argument), bar)


@node_adjoint.register
def _softmax(node: Softmax, graph: Graph, bar: Node, active: set[Node]) -> Iterable[Contribution]:
    weighted = graph.product(node, bar)
    yield node.argument, ONE, graph.minus(weighted, reduce_against(graph, node, weighted, node.axes))


def _weighted(graph: Graph, weights: Node, bar: Node, axes: Sequence[int]) -> Node:
    n = len(weights.dims)
    remaining = [k for k in range(n) if k not in axes]
    return graph.einsum(ONE, [(weights, range(n)), (bar, remaining)], dict(enumerate(weights.dims)), range(n))


@node_adjoint.register
def _logsumexp(node: LogSumExp, graph: Graph, bar: Node, active: set[Node]) -> Iterable[Contribution]:
    weights = graph.softmax(node.argument, node.axes, node.guard)
    yield node.argument, ONE, _weighted(graph, weights, bar, node.axes)


@node_adjoint.register
def _max(node: Max, graph: Graph, bar: Node, active: set[Node]) -> Iterable[Contribution]:
    chosen = graph.argmax(node.argument, node.axes, node.guard)
    yield node.argument, ONE, _weighted(graph, chosen, bar, node.axes)


@node_adjoint.register
def _argmax(node: ArgMax, graph: Graph, bar: Node, active: set[Node]) -> Iterable[Contribution]:
    yield node.argument, ONE, graph.zero(node.argument.dims)


@node_adjoint.register
def _batch_statistic(node: BatchStatistic, graph: Graph, bar: Node, active: set[Node]) -> Iterable[Contribution]:
    return ()


@node_adjoint.register
def _stop(node: Stop, graph: Graph, bar: Node, active: set[Node]) -> Iterable[Contribution]:
    yield node.argument, ONE, bar
