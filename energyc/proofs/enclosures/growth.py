"""How fast quantities grow with the states: the power p of a bound ``C (1 + |z|^p)``."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field

from energyc.derivation.notation.recognise import normalisers
from energyc.mathematics.calculus import derivative
from energyc.mathematics.ir import Add, Einsum, Graph, Input, LogSumExp, Map, Max, Node, Reduction, Stop, walk
from energyc.proofs.enclosures.enclosure import Enclosures


@dataclass
class Growth:
    """Degrees of growth in the ``states`` that are not bounded; all other inputs are held.

    ``infinity`` means that no power is known.
    """

    graph: Graph
    states: Collection[Node]
    enclosures: Enclosures
    _known: dict[Node, float] = field(default_factory=dict)

    def of(self, root: Node) -> float:
        """The degree of a node; 0 if it is bounded."""
        for node in walk([root]):
            if node not in self._known:
                low, high = self.enclosures.of(node) if not isinstance(node, Input) else (-math.inf, math.inf)
                bounded = math.isfinite(low) and math.isfinite(high)
                self._known[node] = 0.0 if bounded else self._degree(node)
        return self._known[root]

    def _degree(self, node: Node) -> float:
        match node:
            case Input():
                return 1.0 if node in self.states else 0.0
            case Stop():
                return self._known[node.argument]
            case Add():
                return max(self._known[n] for _, n in node.terms)
            case Einsum():
                return self._product(node)
            case Map():
                return self._map(node)
            case LogSumExp() | Max():
                return self._known[node.argument]
            case Reduction():
                return 0.0
        return 0.0

    def _product(self, node: Einsum) -> float:
        """The factors' degrees add up; what is normalised is bounded."""
        bounded = {id(operand) for normaliser in normalisers(node) for operand in normaliser.operands}
        return sum(self._known[operand.node] for operand in node.operands if id(operand) not in bounded)

    def _map(self, node: Map) -> float:
        degree = self._known[node.argument]
        if degree == 0:
            return 0.0
        exponent = node.function.exponent
        if exponent is not None:
            return float(exponent) * degree if exponent > 0 else math.inf
        slope = derivative(self.graph, node.function, node.argument)
        if node in set(walk([slope])):  # exp
            return math.inf
        return degree + self.of(slope)  # by the mean value theorem
