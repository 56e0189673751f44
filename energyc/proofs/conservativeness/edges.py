"""Functions whose slope is infinite where a state reaches the edge of its set: ``log(s)`` for ``s in [0, 1]``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from energyc.language.network import Network
from energyc.mathematics.calculus import Bounds, depends
from energyc.mathematics.functions import ScalarFunction
from energyc.mathematics.ir import Input, Map, Node, walk
from energyc.mathematics.ir.interpreter import evaluate
from energyc.proofs.conservativeness.forces import ranges_of
from energyc.proofs.fields.sampling import Array, batched, draw_value, in_floats
from energyc.proofs.fields.sizes import WORK, small_sizes, work
from energyc.proofs.fields.structured import holds, on_sets

#: A slope is taken as infinite if the difference quotient at 0 over this distance exceeds STEEP: u^0.99 has 1000.
NEAR_ZERO, STEEP = 1e-300, 100.0


@dataclass(frozen=True)
class SteepEdge:
    """``owner`` (``energy term e``, ``force f``, ``the cost``) has a ``function`` of 0 at ``state`` = ``edge``."""

    owner: str
    function: str
    state: str
    edge: float

    def __str__(self) -> str:
        place = f"{self.state} = {self.edge:g}, the edge of its set"
        return (
            f"{self.owner} takes {self.function} of 0 at {place}, where the slope of {self.function} is infinite; "
            "a small constant added to its argument, or a set that ends short of the edge, keeps it finite"
        )


def steep_edges(network: Network) -> list[SteepEdge]:
    """The steep edges of the terms and the cost, found by moving one state at a time to an edge of its set."""
    called = {"energy": "energy term", "force": "force", "flow": "the flow of", "next": "the next value of"}
    roots = {f"{called[term.word]} {name}": term.node for name, term in network.terms.items()}
    if network.cost is not None:
        roots["the cost"] = network.cost.node
    return list(dict.fromkeys(edge for owner, root in roots.items() for edge in _steep_edges_of(network, owner, root)))


def _steep_edges_of(network: Network, owner: str, root: Node) -> Iterator[SteepEdge]:
    ranges = ranges_of(network)
    moving = depends([root], {state.node for state in network.states.values()})
    for node in walk([root]):
        if node in moving and isinstance(node, Map) and not node.function.bodies and _is_steep(node.function.entry):
            for state, edge in zeros_on_edges(network, node.argument, ranges):
                yield SteepEdge(owner, _name(node.function.entry), state, edge)


def _is_steep(function: ScalarFunction) -> bool:
    if function.domain is None:
        return False
    with np.errstate(all="ignore"):
        at, near = function.value(np.array([0.0, NEAR_ZERO]))
        return not abs(near - at) / NEAR_ZERO < STEEP


def _name(function: ScalarFunction) -> str:
    return function.name if function.exponent is None else f"the power {function.exponent}"


def zeros_on_edges(network: Network, argument: Node, ranges: Mapping[Input, Bounds]) -> Iterator[tuple[str, float]]:
    """Each state and edge of its set at which an argument that is positive inside the sets is 0."""
    generator, sizes = np.random.default_rng(0), _affordable(argument, network)
    inputs = [node for node in walk([argument]) if isinstance(node, Input)]
    structures = {param.node: param.structure for param in network.params.values()}
    inside = {
        node: in_floats(on_sets(draw_value(node, ranges.get(node, (0.0, 1.0)), sizes, generator), parts, generator))
        for node, parts in ((node, structures.get(node, ())) for node in inputs)
        if holds({node: parts}, sizes)
    }
    if len(inside) < len(inputs):
        return
    if not bool((_value_at(network, argument, inside, sizes) > 0).all()):
        return
    for state in inputs:
        for edge in ranges.get(state, ()) if state.kind == "state" else ():
            if edge is not None:
                moved = inside | {state: np.full_like(inside[state], edge)}
                if bool((_value_at(network, argument, moved, sizes) == 0).any()):
                    yield state.name, edge


def _affordable(argument: Node, network: Network) -> Mapping[str, int]:
    """The sizes of the network, smaller ones where a value at these would take long."""
    sizes = network.extents
    return sizes if work([argument], sizes) <= WORK else small_sizes([argument], sizes)


def _value_at(network: Network, argument: Node, point: Mapping[Input, Array], sizes: Mapping[str, int]) -> Array:
    (value,) = evaluate([argument], batched(point), sizes=sizes, values=network.values)
    return value
