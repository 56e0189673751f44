"""Forces on states constrained to a simplex or a sphere, where the normal component does no work.

The analysis on the set is that of the pull-back to free coordinates: with ``s = phi(v)``, F is a gradient along the set
if ``(dphi/dv)^T F(phi(v))`` is a gradient. ``phi`` is a softmax for a simplex, ``v / |v|`` for a sphere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from energyc.analysis.problem import ForceField, fork, transparent
from energyc.calculus import adjoint, depends, substitute
from energyc.ir import ONE, Add, Coefficient, Einsum, Graph, Input, Node, Operand


@dataclass(frozen=True)
class Surface:
    """A simplex (nonnegative with sum 1) or a sphere (norm 1) along axes of a state."""

    kind: Literal["simplex", "sphere"]
    axes: tuple[int, ...]

    def chart(self, graph: Graph, state: Input) -> Node:
        """The state as a function of free coordinates, represented by the same input."""
        if self.kind == "simplex":
            return graph.softmax(state, self.axes)
        dims = dict(enumerate(state.dims))
        remaining = [k for k in dims if k not in self.axes]
        square = graph.einsum(ONE, [(state, tuple(dims)), (state, tuple(dims))], dims, remaining)
        inverse = graph.power(square, Fraction(-1, 2))
        return graph.einsum(ONE, [(state, tuple(dims)), (inverse, remaining)], dims, tuple(dims))

    def is_normal(self, term: Node, state: Input) -> bool:
        """Whether a term is normal to the set: constant along a simplex, parallel to the state on a sphere."""
        if not isinstance(term, Einsum):
            return False
        varying = [o for o in term.operands if self._varies_along_axes(o, term)]
        if self.kind == "simplex":
            return not varying
        return varying == [Operand(state, term.out)]

    def _varies_along_axes(self, operand: Operand, term: Einsum) -> bool:
        return any(term.out[k] in operand.axes for k in self.axes)


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
    return replace(field, graph=graph, force=pulled, ranges=free)


def _pulled_back(graph: Graph, state: Input, chart: Node, force: Node) -> Node:
    """``(dphi/dv)^T F``."""
    pulled_back = adjoint(graph, {chart: force}, [state], frozen=True, strict=False)
    return pulled_back.get(state) or graph.zero(state.dims)


def without_normal_parts(field: ForceField, surfaces: Surfaces) -> ForceField:
    """The field without the terms of its forces that are normal to the set."""
    force = {}
    for state, root in field.force.items():
        surface = surfaces.get(state)
        terms = [(c, n) for c, n in _terms(root) if surface is None or not surface.is_normal(n, state)]
        force[state] = field.graph.add(terms, state.dims)
    return field.with_force(force)


def _terms(root: Node) -> Iterator[tuple[Coefficient, Node]]:
    yield from root.terms if isinstance(root, Add) else [(ONE, root)]


def moves_on_a_surface(field: ForceField, surfaces: Surfaces) -> bool:
    """Whether a force reads or moves a state on a surface."""
    states = set(surfaces)
    return any(state in states for state in field.force) or bool(depends(field.roots, states) & states)
