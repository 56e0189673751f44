"""Declarations of the sets of states, and of the kinks that move them by proximal steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from energyc.code.module.context import Context
from energyc.code.tree.expressions import Constant, Dict, Expr, Number, String, Tuple, call, integers, literal, number
from energyc.derivation.derive import Proximal
from energyc.language.network import ConstraintSet, State
from energyc.mathematics.ir import Node

#: The class of each set of vectors along axes.
_ALONG: Mapping[str, str] = MappingProxyType(
    {"standardized": "ej.Standardized", "sphere": "ej.Sphere", "simplex": "ej.Simplex"}
)


def sets(context: Context) -> Dict:
    """The set of each state by its field: ``{"s": ej.Box((J,), 0, 1)}``."""
    states = context.network.states.items()
    return Dict(tuple((String(context.local[name]), _set(context, state)) for name, state in states))


def bounded(context: Context) -> bool:
    """Whether every state is kept in a bounded set, so that none can explode."""
    return all(_is_bounded(state.constraint) for state in context.network.states.values())


def _is_bounded(constraint: ConstraintSet | None) -> bool:
    if constraint is None or constraint.kind == "nonnegative":
        return False
    return constraint.kind != "box" or None not in (constraint.low, constraint.high)


def _set(context: Context, state: State) -> Expr:
    shape, constraint = literal(tuple(context.sizes[dim] for dim in state.node.dims)), state.constraint
    if constraint is None:
        return call("ej.Real", shape)
    match constraint.kind:
        case "box":
            ends = {"low": constraint.low, "high": constraint.high}
            return call("ej.Box", shape, **{name: number(end) for name, end in ends.items() if end is not None})
        case "nonnegative":
            return call("ej.Box", shape, low=Number(0))
        case kind:
            return call(_ALONG[kind], shape, axes=_from_the_last(constraint.axes, state))


def kinks(context: Context) -> Dict:
    """``ej.Kinks`` by the fields of states; weights are told by their places among those of the network."""
    numbers = {node: k for k, node in enumerate(context.derivation.weights.values())}
    states = context.network.states
    found = context.derivation.proximal.items()
    return Dict(tuple((String(context.local[name]), _kinks(own, numbers, states[name])) for name, own in found))


def _kinks(own: Proximal, numbers: Mapping[Node, int], state: State) -> Expr:
    given: dict[str, Expr] = {}
    if own.corners:
        corners = (
            call("ej.Corner", number(corner.at), _weight(corner.below, numbers), _weight(corner.above, numbers))
            for corner in own.corners
        )
        given["corners"] = Tuple(tuple(corners))
    if own.norm is not None:
        given["norm"] = call("ej.Norm", _weight(own.norm.weight, numbers), _from_the_last(own.norm.axes, state))
    return call("ej.Kinks", **given)


def _from_the_last(axes: Sequence[int], state: State) -> Tuple:
    """Axes of a state counted from its last, which are the same behind a batch."""
    return integers(*(axis - len(state.node.dims) for axis in axes))


def _weight(weight: Node | None, numbers: Mapping[Node, int]) -> Expr:
    return Constant(None) if weight is None else Number(numbers[weight])
