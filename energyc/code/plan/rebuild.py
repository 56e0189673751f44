"""Nodes with other children, those that only plans have included."""

from __future__ import annotations

from collections.abc import Mapping

from energyc.mathematics.calculus.substitute import rebuilt
from energyc.mathematics.ir import Graph, Node
from energyc.mathematics.sparse import Segment


def planned_anew(graph: Graph, node: Node, new: Mapping[Node, Node]) -> Node:
    """A node with its children replaced by theirs of ``new``. Raises NoRule for a kind that is not known."""
    if not isinstance(node, Segment):
        return rebuilt(graph, node, new)
    fields = (new[node.argument], node.count, node.place, node.over, node.guard)
    return graph.share(Segment, node.dims, node.batched, node.kind, *fields)
