"""Where a symmetric Jacobian is not yet a gradient: jumps, and domains that may have holes.

``(sign(z2), 0)`` has a Jacobian of zeros off its kinks, ``(-y, x) / (x^2 + y^2)`` a symmetric one: neither is a
gradient. A force that is continuous and piecewise smooth on a domain whose pieces are convex is one exactly where its
Jacobian is symmetric almost everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from energyc.analysis.problem import Bounds
from energyc.calculus import depends
from energyc.ir import Add, ArgMax, Coefficient, Einsum, Indicator, Input, Map, Node, Softmax, Stop, walk
from energyc.ir.functions import FUNCTIONS

JUMPS = frozenset({"step", "sign"})


def jumps(roots: Iterable[Node], states: Collection[Node]) -> list[str]:
    """What is discontinuous in the states below ``roots``."""
    roots = list(roots)
    moving = depends(roots, set(states))
    found = []
    for node in walk(roots):
        if node in moving and isinstance(node, ArgMax):
            found.append("the place of a largest entry jumps")
        if node in moving and isinstance(node, Map) and _jumping(node):
            found.append(f"{node.function.name} jumps")
    return list(dict.fromkeys(found))


def _jumping(node: Map) -> bool:
    bodies = [body for body in (node.function.primitive,) if body is not None]
    inner = (n for n in walk(bodies) if isinstance(n, Map))
    return node.function.name in JUMPS or any(n.function.name in JUMPS for n in inner)


def holes(roots: Iterable[Node], states: Collection[Node], signs: Signs) -> list[str]:
    """What may keep the states off a set that convex pieces do not cover."""
    roots = list(roots)
    moving = depends(roots, set(states))
    found = []
    for node in walk(roots):
        if (
            isinstance(node, Map)
            and node in moving
            and _restricted(node)
            and not _harmless(node.argument, moving, signs)
        ):
            found.append(f"{_name(node)} of something that is not known to be positive")
    return list(dict.fromkeys(found))


def _restricted(node: Map) -> bool:
    function = node.function
    if function.slope is not None:
        bodies = [b for b in (function.slope, function.primitive) if b is not None]
        return any(isinstance(n, Map) and _restricted(n) for n in walk(bodies))
    if function.name == "power":
        exponent = function.parameter or Fraction(0)
        return exponent < 0 or exponent.denominator != 1
    return function.name in ("log", "sqrt")


def _name(node: Map) -> str:
    return f"the power {node.function.parameter}" if node.function.name == "power" else node.function.name


def _harmless(node: Node, moving: Collection[Node], signs: Signs) -> bool:
    """Positive everywhere, or affine in the states: hyperplanes cut space into convex pieces."""
    return signs.of(node) > 0 or _affine(node, moving)


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


@dataclass
class Signs:
    """What is known of the sign of nodes: 2 positive, 1 not negative, 0 nothing.

    ``of`` gives 1 where a node is positive, else 0.
    """

    values: Mapping[str, float]
    ranges: Mapping[Input, Bounds] = field(default_factory=dict)
    _known: dict[Node, int] = field(default_factory=dict)

    def of(self, root: Node) -> int:
        """1 where a node is positive in every element, else 0."""
        for node in walk([root]):
            if node not in self._known:
                self._known[node] = self._level(node)
        return int(self._known[root] == 2)

    def _level(self, node: Node) -> int:
        match node:
            case Input():
                low = self.ranges.get(node, (None, None))[0]
                return 0 if low is None else 2 if low > 0 else 1 if low == 0 else 0
            case Indicator() | ArgMax():
                return 1
            case Softmax():
                return 1
            case Stop():
                return self._known[node.argument]
            case Einsum():
                return self._product(node) if self._positive(node.coefficient) else 0
            case Add():
                levels = [self._known[n] if self._positive(c) else 0 for c, n in node.terms]
                return 0 if min(levels) == 0 else max(levels)
            case Map():
                return self._map(node)
        return 0

    def _positive(self, coefficient: Coefficient) -> bool:
        if coefficient.value <= 0:
            return False
        return all(p.denominator != 1 or p % 2 == 0 or self.values.get(name, 1.0) > 0 for name, p in coefficient.powers)

    def _product(self, node: Einsum) -> int:
        """Squares are not negative; a product of positive numbers is positive, and so is their sum over some dims."""
        left = list(node.operands)
        level = 2
        while left:
            operand = left.pop()
            known = self._known[operand.node]
            if known == 0 and operand in left:
                left.remove(operand)
                known = 1
            level = min(level, known)
        return level

    def _map(self, node: Map) -> int:
        function = node.function
        if function.slope is not None:
            return 0
        if function.name == "power":
            exponent = function.parameter or Fraction(0)
            if self._known[node.argument] == 2:
                return 2
            return 1 if exponent.denominator != 1 or exponent % 2 == 0 else self._known[node.argument]
        if function.name in ("exp", "sigmoid", "softplus"):
            return 2
        if function.name in ("sqrt", "abs", "relu") and self._known[node.argument] == 2:
            return 2
        return 1 if FUNCTIONS[function.name].low >= 0 else 0
