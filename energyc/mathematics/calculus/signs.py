"""The signs of nodes that are known at all sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from energyc.mathematics.ir import Add, Coefficient, Einsum, Input, Map, Node, Stop, walk

#: The least and the largest value of an input; None where there is none.
Bounds = tuple[float | None, float | None]


@dataclass
class Signs:
    """The known sign of nodes in every element: 2 positive, 1 nowhere negative, 0 unknown, -1 and -2 the opposite."""

    values: Mapping[str, float]
    ranges: Mapping[Input, Bounds] = field(default_factory=dict)
    known_positive: frozenset[Node] = frozenset()
    _known: dict[Node, int] = field(default_factory=dict)

    def positive(self, root: Node) -> bool:
        """Whether a node is positive in every element."""
        for node in walk([root]):
            if node not in self._known:
                self._known[node] = self._level(node)
        return self._known[root] == 2

    def nonnegative(self, root: Node) -> bool:
        """Whether a node is nowhere negative."""
        self.positive(root)
        return self._known[root] >= 1

    def side(self, root: Node) -> int:
        """1 or -1 where a node is nowhere on the other side of 0, else 0."""
        self.positive(root)
        return (self._known[root] > 0) - (self._known[root] < 0)

    def _level(self, node: Node) -> int:
        if node in self.known_positive:
            return 2
        match node:
            case Input():
                return self._input(node)
            case Stop():
                return self._known[node.argument]
            case Einsum():
                return self._number(node.coefficient) * self._product(node)
            case Add():
                levels = [self._number(c) * self._known[n] for c, n in node.terms]
                return max(levels) if min(levels) > 0 else min(levels) if max(levels) < 0 else 0
            case Map():
                return self._map(node)
        return int(node.facts.nonnegative)

    def _input(self, node: Input) -> int:
        low, high = self.ranges.get(node, (None, None))
        if low is not None and low >= 0:
            return 2 if low > 0 else 1
        return 0 if high is None or high > 0 else -2 if high < 0 else -1

    def positive_number(self, coefficient: Coefficient) -> bool:
        """Whether a coefficient is above 0 at the values of its symbols."""
        return self._number(coefficient) > 0

    def _number(self, coefficient: Coefficient) -> int:
        """The sign of a coefficient; 0 where it is 0 or not known."""
        sign = (coefficient.value > 0) - (coefficient.value < 0)
        for name, power in coefficient.powers:
            base = self.values.get(name, 1.0)
            if power.denominator == 1 and power % 2 == 0:
                continue
            sign *= (base > 0) - (base < 0 and power.denominator == 1)
        return sign

    def _product(self, node: Einsum) -> int:
        """Squares are nowhere negative; a product of positive numbers is positive, and so is its sum over any dims."""
        remaining, level, sign = list(node.operands), 2, 1
        while remaining:
            operand = remaining.pop()
            known = self._known[operand.node]
            if known == 0 and operand in remaining:
                remaining.remove(operand)
                known = 1
            level, sign = min(level, abs(known)), -sign if known < 0 else sign
        return sign * level

    def _map(self, node: Map) -> int:
        if node.function.slope is not None:
            return 0
        entry = node.function.entry
        if entry.positive == "everywhere":
            return 2
        least = int(entry.low >= 0)
        return max(least, self._known[node.argument]) if entry.positive == "right" else least
