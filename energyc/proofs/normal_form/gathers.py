"""Gathers pulled out of functions: ``f(x[i[e]], ...) = sum_n [n == i[e]] f(x[n], ...)``.

One n alone is the place that is read, whatever the function. So ``tanh(z[src[e]] - z[dst[e]])`` is a function of two
nodes, and equal to ``tanh(z[src[e]] - z[n])`` wherever ``n == dst[e]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from energyc.mathematics.ir import (
    ONE,
    Add,
    Einsum,
    Graph,
    IndexExpr,
    Indicator,
    Map,
    Node,
    Operand,
    Reduction,
    Stop,
    walk,
)
from energyc.mathematics.sparse.selection import Selection, conjuncts, indicated, selection_of, substituted

#: An axis of the node that was pulled, or a place over those axes.
Axis = int | IndexExpr
Factor = tuple[Node, tuple[int, ...]]


@dataclass(frozen=True)
class Pulled:
    """What a tensor is where the index of each axis is the axis, or the place, in ``axes``.

    It has no axis that it does not depend on.
    """

    node: Node
    axes: tuple[Axis, ...]


@dataclass
class Gathers:
    """Pulls gathers out of the functions and reductions of a graph."""

    graph: Graph
    _known: dict[Node, Pulled] = field(default_factory=dict)
    _gathering: dict[Node, bool] = field(default_factory=dict)

    def outside(self, node: Map | Reduction) -> Node | None:
        """A function or a reduction with the gathers in its argument outside of it; None where there are none."""
        if not self._gathers(node.argument):
            return None
        inner = self._pulled(node)
        places = [axis for axis in inner.axes if isinstance(axis, IndexExpr)]
        if not places:
            return None
        rank = len(node.dims)
        axes = tuple(axis if isinstance(axis, int) else rank + places.index(axis) for axis in inner.axes)
        dims = {**dict(enumerate(node.dims)), **dict(zip(axes, inner.node.dims, strict=True))}
        read = [Selection(rank + k, place).factor(self.graph, dims) for k, place in enumerate(places)]
        return self.graph.einsum(ONE, [(inner.node, axes), *read], dims, range(rank))

    def _gathers(self, root: Node) -> bool:
        for node in walk([root], self._gathering):
            self._gathering[node] = _selects(node) or any(self._gathering[child] for child in node.children)
        return self._gathering[root]

    def _pulled(self, root: Node) -> Pulled:
        for node in walk([root], self._known):
            self._known[node] = self._of(node)
        return self._known[root]

    def _of(self, node: Node) -> Pulled:
        match node:
            case Stop():
                return self._known[node.argument]
            case Map():
                inner = self._known[node.argument]
                return Pulled(self.graph.map(node.function, inner.node), inner.axes)
            case Add():
                return self._add(node)
            case Einsum():
                return self._einsum(node)
            case Reduction() if node.guard is None:
                return self._reduction(node) or _whole(node)
        return _whole(node)

    def _add(self, node: Add) -> Pulled:
        terms = [self._known[term] for term in node.children]
        dims: dict[Axis, str] = {}
        for term in terms:
            dims |= dict(zip(term.axes, term.node.dims, strict=True))
        place = {axis: k for k, axis in enumerate(dims)}
        spread = [self.graph.spread(term.node, [*dims.values()], [place[a] for a in term.axes]) for term in terms]
        parts = [(c, part) for (c, _), part in zip(node.terms, spread, strict=True)]
        return Pulled(self.graph.add(parts, tuple(dims.values())), tuple(dims))

    def _reduction(self, node: Reduction) -> Pulled | None:
        """A reduction of what gathers read elsewhere than along the axes that it reduces; None for any other."""
        inner = self._known[node.argument]
        along = {over for axis in inner.axes if isinstance(axis, IndexExpr) for over in axis.axes()}
        if not set(node.axes) <= set(inner.axes) or along & set(node.axes):
            return None
        reduced = [k for k, axis in enumerate(inner.axes) if axis in node.axes]
        made = self.graph.reduction(type(node), inner.node, reduced, None)
        number = {axis: k for k, axis in enumerate(node.remaining)}
        left = [axis for k, axis in enumerate(inner.axes) if node.keeps_axes or k not in reduced]
        return Pulled(
            made, tuple(axis.renumbered(number) if isinstance(axis, IndexExpr) else number[axis] for axis in left)
        )

    def _einsum(self, node: Einsum) -> Pulled:
        """A product with the labels that gathers read as axes of the result; those whose place is summed over stay."""
        read = _read_labels(node)
        names: dict[Axis, int] = {**{k: k for k in node.out}, **{place: label for label, place in read.items()}}
        factors: list[Factor] = []
        for operand in node.operands:
            factors += self._factors(operand, node, read, names)
        dims = dict(enumerate(node.labels))
        for inner, labels in factors:
            dims |= dict(zip(labels, inner.dims, strict=True))
        used = {label for _, labels in factors for label in labels}
        axes = {axis: label for axis, label in names.items() if label in used}
        counted = {label: dim for label, dim in dims.items() if label in used or label in {*node.contracted} - {*read}}
        return Pulled(self.graph.einsum(node.coefficient, factors, counted, [*axes.values()]), tuple(axes))

    def _factors(
        self, operand: Operand, node: Einsum, read: Mapping[int, IndexExpr], names: dict[Axis, int]
    ) -> Iterable[Factor]:
        """An operand by the labels of the product; ``names`` gains those of the places that it reads."""
        over = dict(enumerate(operand.axes))
        if isinstance(operand.node, Indicator):
            dims = dict(enumerate(node.labels))
            conditions = conjuncts(operand.node.condition.renumbered(over))
            taken = {(label, place) for label, place in read.items()}
            kept = [c for c in conditions if (s := selection_of(c, dims)) is None or (s.head, s.place) not in taken]
            return [indicated(self.graph, condition, dims) for condition in kept]
        inner = self._known[operand.node]
        places = [_composed(axis.renumbered(over), read) for axis in inner.axes if isinstance(axis, IndexExpr)]
        if any(place.axes() - set(node.out) for place in places):
            return [(operand.node, operand.axes)]
        for place in places:
            names.setdefault(place, len(node.labels) + len(names))
        ahead = iter(places)
        labels = tuple(over[axis] if isinstance(axis, int) else names[next(ahead)] for axis in inner.axes)
        return [(inner.node, labels)]


def _whole(node: Node) -> Pulled:
    return Pulled(node, tuple(range(len(node.dims))))


def _selects(node: Node) -> bool:
    """Whether a product sums over the place of a gather."""
    return isinstance(node, Einsum) and bool(_read_labels(node))


def _read_labels(node: Einsum) -> dict[int, IndexExpr]:
    """The labels that are summed over and read as one place, over axes of the result; one label for each place."""
    dims, found = dict(enumerate(node.labels)), dict[int, IndexExpr]()
    for operand in node.operands:
        if isinstance(operand.node, Indicator) and operand.node.condition.inputs:
            for condition in conjuncts(operand.node.condition.renumbered(dict(enumerate(operand.axes)))):
                selection = selection_of(condition, dims)
                if selection is None or selection.head in found or selection.place in found.values():
                    continue
                if selection.head in node.contracted and set(selection.by) <= set(node.out):
                    found[selection.head] = selection.place
    return found


def _composed(place: IndexExpr, read: Mapping[int, IndexExpr]) -> IndexExpr:
    """A place over labels with those that are read as places themselves put in."""
    for label, inner in read.items():
        place = substituted(place, Selection(label, inner))
    return place
