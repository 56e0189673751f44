"""Replaces functions with a corner by what they are on the one side of it that the ranges of the inputs allow."""

from __future__ import annotations

from dataclasses import replace

from energyc.mathematics.calculus.substitute import rebuilt
from energyc.mathematics.ir import Add, Einsum, Graph, Map, Node, walk
from energyc.proofs.enclosures.nodes import Enclosures
from energyc.proofs.fields.problem import ForceField, fork


def on_one_side(field: ForceField) -> ForceField:
    """The field with ``relu(z - 2)`` replaced by 0 for z in [-1, 1], and so on; the same field if nothing is replaced.

    Bounds that depend on a size are not used, so that the field stays the same at all sizes.
    """
    maps = [node for node in walk(field.roots) if isinstance(node, Map) and node.function.slope is None]
    if not field.ranges or not any(node.function.entry.kinks for node in maps):
        return field
    graph = fork(field.graph)
    bounds = Enclosures(graph, field.values, field.ranges)
    new: dict[Node, Node] = {}
    for node in walk(field.roots):
        sided = _sided(graph, node, bounds, new) if isinstance(node, Map) and _sizeless(field, node) else None
        new[node] = sided or rebuilt(graph, node, new)
    if all(old is made for old, made in new.items()):
        return field
    force = {state: new[root] for state, root in zip(field.states, field.roots, strict=True) if state in field.force}
    return replace(field, graph=graph, force=force)


def _sizeless(field: ForceField, node: Map) -> bool:
    """Whether no coefficient in the argument is a size."""
    return all(name in field.values for inner in walk([node.argument]) for name in _symbols(inner))


def _symbols(node: Node) -> list[str]:
    match node:
        case Einsum():
            return [name for name, _ in node.coefficient.powers]
        case Add():
            return [name for coefficient, _ in node.terms for name, _ in coefficient.powers]
    return []


def _sided(graph: Graph, node: Map, bounds: Enclosures, new: dict[Node, Node]) -> Node | None:
    """The function on its side of 0, None where its argument may be 0: what is 0 at an edge keeps all its corners."""
    if node.function.slope is not None:
        return None
    argument = bounds.range(node.argument)
    if argument.holds(0.0):
        return None
    u, one = new[node.argument], graph.constant(1, node.dims)
    sides = {
        "relu": (graph.zero(node.dims), u),
        "step": (graph.zero(node.dims), one),
        "abs": (graph.scale(-1, u), u),
        "sign": (graph.scale(-1, one), one),
    }
    return sides[node.function.name][argument.low > 0] if node.function.name in sides else None
