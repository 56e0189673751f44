"""The obstacles between a symmetric Jacobian and a gradient: jumps and poles.

``(sign(z2), 0)`` has a Jacobian of zeros off its kinks, ``(-y, x) / (x^2 + y^2)`` a symmetric one: neither is a
gradient. A force that is continuous and piecewise smooth on a convex domain is a gradient if and only if its Jacobian
is symmetric almost everywhere. A hyperplane on which the force is infinite cuts the domain into convex pieces; where
the force is finite, pieces may meet around a hole, as for the same vortex written with the ratio ``x / y``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from energyc.mathematics.calculus import Signs, depends
from energyc.mathematics.ir import Add, ArgMax, Einsum, Function, Input, Map, Node, Stop, walk
from energyc.proofs.fields.problem import ForceField
from energyc.proofs.fields.singular import is_singular


def jumps(
    roots: Iterable[Node], states: Collection[Node], besides_steps: bool = False, harmless: Collection[Node] = ()
) -> list[str]:
    """The discontinuities of ``roots`` in the states; ``besides_steps`` omits functions of the table.

    At the ``harmless`` nodes what they are part of is continuous.
    """
    roots = list(roots)
    moving = depends(roots, set(states))
    texts = []
    for node in walk(roots):
        if node in moving and not node.facts.continuous:
            texts.append(_jump_text(node))
        skipped = node in harmless or (besides_steps and isinstance(node, Map) and node.function.slope is None)
        if node in moving and isinstance(node, Map) and _has_jump(node.function) and not skipped:
            texts.append(f"{node.function.name} jumps")
    return list(dict.fromkeys(texts))


def _jump_text(node: Node) -> str:
    return "the place of a largest entry jumps" if isinstance(node, ArgMax) else f"{type(node).__name__} jumps"


def _has_jump(function: Function) -> bool:
    if function.slope is None:
        return not function.entry.continuous
    bodies = [function.primitive] if function.primitive is not None else []
    return any(_has_jump(node.function) for node in walk(bodies) if isinstance(node, Map))


@dataclass(frozen=True)
class Pole:
    """A power, root or logarithm that may be undefined somewhere; ``plane``: only on a hyperplane."""

    name: str
    argument: Node
    plane: bool

    def __str__(self) -> str:
        return f"{self.name} of something that is not known to be positive"


def poles(roots: Iterable[Node], states: Collection[Node], signs: Signs) -> list[Pole]:
    """The functions that may leave the domain with holes, or with pieces that meet where the force is finite."""
    roots = list(roots)
    moving = depends(roots, set(states))
    maps = (n for n in walk(roots) if isinstance(n, Map) and n in moving and _may_be_undefined(n))
    harmful = [n for n in maps if not _harmless(n, moving, signs)]
    arguments = [_without_abs(n.argument) for n in harmful]
    found = (Pole(_name(n.function), u, _affine(u, moving)) for n, u in zip(harmful, arguments, strict=True))
    return list(dict.fromkeys(found))


def _without_abs(argument: Node) -> Node:
    """A node that vanishes where the argument does, and changes its sign there: ``u`` for ``abs(u)``."""
    return argument.argument if isinstance(argument, Map) and argument.function.named("abs") else argument


def _may_be_undefined(node: Map) -> bool:
    inner = [n for body in node.function.bodies for n in walk([body])]
    return is_singular(node) or any(isinstance(n, Map) and _may_be_undefined(n) for n in inner)


def _name(function: Function) -> str:
    return function.name if function.exponent is None else f"the power {function.exponent}"


def _harmless(node: Map, moving: Collection[Node], signs: Signs) -> bool:
    """Whether the argument is positive everywhere, or affine and restricted to a half space, which is convex."""
    if signs.positive(node.argument):
        return True
    exponent = node.function.exponent
    one_sided = node.function.slope is None and (exponent is None or exponent.denominator != 1)
    return one_sided and _affine(node.argument, moving)


def _affine(root: Node, moving: Collection[Node]) -> bool:
    for node in walk([root]):
        if node not in moving:
            continue
        match node:
            case Einsum():
                if sum(o.node in moving for o in node.operands) > 1:
                    return False
            case Add() | Input() | Stop():
                pass
            case _:
                return False
    return True


def is_elementwise(field: ForceField) -> bool:
    """Whether each element of a force depends only on the same element of its state, so that it can be integrated."""
    return all(_own_element(field, state, root) for state, root in zip(field.states, field.roots, strict=True))


def _own_element(field: ForceField, state: Input, root: Node) -> bool:
    moving = depends([root], set(field.states))
    return all(_keeps_elements(node, state, moving) for node in walk([root]) if node in moving)


def _keeps_elements(node: Node, state: Input, moving: Collection[Node]) -> bool:
    match node:
        case Input():
            return node is state
        case Einsum():
            return node.dims == state.dims and all(o.axes == node.out for o in node.operands if o.node in moving)
        case Map():
            return node.function.slope is None
        case Add() | Stop():
            return True
    return False
