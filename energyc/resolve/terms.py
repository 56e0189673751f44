"""Expressions once every name is resolved: what stands between the tree of the text and the graph.

Indices are objects, not names, so that nothing can be captured when a function is put in its place. The dim of an
index is found while an equation is read; the graph is made when all of them are known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from energyc.diagnostics import Span
from energyc.ir import Coefficient, Function, IndexExpr, Node


@dataclass(eq=False)
class Index:
    """An index where it is bound; ``dim`` is filled in at the first place that tells it, ``reason`` is that place."""

    name: str
    span: Span
    dim: str | None = None
    reason: Span | None = None
    poisoned: bool = False

    @property
    def known(self) -> str:
        """The dim, which has been found."""
        assert self.dim is not None, f"the dim of index {self.name} was not found"
        return self.dim


def position_of(index: Index) -> IndexExpr:
    """An index as an integer; :class:`IndexExpr` then speaks of indices where in the graph it speaks of axes."""
    return IndexExpr("axis", (index,))  # type: ignore[arg-type]


def plain_index(expr: IndexExpr) -> Index | None:
    """The index that an expression is, or None where it is more than one."""
    return expr.args[0] if expr.op == "axis" and isinstance(expr.args[0], Index) else None


def indices_of(expr: IndexExpr | None) -> list[Index]:
    """The indices that occur, each once, in order."""
    if expr is None:
        return []
    return list(dict.fromkeys(e.args[0] for e in expr.walk() if e.op == "axis"))  # type: ignore[misc]


@dataclass(frozen=True, eq=False)
class Term:
    """A real number for each position of its free indices."""

    span: Span


@dataclass(frozen=True, eq=False)
class Bad(Term):
    """What a mistake was already reported in."""


@dataclass(frozen=True, eq=False)
class Scalar(Term):
    """An exact number; ``integer`` is the same as an index expression, where it is made of integers and dims."""

    coefficient: Coefficient
    integer: IndexExpr | None = None


@dataclass(frozen=True, eq=False)
class Integer(Term):
    """Arithmetic on indices."""

    value: IndexExpr


@dataclass(frozen=True, eq=False)
class Element(Term):
    """An element of a tensor: a place for each axis."""

    node: Node
    places: tuple[IndexExpr, ...]


@dataclass(frozen=True, eq=False)
class Share(Term):
    """``1 / D`` for the dim D of an index, which is found only when the equation was read whole."""

    index: Index


@dataclass(frozen=True, eq=False)
class Truth(Term):
    """1 where a condition holds, else 0."""

    condition: IndexExpr


@dataclass(frozen=True, eq=False)
class Sum(Term):
    """Terms added."""

    terms: tuple[Term, ...]


@dataclass(frozen=True, eq=False)
class Product(Term):
    """Factors multiplied."""

    factors: tuple[Term, ...]


@dataclass(frozen=True, eq=False)
class Power(Term):
    """A fixed power."""

    base: Term
    exponent: Fraction


@dataclass(frozen=True, eq=False)
class Apply(Term):
    """A scalar function, or its slope, at each element."""

    function: Function
    argument: Term
    slope: bool = False


@dataclass(frozen=True, eq=False)
class Slope(Term):
    """The slope of a scalar body, a node over its argument, at each element."""

    body: Node
    argument: Term


@dataclass(frozen=True, eq=False)
class Reduce(Term):
    """``sum``, ``logsumexp``, ``max`` (the indices go), ``softmax``, ``argmax`` (they stay) of the guarded entries."""

    kind: str
    indices: tuple[Index, ...]
    guard: IndexExpr | None
    body: Term


@dataclass(frozen=True, eq=False)
class Stopped(Term):
    """``frozen(e)`` or ``detach(e)``."""

    mode: str
    body: Term


@dataclass(frozen=True)
class Window:
    """A place that must lie in its dim, and the conditions under which it is read: checked when all sizes are known."""

    place: IndexExpr
    dim: str
    tensor: str
    conditions: tuple[IndexExpr, ...]
    span: Span


@dataclass
class Frame:
    """What is gathered while one equation is read."""

    owner: str
    span: Span
    introduced: list[Index] = field(default_factory=list)
    unbound: dict[str, Index] = field(default_factory=dict)
    windows: list[Window] = field(default_factory=list)
    reads: dict[str, Span] = field(default_factory=dict)
