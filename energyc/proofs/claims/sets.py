"""The sets of the states as claims need them: what is of finite extent, what is convex; the enclosures on them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from energyc.language.network import ConstraintSet, Network, State, Structure
from energyc.mathematics.calculus import Bounds, substitute
from energyc.mathematics.ir import Input, Node
from energyc.proofs.conservativeness.forces import surfaces_of
from energyc.proofs.conservativeness.selections import steady_masks
from energyc.proofs.enclosures.nodes import Enclosures
from energyc.proofs.fields.problem import ForceField, fork
from energyc.proofs.fields.structured import Structures

#: Sets of finite extent, and convex sets, on which a projection brings no two points further apart.
COMPACT = ("standardized", "sphere", "simplex")
CONVEX = ("box", "simplex", "nonnegative")
NONE: Mapping[Input, Bounds] = MappingProxyType({})


def is_compact(constraint: ConstraintSet | None) -> bool:
    """Whether a set has a finite extent."""
    if constraint is None:
        return False
    bounded = constraint.low is not None and constraint.high is not None
    return constraint.kind in COMPACT or (constraint.kind == "box" and bounded)


def is_convex(constraint: ConstraintSet | None) -> bool:
    """Whether a set is convex; no set is."""
    return constraint is None or constraint.kind in CONVEX


def roaming(network: Network) -> list[Input]:
    """The states that no set keeps in a finite extent."""
    return [state.node for state in network.states.values() if not is_compact(state.constraint)]


def enclosures_of(
    network: Network,
    base: ForceField,
    narrower: Mapping[Input, Bounds] = NONE,
    harmless: Collection[Node] = (),
    extents: Mapping[str, int] = MappingProxyType({}),
) -> Enclosures:
    """The enclosures of a network's nodes as its states move on their sets, some within ``narrower`` bounds.

    ``extents`` are sizes of dims that differ from those of the spec.
    """
    known = {**base.ranges, **dict(_surface_ranges(network)), **narrower}
    return Enclosures(base.graph, {**network.values, **extents}, known, base.states, roaming(network), harmless)


def of_forces(network: Network, base: ForceField) -> Enclosures:
    """Those of the nodes of its whole force, which is continuous where the sides of selections meet as they must."""
    return enclosures_of(network, base, harmless=steady_masks(network, base))


def with_spheres(network: Network, structures: Structures) -> dict[Input, tuple[Structure, ...]]:
    """The sets of params, and the spheres that states are on."""
    surfaces = surfaces_of(network).items()
    spheres = {node: (Structure("sphere", (), surface.axes),) for node, surface in surfaces if surface.kind == "sphere"}
    return {**{node: tuple(parts) for node, parts in structures.items()}, **spheres}


def simplexes(network: Network) -> dict[Node, tuple[int, ...]]:
    """The states on simplexes, with the axes along which they sum to 1."""
    return {node: surface.axes for node, surface in surfaces_of(network).items() if surface.kind == "simplex"}


def on_charts(network: Network, matrix: ForceField) -> ForceField:
    """A field by free coordinates of its states on simplexes or standardized, so that draws are on the sets."""
    graph, read = fork(matrix.graph), set(matrix.inputs)
    charts: dict[Node, Node] = {
        state: surface.chart(graph, state)
        for state, surface in surfaces_of(network).items()
        if surface.kind != "sphere" and state in read
    }
    if not charts:
        return matrix
    force = {vector: substitute(graph, root, charts) for vector, root in matrix.force.items()}
    ranges = {node: bounds for node, bounds in matrix.ranges.items() if node not in charts}
    return replace(matrix, graph=graph, force=force, ranges=ranges)


def size_along(network: Network, state: State) -> int:
    """The number of entries that the set of a state holds together."""
    assert state.constraint is not None
    return math.prod(network.extents[state.node.dims[axis]] for axis in state.constraint.axes)


def _surface_ranges(network: Network) -> Iterator[tuple[Input, Bounds]]:
    """The ranges of entries of unit vectors, and of n standardized values, of which none is beyond sqrt(n - 1)."""
    for state in network.states.values():
        kind = state.constraint and state.constraint.kind
        if kind in ("sphere", "standardized"):
            reach = 1.0 if kind == "sphere" else math.sqrt(size_along(network, state) - 1)
            yield state.node, (-reach, reach)
