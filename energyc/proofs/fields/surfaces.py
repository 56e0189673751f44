"""Forces on states constrained to a simplex, a sphere or standardized values: what is normal to a set does no work.

The analysis on the set is that of the pull-back to free coordinates: with ``s = phi(v)``, F is a gradient along the set
if ``(dphi/dv)^T F(phi(v))`` is a gradient. ``phi`` is a softmax for a simplex, ``v / |v|`` for a sphere, and the
standardization of v for standardized values, which are a sphere in the plane of mean 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod
from typing import Literal

from energyc.mathematics.calculus import adjoint, depends, substitute
from energyc.mathematics.ir import ONE, Coefficient, Graph, Input, Node
from energyc.proofs.fields.problem import ForceField, fork, transparent

SurfaceKind = Literal["simplex", "sphere", "standardized"]


@dataclass(frozen=True)
class Surface:
    """A simplex (nonnegative, sum 1), a sphere (norm 1) or standardized values (mean 0, variance 1) along axes."""

    kind: SurfaceKind
    axes: tuple[int, ...]

    def chart(self, graph: Graph, state: Input) -> Node:
        """The state as a function of free coordinates, represented by the same input."""
        if self.kind == "simplex":
            return graph.softmax(state, self.axes)
        axes, inverse = tuple(range(len(state.dims))), graph.power(self.square(graph, state), Fraction(-1, 2))
        factors = [(self._centred(graph, state), axes), (inverse, self._remaining(state))]
        return graph.einsum(ONE, factors, dict(enumerate(state.dims)), axes)

    def square(self, graph: Graph, state: Input) -> Node:
        """The radicand in the chart of a sphere or of standardized values, zero where there is no chart."""
        centred = self._centred(graph, state)
        total = self._total(graph, centred, centred)
        return total if self.kind == "sphere" else graph.scale(self._one_over_count(state), total)

    def is_simply_connected(self, state: Input, sizes: Mapping[str, int]) -> bool:
        """Whether every loop on the set can be drawn together: on any but a circle."""
        flat = {"simplex": 0, "sphere": 1, "standardized": 2}[self.kind]
        return flat == 0 or prod(sizes[state.dims[k]] for k in self.axes) - flat != 1

    def _centred(self, graph: Graph, state: Input) -> Node:
        """The state, for standardized values less its mean."""
        if self.kind != "standardized":
            return state
        mean = graph.scale(self._one_over_count(state), self._total(graph, state))
        return graph.minus(state, graph.spread(mean, state.dims, self._remaining(state)))

    def _remaining(self, node: Node) -> list[int]:
        return [k for k in range(len(node.dims)) if k not in self.axes]

    def _one_over_count(self, node: Node) -> Coefficient:
        factor = ONE
        for k in self.axes:
            factor = factor * Coefficient.symbol(node.dims[k], -1)
        return factor

    def _total(self, graph: Graph, *factors: Node) -> Node:
        """The sum of a product along the axes."""
        dims = factors[0].dims
        axes = tuple(range(len(dims)))
        return graph.einsum(ONE, [(f, axes) for f in factors], dict(enumerate(dims)), self._remaining(factors[0]))


Surfaces = Mapping[Input, Surface]


def along_the_set(field: ForceField, surfaces: Surfaces) -> ForceField:
    """The pull-back to free coordinates, over a graph of its own; states on no surface are unchanged."""
    graph = fork(field.graph)
    charts: dict[Node, Node] = {state: surface.chart(graph, state) for state, surface in surfaces.items()}
    pulled = {}
    for state, root in field.force.items():
        force = substitute(graph, transparent(graph, root), charts)
        pulled[state] = _pulled_back(graph, state, charts[state], force) if state in charts else force
    free = {node: bounds for node, bounds in field.ranges.items() if node not in surfaces}
    round_ones = {state: surface for state, surface in surfaces.items() if surface.kind != "simplex"}
    positive = frozenset(
        surface.square(graph, state)
        for state, surface in round_ones.items()
        if surface.is_simply_connected(state, field.sizes)
    )
    return replace(field, graph=graph, force=pulled, ranges=free, positive=positive)


def _pulled_back(graph: Graph, state: Input, chart: Node, force: Node) -> Node:
    """``(dphi/dv)^T F``."""
    pulled_back = adjoint(graph, {chart: force}, [state], frozen=True, strict=False)
    return pulled_back.get(state) or graph.zero(state.dims)


def moves_on_a_surface(field: ForceField, surfaces: Surfaces) -> bool:
    """Whether a force reads or moves a state on a surface."""
    states = set(surfaces)
    return any(state in states for state in field.force) or bool(depends(field.roots, states) & states)
