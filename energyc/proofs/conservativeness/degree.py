"""Splits forces into homogeneous parts: the part of degree k scales as the k-th power of all states together."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

from energyc.mathematics.calculus import depends
from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Graph, Input, Map, Node, Stop, walk
from energyc.proofs.fields.problem import ForceField

PIECES = 64
#: The homogeneous parts of a node by degree; the part under None has none.
Split = Mapping[Fraction | None, Node]


@dataclass(frozen=True)
class Degrees:
    """Nodes split into homogeneous parts; the part under None has no degree."""

    graph: Graph
    parts: Mapping[Node, Split]

    @staticmethod
    def of(graph: Graph, states: Collection[Input], roots: Collection[Node]) -> Degrees:
        """Split every node below the roots."""
        moving = depends(roots, set(states))
        parts: dict[Node, Split] = {}
        for node in walk(roots):
            parts[node] = _split(graph, node, parts) if node in moving else {Fraction(0): node}
        return Degrees(graph, parts)

    def radial(self, field: ForceField) -> tuple[Node, dict[Input, list[Node]]]:
        """``-sum_k z . F_k / (k + 1)`` and, for each state, the remaining parts, without a degree or of degree -1."""
        terms: list[tuple[Coefficient, Node]] = []
        rest: dict[Input, list[Node]] = {state: [] for state in field.states}
        for state, root in zip(field.states, field.roots, strict=True):
            for degree, node in self.parts[root].items():
                if degree is None or degree == -1:
                    rest[state].append(node)
                    continue
                axes = range(len(state.dims))
                total = self.graph.einsum(ONE, [(state, axes), (node, axes)], dict(enumerate(state.dims)), ())
                terms.append((Coefficient(-1 / (degree + 1)), total))
        return self.graph.add(terms, ()), rest


def _split(graph: Graph, node: Node, parts: Mapping[Node, Split]) -> Split:
    match node:
        case Input():
            return {Fraction(1): node}
        case Add():
            return _add(graph, node, parts)
        case Einsum():
            return _einsum(graph, node, parts)
        case Stop():
            return parts[node.argument]
    degree = _single_degree(parts[node.children[0]]) if node.children else None
    growth = _growth(node)
    if degree is not None and (growth is not None or degree == 0):
        return {degree * (growth or 0): node}
    return {None: node}


def _growth(node: Node) -> Fraction | int | None:
    """The k for which a node scales as the k-th power of its argument, None if there is none."""
    if not isinstance(node, Map):
        return node.facts.degree
    if node.function.slope is not None:
        return None
    entry = node.function.entry
    return entry.homogeneous.degree if entry.homogeneous else entry.exponent


def _single_degree(split: Split) -> Fraction | None:
    return next(iter(split)) if len(split) == 1 else None


def _add(graph: Graph, node: Add, parts: Mapping[Node, Split]) -> Split:
    collected: dict[Fraction | None, list[tuple[Coefficient, Node]]] = {}
    for coefficient, child in node.terms:
        for degree, part in parts[child].items():
            collected.setdefault(degree, []).append((coefficient, part))
    return {degree: graph.add(terms, node.dims) for degree, terms in collected.items()}


def _einsum(graph: Graph, node: Einsum, parts: Mapping[Node, Split]) -> Split:
    """The products of the parts of the operands; a product has no degree if one of its factors has none."""
    choices: list[tuple[Fraction | None, list[Node]]] = [(Fraction(0), [])]
    for operand in node.operands:
        split = parts[operand.node]
        if len(choices) * len(split) > PIECES:
            return {None: node}
        choices = [
            (None if degree is None or added is None else degree + added, [*nodes, part])
            for degree, nodes in choices
            for added, part in split.items()
        ]
    collected: dict[Fraction | None, list[tuple[Coefficient, Node]]] = {}
    for degree, nodes in choices:
        factors = [(n, o.axes) for n, o in zip(nodes, node.operands, strict=True)]
        product = graph.einsum(node.coefficient, factors, dict(enumerate(node.labels)), node.out)
        collected.setdefault(degree, []).append((ONE, product))
    return {degree: graph.add(terms, node.dims) for degree, terms in collected.items()}
