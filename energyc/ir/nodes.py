"""The nodes of the graph: tensors with ordered, nominal dims.

A node is a closed tensor: index names live only inside an einsum, as numbers, so that no index can be captured.
Windows, gathers, fixed positions and Kronecker deltas are all the same thing, an :class:`Indicator` among the
operands of an einsum: ``x[c, 2*i + p]`` is ``sum[u]([u == 2*i + p] * x[c, u])``, and its adjoint is again an einsum.
The batch axis is no dim: a node is ``batched`` where something below it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction

from energyc.ir.coefficient import Coefficient
from energyc.ir.indexing import IndexExpr

#: Inputs that have a value for each sample; ``direction`` and ``seed`` are the vectors of forward and reverse mode.
BATCHED_KINDS = frozenset({"state", "clamp", "target", "direction", "seed", "value"})


@dataclass(frozen=True, eq=False, repr=False)
class Node:
    """A tensor of the graph; nodes are equal only where they are the same object (the graph shares them).

    ``number`` counts nodes in the order of their making: an order fit for deterministic output.
    """

    dims: tuple[str, ...]
    number: int = field(repr=False)
    batched: bool = field(repr=False)

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes this one is computed from."""
        return ()

    def __repr__(self) -> str:
        """Kind, number and dims."""
        return f"<{type(self).__name__} #{self.number}[{', '.join(self.dims)}]>"


@dataclass(frozen=True, eq=False, repr=False)
class Input(Node):
    """A named tensor from outside. ``kind``: state, clamp, target, param, direction, seed, value, flag, argument.

    ``over`` is the dim an integer input takes its values in, ``relation`` for a set of index tuples, None for a real.
    """

    name: str
    kind: str
    over: str | None = None


@dataclass(frozen=True)
class Operand:
    """A factor of an einsum; ``axes[k]`` is the label that the k-th dim of the node runs over."""

    node: Node
    axes: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Einsum(Node):
    """``coefficient * sum over the labels not in out of the product of the operands``.

    ``labels[k]`` is the dim of label k. A label of ``out`` that no operand has is a broadcast; labels that no
    operand and not ``out`` have do not occur. Without operands it is a constant tensor.
    """

    coefficient: Coefficient
    operands: tuple[Operand, ...]
    labels: tuple[str, ...]
    out: tuple[int, ...]

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes this one is computed from."""
        return tuple(operand.node for operand in self.operands)

    @property
    def contracted(self) -> tuple[int, ...]:
        """The labels that are summed over."""
        return tuple(k for k in range(len(self.labels)) if k not in self.out)


@dataclass(frozen=True, eq=False, repr=False)
class Add(Node):
    """``sum of coefficient * node``; all of the same dims."""

    terms: tuple[tuple[Coefficient, Node], ...]

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes this one is computed from."""
        return tuple(node for _, node in self.terms)


@dataclass(frozen=True)
class Function:
    """A scalar function: a name of the table in :mod:`energyc.ir.functions`.

    ``power`` has its exponent in ``parameter``. A potential declared by its slope (``fn phi'(u) = ...``) has its
    slope, and its closed form ``primitive``, as nodes over the argument ``u``: an :class:`Input` of kind ``argument``
    and no dims.
    """

    name: str
    parameter: Fraction | None = None
    slope: Node | None = None
    primitive: Node | None = None

    @property
    def bodies(self) -> tuple[Node, ...]:
        """What a potential is made of; empty for a function of the table."""
        return tuple(body for body in (self.slope, self.primitive) if body is not None)


@dataclass(frozen=True, eq=False, repr=False)
class Map(Node):
    """A scalar function of each element."""

    function: Function
    argument: Node

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes this one is computed from."""
        return (self.argument,)


@dataclass(frozen=True)
class Guard:
    """Which entries take part; ``axes[k]`` is the axis of the argument that the k-th axis of the indicator is."""

    indicator: Indicator
    axes: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Reduction(Node):
    """An operation along axes of its argument, of the guarded entries alone."""

    argument: Node
    axes: tuple[int, ...]
    guard: Guard | None

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes this one is computed from."""
        return (self.argument, *((self.guard.indicator,) if self.guard else ()))


class Softmax(Reduction):
    """``exp(a) / sum exp(a)`` along the axes; weight 0 where the guard is false, all of them if it is nowhere true."""


class LogSumExp(Reduction):
    """``log sum exp(a)`` along the axes, which go; 0 with no slope where the guard is nowhere true."""


class Max(Reduction):
    """The largest entry along the axes, which go; 0 with no slope where the guard is nowhere true."""


class ArgMax(Reduction):
    """1 at the first largest entry along the axes, else 0."""


@dataclass(frozen=True, eq=False, repr=False)
class Indicator(Node):
    """1 where the condition on the node's own axes holds, else 0."""

    condition: IndexExpr

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes this one is computed from."""
        return inputs_of(self.condition)


@dataclass(frozen=True, eq=False, repr=False)
class Position(Node):
    """The integer value of an index expression on the node's own axes, as a real number."""

    value: IndexExpr

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes this one is computed from."""
        return inputs_of(self.value)


@dataclass(frozen=True, eq=False, repr=False)
class Stop(Node):
    """``frozen`` (constant in forces, trained through) or ``detach`` (constant in every derivative)."""

    argument: Node
    mode: str

    @property
    def children(self) -> tuple[Node, ...]:
        """The nodes this one is computed from."""
        return (self.argument,)


def inputs_of(expr: IndexExpr) -> tuple[Node, ...]:
    """The inputs an index expression reads, each once, in order."""
    found = (a for e in expr.walk() for a in e.args if isinstance(a, Input))
    return tuple(dict.fromkeys(found))


def walk(roots: Iterable[Node]) -> Iterator[Node]:
    """Every node that the roots need, each once, children first; iterative, so that depth is no limit."""
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in reversed(list(roots))]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))
