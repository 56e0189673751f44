"""Graphs written shortly: einsum patterns by letters, the parts that networks are made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from energyc.mathematics.calculus import gradient
from energyc.mathematics.ir import ONE, Coefficient, Graph, IndexExpr, Indicator, Input, Node
from energyc.mathematics.ir.indexing import axis, integer
from energyc.mathematics.ir.nodes import Guard
from energyc.proofs.fields.problem import ForceField

A0, A1, A2, A3 = (axis(k) for k in range(4))


def op(name: str, *parts: IndexExpr) -> IndexExpr:
    return IndexExpr(name, parts)


def plus(a: IndexExpr, n: int) -> IndexExpr:
    return op("+", a, integer(n)) if n else a


def times(n: int, a: IndexExpr) -> IndexExpr:
    return op("*", integer(n), a)


@dataclass
class Build:
    """A graph, the dim of each letter, sizes, and whatever inputs were asked for."""

    letters: Mapping[str, str]
    sizes: Mapping[str, int]
    values: Mapping[str, float] = field(default_factory=dict)
    graph: Graph = field(default_factory=Graph)

    def dims(self, letters: str) -> tuple[str, ...]:
        return tuple(self.letters[a] for a in letters)

    def state(self, name: str, letters: str) -> Input:
        return self.graph.input(name, "state", self.dims(letters))

    def param(self, name: str, letters: str) -> Input:
        return self.graph.input(name, "param", self.dims(letters))

    def clamp(self, name: str, letters: str, over: str | None = None) -> Input:
        return self.graph.input(name, "clamp", self.dims(letters), over)

    def es(self, pattern: str, *nodes: Node, c: Coefficient | Fraction | int = 1) -> Node:
        """``coefficient * einsum(pattern)``."""
        left, out = pattern.split("->")
        names = {a: k for k, a in enumerate(dict.fromkeys(left.replace(",", "") + out))}
        labels = {k: self.letters[a] for a, k in names.items()}
        factors = [(n, [names[a] for a in part]) for n, part in zip(nodes, left.split(","), strict=True)]
        coefficient = c if isinstance(c, Coefficient) else Coefficient(Fraction(c))
        return self.graph.einsum(coefficient, factors, labels, [names[a] for a in out])

    def add(self, *nodes: Node) -> Node:
        return self.graph.plus(*nodes)

    def minus(self, a: Node, b: Node) -> Node:
        return self.graph.minus(a, b)

    def scale(self, c: Fraction | int, node: Node) -> Node:
        return self.graph.scale(Fraction(c), node)

    def map(self, name: str, node: Node) -> Node:
        return self.graph.map(name, node)

    def mask(self, letters: str, condition: IndexExpr) -> Indicator:
        return self.graph.indicator(self.dims(letters), condition)

    def softmax(self, node: Node, axes: Iterable[int], mask: Indicator | None = None, on: tuple[int, ...] = ()) -> Node:
        return self.graph.softmax(node, tuple(axes), Guard(mask, on) if mask else None)

    def logsumexp(
        self, node: Node, axes: Iterable[int], mask: Indicator | None = None, on: tuple[int, ...] = ()
    ) -> Node:
        return self.graph.logsumexp(node, tuple(axes), Guard(mask, on) if mask else None)

    def layernorm(self, z: Node, letters: str, centred: bool = True) -> Node:
        """Along the last axis, biased variance, 1e-5 inside the root; without ``centred`` the RMS norm."""
        dims, kept = self.dims(letters), letters[:-1]
        share = Coefficient.symbol(dims[-1], -1)
        c = z
        if centred:
            mean = self.es(f"{letters}->{kept}", z, c=share)
            c = self.minus(z, self.graph.spread(mean, dims, range(len(kept))))
        variance = self.es(f"{letters},{letters}->{kept}", c, c, c=share)
        safe = self.add(variance, self.graph.constant(Fraction(1, 100000), self.dims(kept)))
        return self.es(f"{letters},{kept}->{letters}", c, self.graph.power(safe, Fraction(-1, 2)))

    def forces_of(self, energy: Node, *states: Input) -> dict[Input, Node]:
        """Minus the slopes of an energy, what it freezes held constant."""
        slopes = gradient(self.graph, energy, states, frozen=False, strict=False)
        return {s: self.scale(-1, slopes[s]) for s in states if s in slopes}

    def total(self, node: Node) -> Node:
        return self.graph.sum(node, range(len(node.dims)))

    def field(self, force: Mapping[Input, Node], states: Iterable[Input] | None = None) -> ForceField:
        return ForceField(self.graph, tuple(states or force), dict(force), self.sizes, self.values)


def random_sizes(generator: np.random.Generator, dims: str, low: int = 2, high: int = 5) -> dict[str, int]:
    return {dim: int(generator.integers(low, high + 1)) for dim in dims}


__all__ = ["A0", "A1", "A2", "A3", "ONE", "Build", "integer", "op", "plus", "random_sizes", "times"]
