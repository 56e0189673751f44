"""The question that this package answers, free of the language: a force field on stacked states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Protocol

from energyc.calculus import substitute, tangent
from energyc.ir import Graph, Input, Map, Node, Stop, walk

Bounds = tuple[float | None, float | None]


class Formulas(Protocol):
    """How the dims of a spec follow one another.

    Called with sizes of the ``free`` ones, it gives those of all, or None; ``behind`` are the free ones that each
    derived dim follows.
    """

    free: tuple[str, ...]
    behind: Mapping[str, frozenset[str]]

    def __call__(self, dims: Mapping[str, int]) -> Mapping[str, int] | None: ...


@dataclass(frozen=True)
class ForceField:
    """A force for each state; a state that ``force`` leaves out feels none.

    ``sizes`` and ``values`` are those of the spec (dims; and consts, as coefficients hold them), ``fractions`` the
    exact ones among the values. ``ranges`` bound inputs that cannot take any real value. ``symmetric`` names params
    that are invariant under a permutation of their axes. ``formulas`` say which sizes the spec can have; None: any.
    """

    graph: Graph
    states: tuple[Input, ...]
    force: Mapping[Input, Node]
    sizes: Mapping[str, int]
    values: Mapping[str, float]
    ranges: Mapping[Input, Bounds] = field(default_factory=dict)
    symmetric: Mapping[Input, tuple[int, ...]] = field(default_factory=dict)
    fractions: Mapping[str, Fraction] = field(default_factory=dict)
    formulas: Formulas | None = None

    @property
    def roots(self) -> list[Node]:
        """The forces, one for each state, zeros where there is none."""
        return [self.force.get(state) or self.graph.zero(state.dims) for state in self.states]

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Every input the forces read, the states first."""
        found = (node for node in walk(self.roots) if isinstance(node, Input) and node.kind != "argument")
        bodies = (n for node in walk(self.roots) for n in _body_inputs(node))
        return tuple(dict.fromkeys([*self.states, *found, *bodies]))

    def with_force(self, force: Mapping[Input, Node]) -> ForceField:
        """The same with other forces."""
        return replace(self, force=force)


def _body_inputs(node: Node) -> Iterable[Input]:
    if isinstance(node, Map):
        for body in (node.function.slope, node.function.primitive):
            if body is not None:
                yield from (n for n in walk([body]) if isinstance(n, Input) and n.kind != "argument")


def field_of(base: ForceField, parts: Iterable[tuple[Input, Node]]) -> ForceField:
    """``base`` with the sum of single forces, each on one state."""
    collected: dict[Input, list[Node]] = {}
    for state, node in parts:
        collected.setdefault(state, []).append(node)
    return base.with_force({state: base.graph.plus(*nodes) for state, nodes in collected.items()})


def fork(graph: Graph) -> Graph:
    """A graph to try things in: it shares all nodes made so far and leaves the first as it is."""
    return Graph(dict(graph._nodes))


def transparent(graph: Graph, root: Node) -> Node:
    """``root`` without its ``frozen`` and ``detach``: what the force really is as a function of the states."""
    while stop := next((node for node in walk([root]) if isinstance(node, Stop)), None):
        root = substitute(graph, root, {stop: stop.argument})
    return root


@dataclass(frozen=True)
class Linearised:
    """A field with its change along a direction: ``moved[k]`` is the k-th state's share of J w."""

    field: ForceField
    directions: tuple[Input, ...]
    moved: tuple[Node, ...]


def linearise(field: ForceField) -> Linearised:
    """J w by forward mode; nothing is taken as constant, whatever the spec froze."""
    graph = field.graph
    directions = tuple(graph.input(f"w.{state.name}", "direction", state.dims) for state in field.states)
    roots = [transparent(graph, root) for root in field.roots]
    moved = tangent(graph, roots, dict(zip(field.states, directions, strict=True)))
    return Linearised(field, directions, tuple(moved))
