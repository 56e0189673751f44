"""From terms to the graph: index objects become axes, products with the sum around them one einsum."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from energyc.language.resolve.terms import (
    BodySlope,
    Call,
    Chosen,
    Element,
    Index,
    IndexValue,
    Indicator,
    InverseSize,
    OverBatch,
    Power,
    Product,
    Reduction,
    Scalar,
    Stopped,
    Sum,
    Term,
    Whole,
    indices_of,
    plain_index,
    position_of,
)
from energyc.mathematics.calculus import derivative, lift, tangent
from energyc.mathematics.ir import (
    ONE,
    Add,
    ArgMax,
    Coefficient,
    Einsum,
    Graph,
    Guard,
    IndexExpr,
    Input,
    Map,
    Node,
    Softmax,
)
from energyc.mathematics.ir.indexing import axis, equal, integer

ARGUMENT = "u"


@dataclass(frozen=True)
class Value:
    """A node and the index that each of its axes is."""

    node: Node
    axes: tuple[Index, ...]


@dataclass
class Lowering:
    """Lowers the terms of one file; a term met twice is one node."""

    graph: Graph
    #: The slopes of functions that are read.
    slopes: list[Node] = field(default_factory=list)
    _values: dict[int, tuple[Term, Value]] = field(default_factory=dict)

    def node(self, term: Term, axes: Sequence[Index]) -> Node:
        """A term with these axes, in this order, broadcast along those that it lacks."""
        value = self.value(term)
        if len(value.axes) == len(axes):
            return permuted(self.graph, value.node, [value.axes.index(index) for index in axes])
        place = {index: k for k, index in enumerate(axes)}
        return self.graph.spread(
            value.node, [index.known_dim for index in axes], [place[index] for index in value.axes]
        )

    def value(self, term: Term) -> Value:
        """A term with its free indices for axes, in the order of their first occurrence."""
        if id(term) not in self._values:
            self._values[id(term)] = (term, self._lowered(term))
        return self._values[id(term)][1]

    def _lowered(self, term: Term) -> Value:
        match term:
            case Sum():
                return self._sum([self.value(part) for part in term.terms])
            case Power():
                base = self.value(term.base)
                return Value(self.graph.power(base.node, term.exponent), base.axes)
            case Call():
                return self._apply(term)
            case BodySlope():
                return self._slope(term)
            case Chosen() | Whole():
                return self.value(term.value)
            case Stopped():
                body = self.value(term.body)
                return Value(self.graph.stop(body.node, term.mode), body.axes)
            case OverBatch():
                body = self.value(term.body)
                return Value(self.graph.batch_statistic(body.node, term.kind), body.axes)
            case Reduction(kind="sum"):
                return self._reduced_sum(term)
            case Reduction():
                return self._reduction(term)
        return self._einsum([term], ())

    # ------------------------------------------------------------ sums and products

    def _sum(self, values: Sequence[Value]) -> Value:
        axes = tuple(dict.fromkeys(index for value in values for index in value.axes))
        dims = [index.known_dim for index in axes]
        place = {index: k for k, index in enumerate(axes)}
        spread = [(ONE, self._spread(value, dims, [place[index] for index in value.axes])) for value in values]
        return Value(self.graph.add(spread, dims), axes)

    def _spread(self, value: Value, dims: Sequence[str], axes: Sequence[int]) -> Node:
        return value.node if list(axes) == list(range(len(dims))) else self.graph.spread(value.node, dims, axes)

    def _reduced_sum(self, term: Reduction) -> Value:
        parts = term.body.terms if isinstance(term.body, Sum) else (term.body,)
        guard = [] if term.guard is None else [Indicator(term.span, term.guard)]
        return self._sum([self._einsum([part, *guard], term.indices) for part in parts])

    def _einsum(self, terms: Iterable[Term], summed: tuple[Index, ...]) -> Value:
        factors = Factors()
        for index in summed:
            factors.label(index)
        for term in terms:
            self._collect(term, factors)
        axes = tuple(index for index in factors.indices if index not in summed)
        return Value(factors.einsum(self.graph, axes), axes)

    def _collect(self, term: Term, factors: Factors) -> None:
        match term:
            case Scalar(coefficient=coefficient):
                factors.scale(coefficient)
            case InverseSize(index=index):
                factors.scale(Coefficient.symbol(index.known_dim, -1))
            case IndexValue(value=value):
                factors.position(self.graph, value)
            case Indicator(condition=condition):
                factors.condition(condition)
            case Element(node=node, places=places):
                factors.element(node, places)
            case Product():
                for factor in term.factors:
                    collect = self._collect_value if isinstance(factor, Product) else self._collect
                    collect(factor, factors)
            case Power(base=base, exponent=exponent) if exponent in (2, 3, 4):
                for _ in range(int(exponent)):
                    self._collect_value(base, factors)
            case _:
                self._collect_value(term, factors)

    def _collect_value(self, term: Term, factors: Factors) -> None:
        value = self.value(term)
        factors.element(value.node, [position_of(index) for index in value.axes])

    # ------------------------------------------------------------ functions and reductions

    def _apply(self, term: Call) -> Value:
        argument = self.value(term.argument)
        if term.slope:
            self.slopes.append(derivative(self.graph, term.function, argument.node))
            return Value(self.slopes[-1], argument.axes)
        return Value(self.graph.map(term.function, argument.node), argument.axes)

    def _slope(self, term: BodySlope) -> Value:
        argument = self.value(term.argument)
        (slope,) = tangent(self.graph, [term.body], {self.argument: self.graph.constant(1)})
        self.slopes.append(lift(self.graph, slope, argument.node))
        return Value(self.slopes[-1], argument.axes)

    @property
    def argument(self) -> Input:
        """The argument that scalar bodies are nodes over."""
        return self.graph.input(ARGUMENT, "argument")

    def _reduction(self, term: Reduction) -> Value:
        body = self.value(term.body)
        axes = tuple(dict.fromkeys([*body.axes, *term.indices, *indices_of(term.guard)]))
        node = self.node(term.body, axes)
        along = [axes.index(index) for index in term.indices]
        guard = None if term.guard is None else self._guard(term.guard, axes)
        if term.kind in ("softmax", "argmax"):
            return Value(getattr(self.graph, term.kind)(node, along, guard), axes)
        remaining = tuple(index for index in axes if index not in term.indices)
        return Value(getattr(self.graph, term.kind)(node, along, guard), remaining)

    def _guard(self, condition: IndexExpr, axes: Sequence[Index]) -> Guard:
        indices = indices_of(condition)
        local = condition.renumbered({index: k for k, index in enumerate(indices)})  # type: ignore[misc]
        indicator = self.graph.indicator([index.known_dim for index in indices], local)
        return Guard(indicator, tuple(axes.index(index) for index in indices))


# ------------------------------------------------------------------ transposed, so that a let and its uses are one node


def permuted(graph: Graph, node: Node, order: Sequence[int]) -> Node:
    """The node whose k-th axis is axis ``order[k]`` of ``node``: the same where it can be made so, without a copy."""
    if list(order) == list(range(len(node.dims))):
        return node
    match node:
        case Einsum():
            factors = [(operand.node, operand.axes) for operand in node.operands]
            return graph.einsum(node.coefficient, factors, dict(enumerate(node.labels)), [node.out[k] for k in order])
        case Add():
            terms = [(coefficient, permuted(graph, child, order)) for coefficient, child in node.terms]
            return graph.add(terms, [node.dims[k] for k in order])
        case Map():
            return graph.map(node.function, permuted(graph, node.argument, order))
        case Softmax() | ArgMax():
            make = graph.softmax if isinstance(node, Softmax) else graph.argmax
            axes = [order.index(axis) for axis in node.axes]
            return make(permuted(graph, node.argument, order), axes, _moved(node.guard, order))
    place = {axis: k for k, axis in enumerate(order)}
    return graph.spread(node, [node.dims[k] for k in order], [place[k] for k in range(len(order))])


def _moved(guard: Guard | None, order: Sequence[int]) -> Guard | None:
    return None if guard is None else Guard(guard.indicator, tuple(order.index(axis) for axis in guard.axes))


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
