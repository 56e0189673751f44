"""The input of the analysis, independent of the language: a force field on stacked states."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Protocol

from energyc.language.network import Structure
from energyc.mathematics.calculus import Bounds, Signs, substitute, tangent
from energyc.mathematics.ir import Graph, Input, Map, Node, Stop, walk


class Formulas(Protocol):
    """How the dims of a spec depend on one another.

    A call maps the sizes of the ``free`` dims to those of all dims, or to None; ``behind`` maps each derived dim to the
    free dims on which it depends.
    """

    free: tuple[str, ...]
    behind: Mapping[str, frozenset[str]]

    def __call__(self, dims: Mapping[str, int]) -> Mapping[str, int] | None: ...


@dataclass(frozen=True)
class ForceField:
    """A force for each state; a state missing from ``force`` has a zero force.

    ``sizes`` are the dims of the spec and ``values`` its consts; ``fractions`` are the values that are known exactly.
    ``ranges`` bound inputs that cannot take every real value. ``structure`` are the sets of params that
    are more than a box. ``formulas`` determine which sizes the spec can have; None allows any. ``positive`` are
    nodes that are positive wherever the field is asked about, which is a domain without holes.
    """

    graph: Graph
    states: tuple[Input, ...]
    force: Mapping[Input, Node]
    sizes: Mapping[str, int]
    values: Mapping[str, float]
    ranges: Mapping[Input, Bounds] = field(default_factory=dict)
    structure: Mapping[Input, tuple[Structure, ...]] = field(default_factory=dict)
    fractions: Mapping[str, Fraction] = field(default_factory=dict)
    formulas: Formulas | None = None
    positive: frozenset[Node] = frozenset()

    @property
    def roots(self) -> list[Node]:
        """The forces, one for each state, zero if the state has none."""
        return [self.force.get(state) or self.graph.zero(state.dims) for state in self.states]

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The states, then every other input that the forces read."""
        return tuple(dict.fromkeys([*self.states, *inputs_of(self.roots)]))

    @property
    def signs(self) -> Signs:
        """The known signs of nodes: those of its inputs and its positive nodes, and what follows."""
        return Signs(self.values, self.ranges, self.positive)

    def with_force(self, force: Mapping[Input, Node]) -> ForceField:
        """The same field with other forces."""
        return replace(self, force=force)


def inputs_of(roots: Iterable[Node]) -> list[Input]:
    """The inputs that nodes read, those in the bodies of functions last."""
    nodes = list(walk(roots))
    read = (node for node in nodes if isinstance(node, Input) and node.kind != "argument")
    return list(dict.fromkeys([*read, *(n for node in nodes for n in _body_inputs(node))]))


def _body_inputs(node: Node) -> Iterable[Input]:
    if isinstance(node, Map):
        for body in (node.function.slope, node.function.primitive):
            if body is not None:
                yield from (n for n in walk([body]) if isinstance(n, Input) and n.kind != "argument")


def field_of(base: ForceField, parts: Iterable[tuple[Input, Node]]) -> ForceField:
    """``base`` with the sums of the given forces on each state."""
    collected: dict[Input, list[Node]] = {}
    for state, node in parts:
        collected.setdefault(state, []).append(node)
    return base.with_force({state: base.graph.plus(*nodes) for state, nodes in collected.items()})


def fork(graph: Graph) -> Graph:
    """A copy of a graph that shares its existing nodes; new nodes leave the original unchanged."""
    return graph.fork()


def transparent(graph: Graph, root: Node) -> Node:
    """``root`` without ``frozen`` and ``detach``: the force as a function of the states."""
    while stop := next((node for node in walk([root]) if isinstance(node, Stop)), None):
        root = substitute(graph, root, {stop: stop.argument})
    return root


@dataclass(frozen=True)
class Linearised:
    """A field and its Jacobian-vector product: ``moved[k]`` is the block of J w for the k-th state."""

    field: ForceField
    directions: tuple[Input, ...]
    moved: tuple[Node, ...]


def direction_of(graph: Graph, node: Input) -> Input:
    """The direction along which an input moves."""
    return graph.input(f"w.{node.name}", "direction", node.dims)


def linearise(field: ForceField) -> Linearised:
    """J w by forward mode, differentiating through ``frozen`` and ``detach``."""
    graph = field.graph
    directions = tuple(direction_of(graph, state) for state in field.states)
    roots = [transparent(graph, root) for root in field.roots]
    moved = tangent(graph, roots, dict(zip(field.states, directions, strict=True)))
    return Linearised(field, directions, tuple(moved))
