"""The forces of a network's terms as fields, with what is known of params and states."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, get_args

from energyc.language.network import Network, Term
from energyc.language.resolve.resize import Resizing
from energyc.mathematics.calculus import Bounds, depends, gradient, is_cut
from energyc.mathematics.ir import Input, Node, walk
from energyc.proofs.fields.problem import ForceField, fork
from energyc.proofs.fields.structured import is_direction
from energyc.proofs.fields.surfaces import Surface, SurfaceKind


def field_from(network: Network) -> ForceField:
    """The network's states and sizes without any force, over a fork of its graph."""
    states = tuple(state.node for state in network.states.values())
    return ForceField(
        fork(network.graph),
        states,
        {},
        network.extents,
        network.values,
        ranges=ranges_of(network),
        structure={param.node: param.structure for param in network.params.values() if param.structure},
        fractions=network.fractions,
        formulas=Resizing(network),
    )


def surfaces_of(network: Network) -> dict[Input, Surface]:
    """The simplexes, spheres and standardized values to which states are constrained."""
    surfaces = {}
    for state in network.states.values():
        if state.constraint is not None and state.constraint.kind in get_args(SurfaceKind):
            surfaces[state.node] = Surface(cast(SurfaceKind, state.constraint.kind), state.constraint.axes)
    return surfaces


def ranges_of(network: Network) -> dict[Input, Bounds]:
    """The bounds of params and states that have any; for a simplex or directions, the bounds of each entry."""
    ranges: dict[Input, Bounds] = {
        p.node: (p.low, p.high) for p in network.params.values() if p.low is not None or p.high is not None
    }
    directed = (param.node for param in network.params.values() if is_direction(param.structure))
    ranges |= dict.fromkeys(directed, (-1.0, 1.0))
    bounded = ((p.node, part.bound) for p in network.params.values() for part in p.structure if part.kind == "norm")
    ranges |= {node: (-bound, bound) for node, bound in bounded}
    for state in network.states.values():
        match state.constraint and state.constraint.kind:
            case "box":
                assert state.constraint is not None
                ranges[state.node] = (state.constraint.low, state.constraint.high)
            case "nonnegative":
                ranges[state.node] = (0.0, None)
            case "simplex":
                ranges[state.node] = (0.0, 1.0)
    return ranges


def force_of(network: Network, term: Term, base: ForceField) -> dict[Input, Node]:
    """The force of a term on each state that it moves; of an energy, minus its gradient with frozen parts constant."""
    if term.kind != "energy":
        return {network.states[str(term.state)].node: term.node}
    moved = [state.node for state in network.descending.values()] if term.name in network.acting else []
    return descent_along(base, term, moved)


def descent_along(base: ForceField, term: Term, by: Sequence[Input]) -> dict[Input, Node]:
    """Minus the gradient of a term by some states, with frozen parts constant."""
    slopes = gradient(base.graph, term.node, by, frozen=False, strict=False)
    return {state: base.graph.scale(-1, slope) for state, slope in slopes.items() if isinstance(state, Input)}


def stops_a_state(root: Node, base: ForceField, mode: str | None = None) -> bool:
    """Whether a node contains a frozen or detached part, or a statistic of the batch, that depends on a state."""
    cuts = [n.argument for n in walk([root]) if is_cut(n, mode)]
    moving = depends(cuts, set(base.states))
    return any(argument in moving for argument in cuts)
