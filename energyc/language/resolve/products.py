"""The factors of one einsum while they are gathered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from energyc.language.resolve.terms import Index, indices_of, plain_index
from energyc.mathematics.ir import ONE, Coefficient, Graph, IndexExpr, Node
from energyc.mathematics.ir.indexing import axis, equal, integer


@dataclass
class Factors:
    """A product: an exact number, nodes with a label for each axis, and conditions.

    A place that is not a plain index gets a label of its own and the condition that the label is that place; equal
    places share one.
    """

    coefficient: Coefficient = ONE
    operands: list[tuple[Node, tuple[int, ...]]] = field(default_factory=list)
    conditions: list[IndexExpr] = field(default_factory=list)
    dims: dict[int, str] = field(default_factory=dict)
    _labels: dict[Index, int] = field(default_factory=dict)
    _windows: dict[tuple[str, IndexExpr], int] = field(default_factory=dict)

    @property
    def indices(self) -> list[Index]:
        """The indices met so far, in order."""
        return list(self._labels)

    def label(self, index: Index) -> int:
        """The label of an index."""
        if index not in self._labels:
            self._labels[index] = self._fresh(index.known_dim)
        return self._labels[index]

    def _fresh(self, dim: str) -> int:
        label = len(self.dims)
        self.dims[label] = dim
        return label

    def scale(self, coefficient: Coefficient) -> None:
        """Multiply by an exact number."""
        self.coefficient = self.coefficient * coefficient

    def element(self, node: Node, places: Sequence[IndexExpr]) -> None:
        """Multiply by the elements of a node at places."""
        labels = tuple(self._place(place, dim) for place, dim in zip(places, node.dims, strict=True))
        self.operands.append((node, labels))

    def _place(self, place: IndexExpr, dim: str) -> int:
        index = plain_index(place)
        if index is not None:
            return self.label(index)
        if (dim, place) not in self._windows:
            for inner in indices_of(place):
                self.label(inner)
            self._windows[dim, place] = self._fresh(dim)
        return self._windows[dim, place]

    def position(self, graph: Graph, value: IndexExpr) -> None:
        """Multiply by the value of an index expression."""
        dims, labels, local = self._closed(value)
        self.operands.append((graph.position(dims, local), labels))

    def condition(self, condition: IndexExpr) -> None:
        """Multiply by 1 where a condition holds, by 0 elsewhere."""
        if condition.op == "and":
            for part in condition.parts:
                self.condition(part)
            return
        for index in indices_of(condition):
            self.label(index)
        self.conditions.append(condition)

    def _closed(self, expr: IndexExpr) -> tuple[list[str], tuple[int, ...], IndexExpr]:
        """An expression as one of a node's own axes: their dims, the labels they run over, the expression."""
        indices = indices_of(expr)
        labels = tuple(self.label(index) for index in indices)
        local = expr.renumbered({index: k for k, index in enumerate(indices)})  # type: ignore[misc]
        return [index.known_dim for index in indices], labels, local

    def einsum(self, graph: Graph, out: Sequence[Index]) -> Node:
        """The product, summed over what is not in ``out``."""
        factors = list(self.operands)
        for (dim, place), label in self._windows.items():
            dims, labels, local = self._closed(place)
            shifted = local.renumbered({k: k + 1 for k in range(len(dims))})
            factors.append((graph.indicator([dim, *dims], equal(axis(0), shifted)), (label, *labels)))
        for condition in dict.fromkeys(self.conditions):
            if not self._implied(condition):
                dims, labels, local = self._closed(condition)
                factors.append((graph.indicator(dims, local), labels))
        return graph.einsum(self.coefficient, factors, self.dims, [self._labels[index] for index in out])

    def _implied(self, condition: IndexExpr) -> bool:
        """Whether a window that lies in its dim is all that a condition says: zero padding."""
        return any(condition in _bounds(place, dim) for dim, place in self._windows)


def _bounds(place: IndexExpr, dim: str) -> tuple[IndexExpr, ...]:
    """``0 <= place`` and ``place < dim``, both ways round."""
    zero, size = integer(0), IndexExpr("size", (dim,))
    return (
        IndexExpr("<=", (zero, place)),
        IndexExpr(">=", (place, zero)),
        IndexExpr("<", (place, size)),
        IndexExpr(">", (size, place)),
    )
