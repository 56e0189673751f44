"""The difference of a node at two points, where that takes no more products than both values alone."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from energyc.mathematics.calculus.substitute import substitute
from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Graph, Node, walk

#: For each input what it is at the first point, and at the second.
Ends = Mapping[Node, tuple[Node, Node]]
#: A difference, and the same the other way round, in which a minus before a product ends.
Turns = tuple[Node, Node]


def difference(graph: Graph, root: Node, ends: Ends) -> Node | None:
    """``root`` at the first point minus ``root`` at the second, if it is linear or bilinear in the inputs.

    Of a product with one factor that moves, the difference of that factor is multiplied: ``x (p - m)``; a product of
    two, u and v, gives ``(u_p - u_m) v_p + u_m (v_p - v_m)``, and a square ``(u_p - u_m) (u_p + u_m)``, in which what
    does not move has cancelled. None for anything else, and for what depends on no input.
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
    elif len(nodes) == 2 and all(_is_sum_of_inputs(factor, ends, moving) for factor in nodes.values()):
        factors = {k: (found[x], _at_ends(graph, x, ends)) for k, x in nodes.items()}
        turns = [_bilinear(graph, node, coefficient, factors, t) for t in (0, 1)]
    else:
        return None
    return turns[turned], turns[not turned]


def _is_sum_of_inputs(node: Node, ends: Ends, moving: set[Node]) -> bool:
    """Whether a node is an input, spread or scaled, or a sum of such ones and of what does not move."""
    if isinstance(node, Add):
        return all(_is_sum_of_inputs(child, ends, moving) for child in node.children if child in moving)
    if isinstance(node, Einsum) and len(node.operands) == 1 and not node.contracted:
        return node.operands[0].node in ends
    return node in ends


def _at_ends(graph: Graph, node: Node, ends: Ends) -> tuple[Node, Node]:
    """A node at the first point, and at the second."""
    first, second = (substitute(graph, node, {x: pair[k] for x, pair in ends.items()}) for k in (0, 1))
    return first, second


def _bilinear(
    graph: Graph, node: Einsum, coefficient: Coefficient, factors: Mapping[int, tuple[Turns, Turns]], turned: int
) -> Node:
    """A product of two factors, each with its difference and its value at both points: one of them in turn differs."""
    if len({node.operands[k] for k in factors}) == 1:
        (k, (differences, ends)), (j, _) = factors.items()
        return _with(graph, node, coefficient, {k: differences[turned], j: _joined(graph, *ends)})
    terms = []
    for k, (differences, _) in factors.items():
        values = {j: both[turned if j > k else 1 - turned] for j, (_, both) in factors.items()}
        terms.append(_with(graph, node, coefficient, values | {k: differences[turned]}))
    return graph.plus(*terms)


def _joined(graph: Graph, first: Node, second: Node) -> Node:
    """The sum of the values of a node at both points: twice what does not move, as a sum of its own."""
    ends = [n.terms if isinstance(n, Add) else ((ONE, n),) for n in (first, second)]
    still = [term for term in ends[0] if term in ends[1]]
    terms = [term for own in ends for term in own if term not in still]
    twice = [(Coefficient(Fraction(2)), graph.add(still, first.dims))] if still else []
    return graph.add([*terms, *twice], first.dims)


def _with(graph: Graph, node: Einsum, coefficient: Coefficient, factors: Mapping[int, Node]) -> Node:
    """The product with other factors at some places."""
    operands = [(factors.get(k, operand.node), operand.axes) for k, operand in enumerate(node.operands)]
    return graph.einsum(coefficient, operands, dict(enumerate(node.labels)), node.out)
