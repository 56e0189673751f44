"""Declarations of the spaces that states and inputs are in, in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from energyc.code.module.runtime import runtime
from energyc.code.tree.expressions import Call, Dict, Expr, Name, Number, String, call, integers, literal, number
from energyc.code.tree.statements import Assign, Body
from energyc.language.network import ConstraintSet, DataInput, Noise, State
from energyc.mathematics.ir import Node

#: The class of each set of vectors along axes.
_ALONG: Mapping[str, str] = MappingProxyType({"standardized": "Standardized", "sphere": "Sphere", "simplex": "Simplex"})
#: Sizes by their dims.
Sizes = Mapping[str, int]


def declared(name: str, spaces: Mapping[str, Expr]) -> Body:
    """``states = {"s": rt.Box((J,), 0, 1)}``; nothing where there are none."""
    items = tuple((String(key), space) for key, space in spaces.items())
    return (Assign(Name(name), Dict(items)),) if items else ()


def state_spaces(states: Mapping[str, State], sizes: Sizes) -> dict[str, Expr]:
    """The space of each state: a set, where it is kept in one."""
    return {name: _of_state(shape_of(s.node, sizes), s.constraint) for name, s in states.items()}


def input_spaces(inputs: Mapping[str, DataInput] | Mapping[str, Noise], sizes: Sizes) -> dict[str, Expr]:
    """The space of each clamp, noise or target."""
    return {name: _of_input(item.node, item.node.over, sizes) for name, item in inputs.items()}


def real(shape: tuple[int, ...]) -> Expr:
    """``rt.Real(shape)``."""
    return call(runtime("Real"), literal(shape))


def shape_of(node: Node, sizes: Sizes) -> tuple[int, ...]:
    """The shape of a node without the batch."""
    return tuple(sizes[dim] for dim in node.dims)


def _of_input(node: Node, over: str | None, sizes: Sizes) -> Expr:
    shape = shape_of(node, sizes)
    return call(runtime("Index"), literal(shape), literal(sizes[over])) if over else real(shape)


def _of_state(shape: tuple[int, ...], constraint: ConstraintSet | None) -> Expr:
    match constraint:
        case None:
            return real(shape)
        case ConstraintSet(kind="nonnegative"):
            return call(runtime("Box"), literal(shape), Number(0))
        case ConstraintSet(kind="box", low=None, high=high) if high is not None:
            return call(runtime("Box"), literal(shape), high=number(high))
        case ConstraintSet(kind="box"):
            ends = (constraint.low, constraint.high)
            return call(runtime("Box"), literal(shape), *(number(end) for end in ends if end is not None))
    return Call(runtime(_ALONG[constraint.kind]), (literal(shape),), (("axes", integers(*constraint.axes)),))
