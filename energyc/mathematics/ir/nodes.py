"""The nodes of the graph: tensors with ordered, nominal dims.

A node is a closed tensor: index names live only inside an einsum, as numbers, so that no index can be captured.
Windows, gathers, fixed positions and Kronecker deltas are all the same thing, an :class:`Indicator` among the
operands of an einsum: ``x[c, 2*i + p]`` is ``sum[u]([u == 2*i + p] * x[c, u])``, and its adjoint is again an einsum.
The batch axis is not a dim: a node is ``batched`` where something below it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, TypeGuard

from energyc.mathematics.functions import ScalarFunction, scalar_function
from energyc.mathematics.ir.coefficient import Coefficient
from energyc.mathematics.ir.indexing import IndexExpr
from energyc.mathematics.ir.node import Facts, Node


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

    facts = Facts()

    coefficient: Coefficient
    operands: tuple[Operand, ...]
    labels: tuple[str, ...]
    out: tuple[int, ...]

    @cached_property
    def children(self) -> tuple[Node, ...]:
        return tuple(operand.node for operand in self.operands)

    @property
    def contracted(self) -> tuple[int, ...]:
        """The labels that are summed over."""
        return tuple(k for k in range(len(self.labels)) if k not in self.out)


@dataclass(frozen=True, eq=False, repr=False)
class Add(Node):
    """``sum of coefficient * node``; all of the same dims."""

    facts = Facts()

    terms: tuple[tuple[Coefficient, Node], ...]

    @cached_property
    def children(self) -> tuple[Node, ...]:
        return tuple(node for _, node in self.terms)


@dataclass(frozen=True)
class Function:
    """A scalar function: a name of the table in :mod:`energyc.mathematics.functions`.

    ``power`` alone has an ``exponent``. A potential declared by its slope (``fn phi'(u) = ...``) has its
    slope, and its closed form ``primitive``, as nodes over the argument ``u``: an :class:`Input` of kind ``argument``
    and no dims.
    """

    name: str
    exponent: Fraction | None = None
    slope: Node | None = None
    primitive: Node | None = None

    @property
    def bodies(self) -> tuple[Node, ...]:
        """The slope and closed form of a potential; empty for a function of the table."""
        return tuple(body for body in (self.slope, self.primitive) if body is not None)

    @property
    def entry(self) -> ScalarFunction:
        """The function's entry in the table. Raises KeyError for a potential, whatever its name, or an unknown name."""
        if self.slope is not None:
            raise KeyError(f"{self.name} is a potential of the spec")
        return scalar_function(self.name, self.exponent)

    def named(self, name: str) -> bool:
        """Whether this is the table's function of that name; a spec may call a potential of its own the same."""
        return self.slope is None and self.name == name

    @property
    def is_condition(self) -> bool:
        """Whether it is 1 where a condition on its argument holds, else 0."""
        return self.named("above") or self.named("reached")


@dataclass(frozen=True, eq=False, repr=False)
class Map(Node):
    """A scalar function of each element."""

    facts = Facts()

    function: Function
    argument: Node

    @cached_property
    def children(self) -> tuple[Node, ...]:
        return (self.argument,)


def is_mask(node: Node) -> TypeGuard[Map]:
    """Whether a node is 1 where a condition on real values holds, else 0."""
    return isinstance(node, Map) and node.function.is_condition


@dataclass(frozen=True)
class Guard:
    """The condition for an entry to take part; the k-th axis of the indicator is axis ``axes[k]`` of the argument."""

    indicator: Indicator
    axes: tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Reduction(Node, abstract=True):
    """An operation along axes of its argument, over the guarded entries alone.

    ``operator`` is its name in every text form, ``keeps_axes`` whether the axes that it reduces stay in the result.
    """

    operator: ClassVar[str]
    keeps_axes: ClassVar[bool]

    argument: Node
    axes: tuple[int, ...]
    guard: Guard | None

    @cached_property
    def children(self) -> tuple[Node, ...]:
        return (self.argument, *((self.guard.indicator,) if self.guard else ()))

    @property
    def remaining(self) -> tuple[int, ...]:
        """The axes of the argument that are axes of the result."""
        return tuple(k for k in range(len(self.argument.dims)) if self.keeps_axes or k not in self.axes)


class Softmax(Reduction):
    """``exp(a) / sum exp(a)`` along the axes; 0 where the guard is false, and everywhere if it is nowhere true."""

    facts = Facts(nonnegative=True)
    operator = "softmax"
    keeps_axes = True


class LogSumExp(Reduction):
    """``log sum exp(a)`` over the axes, which are removed; 0 with no slope where the guard is nowhere true."""

    facts = Facts()
    operator = "logsumexp"
    keeps_axes = False


class Max(Reduction):
    """The largest entry over the axes, which are removed; 0 with no slope where the guard is nowhere true."""

    facts = Facts(analytic=False, degree=1)
    operator = "max"
    keeps_axes = False


class ArgMax(Reduction):
    """1 at the first largest entry along the axes, else 0."""

    facts = Facts(analytic=False, continuous=False, nonnegative=True, degree=0)
    operator = "argmax"
    keeps_axes = True


@dataclass(frozen=True, eq=False, repr=False)
class Indicator(Node):
    """1 where the condition on the node's own axes holds, else 0."""

    facts = Facts(nonnegative=True)

    condition: IndexExpr

    @cached_property
    def children(self) -> tuple[Node, ...]:
        return self.condition.inputs


@dataclass(frozen=True, eq=False, repr=False)
class Position(Node):
    """The integer value of an index expression on the node's own axes, as a real number."""

    facts = Facts()

    value: IndexExpr

    @cached_property
    def children(self) -> tuple[Node, ...]:
        return self.value.inputs


@dataclass(frozen=True, eq=False, repr=False)
class BatchStatistic(Node):
    """The ``mean`` or ``median`` over the samples of a batch, the same for all; constant in every derivative."""

    facts = Facts()

    argument: Node
    kind: str

    @cached_property
    def children(self) -> tuple[Node, ...]:
        return (self.argument,)


@dataclass(frozen=True, eq=False, repr=False)
class Stop(Node):
    """``frozen`` (constant in forces, trained through), ``detach`` (constant in every derivative) or ``barrier``.

    A ``barrier`` stops no derivative. It keeps a let that a flow differentiates by a node of its own, which no einsum
    around it absorbs.
    """

    facts = Facts()

    argument: Node
    mode: str

    @cached_property
    def children(self) -> tuple[Node, ...]:
        return (self.argument,)
