"""The difference of a node at two points, where that takes no more products than both values alone."""

from __future__ import annotations

from collections.abc import Mapping

from energyc.mathematics.ir import Add, Coefficient, Einsum, Graph, Node, walk

#: For each input what it is at the first point, and at the second.
Ends = Mapping[Node, tuple[Node, Node]]
#: A difference, and the same the other way round, in which a minus before a product ends.
Turns = tuple[Node, Node]


def difference(graph: Graph, root: Node, ends: Ends) -> Node | None:
    """``root`` at the first point minus ``root`` at the second, if it is linear or bilinear in the inputs.

    Of a product with one factor that moves, the difference of that factor is multiplied: ``x (p - m)``; a product
    of two inputs x y gives ``(p_x - m_x) p_y + m_x (p_y - m_y)``, in which nothing cancels. None for anything else, and
    for what depends on no input.
    """
    moving: set[Node] = set()
    found: dict[Node, Turns] = {}
    for node in walk([root]):
        own = None
        if node in ends:
            first, second = ends[node]
            own = graph.minus(first, second), graph.minus(second, first)
        elif not any(child in moving for child in node.children):
            continue
        elif isinstance(node, Add):
            own = _of_sum(graph, node, found, moving)
        elif isinstance(node, Einsum):
            own = _of_product(graph, node, ends, found, moving)
        moving.add(node)
        if own is not None:
            found[node] = own
    return found[root][0] if root in found else None


def _of_sum(graph: Graph, node: Add, found: Mapping[Node, Turns], moving: set[Node]) -> Turns | None:
    terms = [(c, child) for c, child in node.terms if child in moving]
    if not all(child in found for _, child in terms):
        return None
    first, second = (graph.add([(c, found[child][k]) for c, child in terms], node.dims) for k in (0, 1))
    return first, second


def _of_product(graph: Graph, node: Einsum, ends: Ends, found: Mapping[Node, Turns], moving: set[Node]) -> Turns | None:
    nodes = {k: operand.node for k, operand in enumerate(node.operands) if operand.node in moving}
    turned = node.coefficient.value < 0
    coefficient = -node.coefficient if turned else node.coefficient
    if len(nodes) == 1 and all(factor in found for factor in nodes.values()):
        turns = [_with(graph, node, coefficient, {k: found[x][t] for k, x in nodes.items()}) for t in (0, 1)]
    elif len(nodes) == 2 and all(factor in ends for factor in nodes.values()):
        turns = [_bilinear(graph, node, coefficient, {k: ends[x] for k, x in nodes.items()}, t) for t in (0, 1)]
    else:
        return None
    return turns[turned], turns[not turned]


def _bilinear(
    graph: Graph, node: Einsum, coefficient: Coefficient, ends: Mapping[int, tuple[Node, Node]], turned: int
) -> Node:
    """A product of two inputs, one of them its difference in turn."""
    first, second = ({k: pair[t] for k, pair in ends.items()} for t in (turned, 1 - turned))
    terms = []
    for k in ends:
        factors = {j: first[j] if j > k else second[j] for j in ends}
        terms.append(_with(graph, node, coefficient, factors | {k: graph.minus(first[k], second[k])}))
    return graph.plus(*terms)


def _with(graph: Graph, node: Einsum, coefficient: Coefficient, factors: Mapping[int, Node]) -> Node:
    """The product with other factors at some places."""
    operands = [(factors.get(k, operand.node), operand.axes) for k, operand in enumerate(node.operands)]
    return graph.einsum(coefficient, operands, dict(enumerate(node.labels)), node.out)
