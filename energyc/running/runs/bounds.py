"""The bounds of the states of a network, by which a run tells which of their units are saturated."""

from __future__ import annotations

from collections.abc import Iterator

from energyc.language.network import ConstraintSet, Network
from energyc.mathematics.calculus import adjoint
from energyc.mathematics.ir import Input, Node, walk
from energyc.running.training.saturation import Bounds


def state_bounds(network: Network) -> dict[str, Bounds]:
    """Return the bounds of the states that have such, those of a layer by ``LAYER.STATE``."""
    return {
        name: Bounds(low, high, _is_compared(network, read))
        for name, bounded, read in _constrained(network)
        for low, high in _ends(bounded)
    }


def _constrained(network: Network) -> Iterator[tuple[str, ConstraintSet, Node | None]]:
    """Yield each state with a set, and the node by which the network around it reads its units as they are."""
    for name, state in network.states.items():
        if state.constraint is not None:
            yield name, state.constraint, state.node
    for layer in network.layers.values():
        read = {quantity.node: layer.outputs.get(name) for name, quantity in layer.network.readouts.items()}
        for name, state in layer.network.states.items():
            if state.constraint is not None:
                yield f"{layer.name}.{name}", state.constraint, read.get(state.node)


def _ends(bounded: ConstraintSet) -> Iterator[tuple[float | None, float | None]]:
    """Yield the bounds of a set; nothing for a set without bounds."""
    if bounded.kind == "box":
        yield bounded.low, bounded.high
    elif bounded.kind in ("nonnegative", "simplex"):
        yield 0.0, None


def _is_compared(network: Network, units: Node | None) -> bool:
    """Whether the cost compares units with a target: its slope by them reads no param that would mix them."""
    if units is None or network.cost is None:
        return False
    slopes = adjoint(network.graph, {network.cost.node: network.graph.constant(1)}, [units], strict=False)
    read = walk(list(slopes.values()))
    return bool(slopes) and not any(isinstance(node, Input) and node.kind == "param" for node in read)
