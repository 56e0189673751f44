"""Creates nodes: equal ones once, in canonical form, with the few simplifications that every later pass relies on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, groupby, permutations, product
from typing import Any, TypeGuard, TypeVar, cast

from energyc.mathematics.ir.coefficient import ONE, ZERO, Coefficient
from energyc.mathematics.ir.indexing import IndexExpr, axis, equal
from energyc.mathematics.ir.node import BATCHED_KINDS, Input, Node
from energyc.mathematics.ir.nodes import (
    Add,
    ArgMax,
    BatchStatistic,
    Einsum,
    Function,
    Guard,
    Indicator,
    LogSumExp,
    Map,
    Max,
    Operand,
    Position,
    Reduction,
    Softmax,
    Stop,
)

N = TypeVar("N", bound=Node)
R = TypeVar("R", bound=Reduction)
Term = tuple[Coefficient, Node]
Factor = tuple[Node, Sequence[int]]

#: Largest number of orders among which the canonical one of a product with equal factors is searched.
MAX_ORDERS = 24


@dataclass
class Graph:
    """Creates the nodes of a network; equal tensors are one object."""

    _nodes: dict[Any, Node] = field(default_factory=dict, repr=False)

    def _share(self, kind: type[N], dims: tuple[str, ...], batched: bool, *fields: Any) -> N:
        key = (kind, dims, *fields)
        if key not in self._nodes:
            self._nodes[key] = kind(dims, len(self._nodes), batched, *fields)
        return cast(N, self._nodes[key])

    def share(self, kind: type[N], dims: Sequence[str], batched: bool, *fields: Any) -> N:
        """A node of a kind that a later pass defines; equal ones are one object."""
        return self._share(kind, tuple(dims), batched, *fields)

    def fork(self) -> Graph:
        """A copy that shares the nodes there are; new nodes of it leave this graph unchanged."""
        return Graph(dict(self._nodes))

    # ------------------------------------------------------------ leaves

    def input(self, name: str, kind: str, dims: Sequence[str] = (), over: str | None = None) -> Input:
        """A named tensor from outside; see :class:`Input` for the kinds."""
        return self._share(Input, tuple(dims), kind in BATCHED_KINDS, name, kind, over)

    def indicator(self, dims: Sequence[str], condition: IndexExpr) -> Indicator:
        """1 where a condition on the axes holds."""
        return self._share(Indicator, tuple(dims), _reads_batch(condition), condition)

    def position(self, dims: Sequence[str], value: IndexExpr) -> Position:
        """The value of an index expression, as a real."""
        return self._share(Position, tuple(dims), _reads_batch(value), value)

    def constant(self, coefficient: Coefficient | Fraction | int, dims: Sequence[str] = ()) -> Node:
        """A tensor with one value everywhere."""
        if not isinstance(coefficient, Coefficient):
            coefficient = Coefficient(Fraction(coefficient))
        if coefficient.is_zero:
            coefficient = ZERO
        dims = tuple(dims)
        return self._share(Einsum, dims, False, coefficient, (), dims, tuple(range(len(dims))))

    def zero(self, dims: Sequence[str] = ()) -> Node:
        """A tensor of zeros."""
        return self.constant(0, dims)

    def identity(self, dim: str) -> Indicator:
        """The Kronecker delta of a dim."""
        return self.indicator((dim, dim), equal(axis(0), axis(1)))

    # ------------------------------------------------------------ sums of products

    def einsum(
        self,
        coefficient: Coefficient,
        factors: Iterable[Factor],
        labels: Mapping[int, str],
        out: Sequence[int],
    ) -> Node:
        """``coefficient * sum(product of factors)``; a factor is a node and the label of each of its axes.

        ``labels`` gives each label's dim (labels are any integers). Labels outside ``out`` are summed over.
        """
        coefficient, operands = _merged(coefficient, factors)
        labels = dict(labels)
        for operand in operands:
            labels.update(zip(operand.axes, operand.node.dims, strict=True))
        dims = tuple(labels[k] for k in out)
        if coefficient.is_zero:
            return self.zero(dims)
        operands = _simplified(operands)
        for k in sorted(set(labels) - set(out) - {a for o in operands for a in o.axes}):
            coefficient = coefficient * Coefficient.symbol(labels[k])
        if len(operands) == 1 and coefficient == ONE and operands[0].axes == tuple(out):
            return operands[0].node
        return self._canonical(coefficient, operands, labels, tuple(out))

    def _canonical(
        self, coefficient: Coefficient, operands: list[Operand], labels: Mapping[int, str], out: tuple[int, ...]
    ) -> Node:
        operands = min(_orders(operands, out), key=lambda order: _numbered(order, out))
        order = list(dict.fromkeys([*out, *(a for o in operands for a in o.axes)]))
        axes = _numbered(operands, out)
        renamed = tuple(Operand(o.node, own) for o, own in zip(operands, axes, strict=True))
        batched = any(o.node.batched for o in operands)
        dims = tuple(labels[k] for k in order)
        return self._share(Einsum, dims[: len(out)], batched, coefficient, renamed, dims, tuple(range(len(out))))

    def product(self, *nodes: Node, coefficient: Coefficient = ONE) -> Node:
        """The elementwise product of nodes of equal dims; one of no dims multiplies all."""
        dims = max((node.dims for node in nodes), key=len)
        if any(node.dims not in ((), dims) for node in nodes):
            raise ValueError(f"no elementwise product of {nodes!r}")
        labels = dict(enumerate(dims))
        factors = [(node, range(len(node.dims))) for node in nodes]
        return self.einsum(coefficient, factors, labels, range(len(dims)))

    def scale(self, coefficient: Coefficient | Fraction | int, node: Node) -> Node:
        """A node times an exact factor."""
        if not isinstance(coefficient, Coefficient):
            coefficient = Coefficient(Fraction(coefficient))
        return self.product(node, coefficient=coefficient)

    def sum(self, node: Node, axes: Iterable[int]) -> Node:
        """The sum over axes, which are removed."""
        gone = set(axes)
        n = len(node.dims)
        return self.einsum(ONE, [(node, range(n))], dict(enumerate(node.dims)), [k for k in range(n) if k not in gone])

    def spread(self, node: Node, dims: Sequence[str], axes: Sequence[int]) -> Node:
        """A node broadcast to ``dims``; its k-th axis becomes axis ``axes[k]``."""
        return self.einsum(ONE, [(node, axes)], dict(enumerate(dims)), range(len(dims)))

    def add(self, terms: Iterable[Term], dims: Sequence[str]) -> Node:
        """``sum(coefficient * node)``; equal nodes are collected and zeros dropped."""
        collected: dict[tuple[Node, tuple[tuple[str, Fraction], ...]], Fraction] = {}
        dims = tuple(dims)
        for coefficient, node in terms:
            if node.dims != dims:
                raise ValueError(f"{node!r} is not a term of a sum over {dims}")
            factor, inner = self._scaled(node)
            total = coefficient * factor
            key = (inner, total.powers)
            collected[key] = collected.get(key, Fraction(0)) + total.value
        left = [(Coefficient(value, powers), node) for (node, powers), value in collected.items() if value]
        if not left:
            return self.zero(dims)
        if len(left) == 1:
            return self.scale(*left[0])
        ordered = tuple(sorted(left, key=lambda term: (term[1].number, term[0].powers)))
        return self._share(Add, dims, any(node.batched for _, node in ordered), ordered)

    def _scaled(self, node: Node) -> Term:
        """A node as an exact factor times a node, so that sums collect terms that differ by a factor alone."""
        if isinstance(node, Einsum) and not node.operands:
            return node.coefficient, self.constant(1, node.dims)
        if isinstance(node, Einsum) and len(node.operands) == 1 and node.operands[0].axes == node.out:
            return node.coefficient, node.operands[0].node
        return ONE, node

    def plus(self, *nodes: Node) -> Node:
        """The sum of nodes of equal dims."""
        return self.add([(ONE, node) for node in nodes], nodes[0].dims)

    def minus(self, a: Node, b: Node) -> Node:
        """``a - b``."""
        return self.add([(ONE, a), (-ONE, b)], a.dims)

    # ------------------------------------------------------------ the rest

    def map(self, function: Function | str, argument: Node) -> Node:
        """A scalar function of each element."""
        if isinstance(function, str):
            function = Function(function)
        batched = argument.batched or any(body.batched for body in function.bodies)
        return self._share(Map, argument.dims, batched, function, argument)

    def power(self, argument: Node, exponent: Fraction | int) -> Node:
        """Each element to a fixed power; small natural powers are products."""
        exponent = Fraction(exponent)
        if exponent == 0:
            return self.constant(1, argument.dims)
        if exponent.denominator == 1 and 1 <= exponent <= 4:
            return self.product(*[argument] * int(exponent))
        return self.map(Function("power", exponent), argument)

    def softmax(self, argument: Node, axes: Sequence[int], guard: Guard | None = None) -> Node:
        """Softmax along axes."""
        return self.reduction(Softmax, argument, axes, guard)

    def argmax(self, argument: Node, axes: Sequence[int], guard: Guard | None = None) -> Node:
        """One-hot of the first largest entry along axes."""
        return self.reduction(ArgMax, argument, axes, guard)

    def logsumexp(self, argument: Node, axes: Sequence[int], guard: Guard | None = None) -> Node:
        """Log of the sum of exponentials over axes, which are removed."""
        return self.reduction(LogSumExp, argument, axes, guard)

    def max(self, argument: Node, axes: Sequence[int], guard: Guard | None = None) -> Node:
        """Largest entry over axes, which are removed."""
        return self.reduction(Max, argument, axes, guard)

    def reduction(self, kind: type[R], argument: Node, axes: Sequence[int], guard: Guard | None) -> R:
        """An operation along axes, of any kind."""
        batched = argument.batched or (guard is not None and guard.indicator.batched)
        dims = tuple(dim for k, dim in enumerate(argument.dims) if kind.keeps_axes or k not in axes)
        return self._share(kind, dims, batched, argument, tuple(sorted(axes)), guard)

    def stop(self, argument: Node, mode: str) -> Node:
        """``frozen`` or ``detach``."""
        return self._share(Stop, argument.dims, argument.batched, argument, mode)

    def batch_statistic(self, argument: Node, kind: str) -> Node:
        """The ``mean`` or ``median`` over the batch; what is the same for all samples is its own."""
        return self._share(BatchStatistic, argument.dims, False, argument, kind) if argument.batched else argument

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self._nodes)


def _reads_batch(expr: IndexExpr) -> bool:
    return any(node.batched for node in expr.inputs)


def _merged(coefficient: Coefficient, factors: Iterable[Factor]) -> tuple[Coefficient, list[Operand]]:
    """Factors with scalings, transpositions, diagonals, broadcasts and constants dissolved into the einsum itself."""
    operands = []
    for node, axes in factors:
        operand: Operand | None = Operand(node, tuple(axes))
        while operand is not None and _dissolves(operand.node):
            coefficient = coefficient * operand.node.coefficient
            operand = _inside(operand.node, operand.axes)
        if operand is not None:
            operands.append(operand)
    return coefficient, operands


def _dissolves(node: Node) -> TypeGuard[Einsum]:
    return isinstance(node, Einsum) and len(node.operands) <= 1 and not node.contracted


def _inside(node: Einsum, axes: tuple[int, ...]) -> Operand | None:
    """The only operand of a node, by the labels ``axes`` of the node's own axes; None where it is a constant."""
    outer = dict(zip(node.out, axes, strict=True))
    return next((Operand(o.node, tuple(outer[a] for a in o.axes)) for o in node.operands), None)


def _orders(operands: list[Operand], out: tuple[int, ...]) -> Iterator[list[Operand]]:
    """The candidates for the canonical order of a product: sorted by node and by the labels of the result.

    Where this leaves ties (one node several times, over summed labels), all orders are tried while they are few.
    """
    place = {label: k for k, label in enumerate(out)}
    keys = {o: (o.node.number, tuple(place.get(a, len(out)) for a in o.axes)) for o in operands}
    ordered = sorted(operands, key=keys.__getitem__)
    ties = [list(group) for _, group in groupby(ordered, key=keys.__getitem__)]
    if math.prod(math.factorial(len(group)) for group in ties) > MAX_ORDERS:
        return iter([ordered])
    return ([*chain(*groups)] for groups in product(*(permutations(group) for group in ties)))


def _numbered(operands: Sequence[Operand], out: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The axes of each operand where labels are numbered as they come, those of the result first."""
    labels = dict.fromkeys([*out, *(a for o in operands for a in o.axes)])
    number = {label: k for k, label in enumerate(labels)}
    return [tuple(number[a] for a in o.axes) for o in operands]


def _simplified(operands: list[Operand]) -> list[Operand]:
    """``relu(u) * step(u) = relu(u)``, ``[c] * [c] = [c]``, and a softmax already has the zeros of its own guard."""
    relus = {(o.node.argument, o.axes) for o in operands if isinstance(o.node, Map) and o.node.function.named("relu")}
    guards = {
        (o.node.guard.indicator, tuple(o.axes[a] for a in o.node.guard.axes))
        for o in operands
        if isinstance(o.node, Softmax | ArgMax) and o.node.guard
    }
    remaining: list[Operand] = []
    for operand in operands:
        node = operand.node
        if isinstance(node, Map) and node.function.named("step") and (node.argument, operand.axes) in relus:
            continue
        if isinstance(node, Indicator) and (operand in remaining or (node, operand.axes) in guards):
            continue
        remaining.append(operand)
    return remaining
