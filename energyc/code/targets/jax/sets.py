"""Declarations of the sets of states, and of the kinks that move them by proximal steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from energyc.code.module.context import Context
from energyc.code.targets.arrays.sets import space
from energyc.code.tree.expressions import Constant, Dict, Expr, Number, String, Tuple, call, integers, number
from energyc.code.tree.expressions import name as dotted
from energyc.derivation.derive import Proximal
from energyc.language.network import ConstraintSet, State
from energyc.mathematics.ir import Node


def exported(name: str) -> Expr:
    """How a module calls what :mod:`energyc.jax` exports."""
    return dotted(f"ej.{name}")


def sets(context: Context) -> Dict:
    """The set of each state by its field: ``{"s": ej.Box((J,), 0, 1)}``."""
    made = list[tuple[Expr, Expr]]()
    for name, state in context.network.states.items():
        shape = tuple(context.sizes[dim] for dim in state.node.dims)
        axes = _from_the_last(state.constraint.axes, state) if state.constraint else ()
        made.append((String(context.local[name]), space(shape, state.constraint, axes, exported)))
    return Dict(tuple(made))


def bounded(context: Context) -> bool:
    """Whether every state is kept in a bounded set, so that none can explode."""
    return all(_is_bounded(state.constraint) for state in context.network.states.values())


def _is_bounded(constraint: ConstraintSet | None) -> bool:
    if constraint is None or constraint.kind == "nonnegative":
        return False
    return constraint.kind != "box" or None not in (constraint.low, constraint.high)


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
        given["norm"] = call(
            "ej.Norm", _weight(own.norm.weight, numbers), integers(*_from_the_last(own.norm.axes, state))
        )
    return call("ej.Kinks", **given)


def _from_the_last(axes: Sequence[int], state: State) -> tuple[int, ...]:
    """Axes of a state counted from its last, which are the same behind a batch."""
    return tuple(axis - len(state.node.dims) for axis in axes)


def _weight(weight: Node | None, numbers: Mapping[Node, int]) -> Expr:
    return Constant(None) if weight is None else Number(numbers[weight])
