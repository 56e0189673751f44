"""The derivative of a force that jumps, in the sense of distributions: the slope of a jump is an impulse.

``step' = impulse``, for conditions on real values too, and ``sign' = 2 impulse``, with ``u impulse(u) = 0``. A bounded
force on a domain without holes is a gradient if this Jacobian is symmetric, impulses included: Schwarz's theorem for
distributions (Schwartz, Theorie des distributions, 1950, chapter II). The product of a jump and an impulse at the same
place is undefined, and no proof may contain one.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from energyc.mathematics.calculus.substitute import rebuilt
from energyc.mathematics.ir import Function, Graph, Map, Node, walk

IMPULSE = "impulse"
_FACTORS: Mapping[str, int] = MappingProxyType({"step": 1, "sign": 2})


def with_impulses(graph: Graph, root: Node) -> Node:
    """``root`` with each jumping function replaced by one whose slope is an impulse."""
    return _replaced(graph, root, _functions(graph))


def without_impulses(graph: Graph, root: Node) -> Node:
    """``root`` with the replacements of :func:`with_impulses` undone; the impulses themselves stay."""
    return _replaced(graph, root, {sloped: plain for plain, sloped in _functions(graph).items()})


def _functions(graph: Graph) -> dict[Function, Function]:
    argument = graph.input("u", "argument")
    impulse = graph.map(IMPULSE, argument)
    return {
        Function(name): Function(name, None, graph.scale(factor, impulse), graph.map(name, argument))
        for name, factor in _FACTORS.items()
    }


def _replaced(graph: Graph, root: Node, functions: Mapping[Function, Function]) -> Node:
    new: dict[Node, Node] = {}
    for node in walk([root]):
        if isinstance(node, Map) and node.function in functions:
            new[node] = graph.map(functions[node.function], new[node.argument])
        else:
            new[node] = rebuilt(graph, node, new)
    return new[root]
