"""Expressions once every name is resolved: between the tree of the text and the graph.

Indices are objects, not names, so that nothing is captured when a function is inlined. The dim of an index is inferred
while an equation is read; the graph is built when all of them are known. A term keeps its place in the text, for
messages, and is equal to itself alone; kinds that :mod:`energyc.mathematics.expressions` has too have the same names.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from energyc.language.diagnostics import Span
from energyc.language.network import Slope
from energyc.mathematics.ir import Coefficient, Function, IndexExpr, Input, Node


@dataclass(eq=False)
class Index:
    """An index where it is bound.

    ``dim`` is filled in at the first place that determines it, ``reason``; ``poisoned`` says that a mistake about it
    was reported.
    """

    name: str
    span: Span
    dim: str | None = None
    reason: Span | None = None
    poisoned: bool = False

    @property
    def known_dim(self) -> str:
        """The dim, once it was inferred."""
        assert self.dim is not None, f"the dim of index {self.name} was not inferred"
        return self.dim


def position_of(index: Index) -> IndexExpr:
    """An index as an integer: an :class:`IndexExpr` over indices, where those of the graph are over axes."""
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
    """A term with a mistake in it, which was reported."""


@dataclass(frozen=True, eq=False)
class Scalar(Term):
    """An exact number; ``integer`` is its index expression where it is made of integers and dims."""

    coefficient: Coefficient
    integer: IndexExpr | None = None


@dataclass(frozen=True, eq=False)
class IndexValue(Term):
    """Arithmetic on indices."""

    value: IndexExpr


@dataclass(frozen=True, eq=False)
class Element(Term):
    """An element of a tensor: a place for each axis."""

    node: Node
    places: tuple[IndexExpr, ...]


@dataclass(frozen=True, eq=False)
class InverseSize(Term):
    """``1 / D`` for the dim D of an index, which may be inferred only later in the equation."""

    index: Index


@dataclass(frozen=True, eq=False)
class Indicator(Term):
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
class Call(Term):
    """A scalar function, or its slope, at each element."""

    function: Function
    argument: Term
    slope: bool = False


@dataclass(frozen=True, eq=False)
class BodySlope(Term):
    """The slope of a scalar body, a node over its argument, at each element."""

    body: Node
    argument: Term


@dataclass(frozen=True, eq=False)
class Reduction(Term):
    """``sum``, ``logsumexp``, ``max``, which drop the indices, ``softmax``, ``argmax``, which keep them."""

    kind: str
    indices: tuple[Index, ...]
    guard: IndexExpr | None
    body: Term


@dataclass(frozen=True, eq=False)
class Stopped(Term):
    """``frozen(e)`` or ``detach(e)``."""

    mode: str
    body: Term


@dataclass(frozen=True, eq=False)
class OverBatch(Term):
    """``mean[batch](e)`` or ``median[batch](e)``."""

    kind: str
    body: Term


@dataclass(frozen=True, eq=False)
class Chosen(Term):
    """``argument`` where a side of a selection is selected, computed as ``value``, which is harmless elsewhere too."""

    argument: Term
    value: Term


@dataclass(frozen=True, eq=False)
class Whole(Term):
    """A sum that is not multiplied out: a selection, so that formulas and code show it as one."""

    value: Term


def walk_terms(term: Term) -> Iterator[Term]:
    """A term and all in it, each once."""
    seen: dict[int, Term] = {}
    pending = [term]
    while pending:
        here = pending.pop()
        if id(here) not in seen:
            seen[id(here)] = here
            yield here
            pending += _inside(here)


def _inside(term: Term) -> Sequence[Term]:
    match term:
        case Sum(terms=parts) | Product(factors=parts):
            return parts
        case Power(base=inner) | Reduction(body=inner) | Stopped(body=inner) | OverBatch(body=inner):
            return (inner,)
        case Call(argument=inner) | BodySlope(argument=inner) | Chosen(argument=inner) | Whole(value=inner):
            return (inner,)
    return ()


@dataclass(frozen=True, eq=False)
class Selection:
    """``where(condition, a, b)`` of a condition on real values, which changes at the zeros of its edges.

    ``masks`` are 1 where it holds and where it fails. ``place`` is its condition in the text; None where the two sides
    are equal at the edges by construction.
    """

    edges: tuple[Term, ...]
    masks: tuple[Term, Term]
    if_true: Term
    if_false: Term
    place: Span | None


@dataclass(frozen=True)
class Window:
    """A place that must lie in its dim wherever the conditions hold; checked when all sizes are known."""

    place: IndexExpr
    dim: str
    tensor: str
    conditions: tuple[IndexExpr, ...]
    span: Span


@dataclass
class Unbound:
    """An index that nothing binds: the places that use it, and the indices that are bound at the first of them.

    ``dim`` is the dim that it would run over there, where that is known.
    """

    index: Index
    uses: list[Span]
    bound: tuple[Index, ...]
    dim: str | None

    @property
    def probable(self) -> Index | None:
        """The bound index that was probably meant where the unbound one is used once.

        It runs over the same dim, or over none because nothing uses it.
        """
        if self.dim is None or len(self.uses) > 1:
            return None
        return next((index for index in self.bound if index.dim in (self.dim, None)), None)


@dataclass
class Frame:
    """The facts collected while one equation is read; ``reads`` is where each name is first read.

    ``slopes`` are the gradients that a flow reads; None where an equation may read none.
    """

    owner: str
    span: Span
    slopes: dict[Input, Slope] | None = None
    introduced: list[Index] = field(default_factory=list)
    unbound: dict[str, Unbound] = field(default_factory=dict)
    windows: list[Window] = field(default_factory=list)
    reads: dict[str, Span] = field(default_factory=dict)
