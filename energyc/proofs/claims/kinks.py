"""Kinks of an energy at which its least value may lie, and at which a force is at rest all the same."""

from __future__ import annotations

from collections.abc import Collection

from energyc.mathematics.calculus import depends, gradient, substitute
from energyc.mathematics.ir import ArgMax, Graph, Input, Map, Max, Node, walk
from energyc.proofs.enclosures.nodes import Enclosures


def bend_down(graph: Graph, energy: Node, states: Collection[Input], enclosures: Enclosures) -> bool:
    """Whether an energy is smooth but for largest entries in it by which it falls, such as ``-s max[k](a[k])``, s >= 0.

    Where it is least, it rises along all directions at each of the pieces that meet there: the force of any of them,
    which is what is computed, is at rest.
    """
    moving = depends([energy], set(states))
    kinks = [node for node in walk([energy]) if node in moving and _is_largest(node)]
    smooth = all(_is_smooth(node, enclosures) for node in walk([energy]) if node in moving and node not in kinks)
    nested = any(inner in kinks for kink in kinks for inner in walk(kink.children))
    return smooth and not nested and all(_falls_by(graph, energy, kink, enclosures) for kink in kinks)


def _is_largest(node: Node) -> bool:
    """Whether a node is the largest of smooth functions: a maximum, or a map with a convex kink."""
    if isinstance(node, Map) and node.function.slope is None:
        sides = node.function.entry.homogeneous
        return sides is not None and sides.degree == 1 and sides.right > sides.left
    return isinstance(node, Max)


def _is_smooth(node: Node, enclosures: Enclosures) -> bool:
    """Whether a node is a continuously differentiable function of its children, where it is finite."""
    if isinstance(node, ArgMax | Max):
        return False
    if not isinstance(node, Map):
        return True
    if node.function.slope is None:
        entry = node.function.entry
        inside = entry.domain is None or enclosures.range(node.argument).positive  # a root has no slope at 0
        return entry.continuous and not entry.kinks and inside
    inner = [n.function for n in walk(node.function.bodies) if isinstance(n, Map)]
    return all(f.slope is None and f.entry.continuous and f.entry.domain is None for f in inner)


def _falls_by(graph: Graph, energy: Node, kink: Node, enclosures: Enclosures) -> bool:
    """Whether the slope of the energy by a node in it is nowhere positive."""
    stand_in = graph.input("kink", "argument", kink.dims)
    slopes = gradient(graph, substitute(graph, energy, {kink: stand_in}), [stand_in], frozen=False, strict=False)
    slope = slopes.get(stand_in)
    return slope is None or enclosures.range(substitute(graph, slope, {stand_in: kink})).nonpositive
