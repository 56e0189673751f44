"""Equalities that decide one index by others: ``n == dst[e]``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from energyc.mathematics.ir import Graph, Guard, IndexExpr, Indicator, Input
from energyc.mathematics.ir.indexing import axis, equal


@dataclass(frozen=True)
class Selection:
    """``[head == place]``, over axes of a node or labels of a product; the place is sure to be in the head's dim."""

    head: int
    place: IndexExpr

    @property
    def by(self) -> tuple[int, ...]:
        """The axes that the place is read at."""
        return tuple(sorted(self.place.axes()))

    def renumbered(self, axes: Mapping[int, int]) -> Selection:
        """The selection with axis k renamed to ``axes[k]``."""
        return Selection(axes[self.head], self.place.renumbered(axes))

    def factor(self, graph: Graph, dims: Mapping[int, str]) -> tuple[Indicator, tuple[int, ...]]:
        """The indicator as a factor of a product, with the label of each of its axes."""
        return indicated(graph, equal(axis(self.head), self.place), dims, (self.head, *self.by))


def selection_of(condition: IndexExpr, dims: Mapping[int, str]) -> Selection | None:
    """The selection that an equality is, or None: one side is an index, the other reads an element in its dim."""
    if condition.op != "==":
        return None
    for side, other in (condition.parts, condition.parts[::-1]):
        if side.op == "axis" and other.op == "read" and other.axes():
            (head,) = side.axes()
            if head not in other.axes() and _over(other) == dims[head] and _is_certain(other, dims):
                return Selection(head, other)
    return None


def _over(read: IndexExpr) -> str | None:
    source = read.args[0]
    assert isinstance(source, Input)
    return source.over


def _is_certain(read: IndexExpr, dims: Mapping[int, str]) -> bool:
    """Whether every place that is read is sure to be inside: an index over the dim, or an element in it."""
    source = read.args[0]
    assert isinstance(source, Input)
    return all(_is_inside(part, dim, dims) for part, dim in zip(read.parts, source.dims, strict=True))


def _is_inside(place: IndexExpr, dim: str, dims: Mapping[int, str]) -> bool:
    if place.op == "axis":
        (k,) = place.axes()
        return dims[k] == dim
    return place.op == "read" and _over(place) == dim and _is_certain(place, dims)


def conjuncts(condition: IndexExpr) -> list[IndexExpr]:
    """The conditions that must all hold."""
    if condition.op != "and":
        return [condition]
    return [inner for part in condition.parts for inner in conjuncts(part)]


def conjunction(conditions: Sequence[IndexExpr]) -> IndexExpr:
    """All of one or more conditions."""
    return conditions[0] if len(conditions) == 1 else IndexExpr("and", tuple(conditions))


def indicated(
    graph: Graph, condition: IndexExpr, dims: Mapping[int, str], axes: Iterable[int] | None = None
) -> tuple[Indicator, tuple[int, ...]]:
    """A condition over labels as an indicator, and the label of each of its axes."""
    labels = tuple(sorted(condition.axes()) if axes is None else axes)
    number = {label: k for k, label in enumerate(labels)}
    return graph.indicator([dims[label] for label in labels], condition.renumbered(number)), labels


def guard_of(graph: Graph, conditions: Sequence[IndexExpr], dims: Sequence[str]) -> Guard | None:
    """A guard over the axes of a node, None where there is no condition."""
    if not conditions:
        return None
    return Guard(*indicated(graph, conjunction(conditions), dict(enumerate(dims))))


def decided(expr: IndexExpr, selection: Selection) -> IndexExpr:
    """An expression where the selection holds, without its head: the axes behind the head move up."""
    return lowered(substituted(expr, selection), selection.head)


def lowered(expr: IndexExpr, gone: int) -> IndexExpr:
    """An expression that does not read an axis, once that axis is gone."""
    return expr.renumbered({k: k - (k > gone) for k in expr.axes()})


def substituted(expr: IndexExpr, selection: Selection) -> IndexExpr:
    """An expression with the place of a selection for its head."""
    if expr.op == "axis":
        return selection.place if expr.args[0] == selection.head else expr
    parts = (substituted(a, selection) if isinstance(a, IndexExpr) else a for a in expr.args)
    return IndexExpr(expr.op, tuple(parts))
