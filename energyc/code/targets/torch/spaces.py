"""Declarations of the spaces that states and inputs are in, in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping

from energyc.code.module.runtime import runtime
from energyc.code.targets.arrays.sets import space
from energyc.code.tree.expressions import Dict, Expr, Name, String, call, literal
from energyc.code.tree.statements import Assign, Body
from energyc.language.network import DataInput, Noise, State
from energyc.mathematics.ir import Node

#: Sizes by their dims.
Sizes = Mapping[str, int]


def declared(name: str, spaces: Mapping[str, Expr]) -> Body:
    """``states = {"s": rt.Box((J,), 0, 1)}``; nothing where there are none."""
    items = tuple((String(key), space) for key, space in spaces.items())
    return (Assign(Name(name), Dict(items)),) if items else ()


def state_spaces(states: Mapping[str, State], sizes: Sizes) -> dict[str, Expr]:
    """The space of each state: a set, where it is kept in one."""
    return {
        name: space(shape_of(s.node, sizes), s.constraint, s.constraint.axes if s.constraint else (), runtime)
        for name, s in states.items()
    }


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
