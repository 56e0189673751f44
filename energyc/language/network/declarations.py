"""The declarations of a spec: sizes, consts, data, noises, params, ties, states, and the sets that these stay on."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Literal

from energyc.language.diagnostics import Span
from energyc.language.settings.values import Value
from energyc.language.syntax import ast
from energyc.mathematics.ir import Input, Node


@dataclass(frozen=True)
class Structure:
    """A set that a param stays on, beside its box; ``rows`` and ``columns`` are axes of the param.

    ``symmetric``: exchanging rows and columns changes nothing; ``zero_diagonal``: 0 where the indices of rows and
    columns agree; ``orthogonal``: the vectors along the columns, one for each row, are orthonormal; ``sphere``: norm 1
    along the columns, without rows; ``norm``: the operator norm of each matrix is at most ``bound``.
    """

    kind: Literal["symmetric", "zero_diagonal", "orthogonal", "sphere", "norm"]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    bound: float = math.inf

    def at(self, places: Sequence[int]) -> Structure:
        """The same where axis k of the param is found at ``places[k]``."""
        rows, columns = (tuple(places[axis] for axis in axes) for axes in (self.rows, self.columns))
        return replace(self, rows=rows, columns=columns)

    def written(self, dims: Sequence[str]) -> str:
        """The set as a spec writes it, with all dims named."""
        paired = (*self.rows, *self.columns)
        named = {"orthogonal": paired, "norm": paired, "sphere": self.columns}.get(self.kind, self.rows)
        bound = [f"{self.bound:g}"] if self.kind == "norm" else []
        return f"{self.kind}[{', '.join([*bound, *(dims[axis] for axis in named)])}]"

    def exchange(self, rank: int) -> tuple[int, ...]:
        """The permutation of a param's axes that exchanges rows and columns."""
        swap = {**dict(zip(self.rows, self.columns, strict=True)), **dict(zip(self.columns, self.rows, strict=True))}
        return tuple(swap.get(axis, axis) for axis in range(rank))


@dataclass(frozen=True)
class ConstraintSet:
    """A closed set with a metric projection, taken along ``axes`` of the state (all axes for a box and nonnegative).

    ``standardized``: mean 0 and variance 1 (biased); ``sphere``: norm 1; ``simplex``: nonnegative with sum 1;
    ``nonnegative``; ``box``: between ``low`` and ``high``, either may be None.
    """

    kind: Literal["standardized", "sphere", "simplex", "nonnegative", "box"]
    axes: tuple[int, ...]
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Size:
    """A dim: its value, and the dims and consts that its formula names (empty for a literal)."""

    name: str
    value: int
    derived_from: tuple[str, ...]
    tree: ast.Definition | None = None


@dataclass(frozen=True)
class Const:
    """A const: its value, exact where it is a fraction; ``derived_from`` as in a dim."""

    name: str
    value: float
    exact: Fraction | None
    derived_from: tuple[str, ...]
    tree: ast.Definition | None = None


@dataclass(frozen=True)
class Binding:
    """``data NAME = ADAPTER(options)``; options that are dims are given as their ints, and named in ``dims``."""

    name: str
    adapter: str
    options: Mapping[str, Value]
    span: Span
    dims: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class DataInput:
    """A clamp or target and the field that feeds it: (binding, field), or None.

    ``fits`` is False where dims were set so that the field has another shape: the network works, not with these data.
    """

    node: Input
    source: tuple[str, str] | None
    span: Span
    fits: bool = True


@dataclass(frozen=True)
class StartLaw:
    """How a param starts or a noise is drawn: ``normal(std)``, ``uniform(a[, b])``, ``glorot``, ``kaiming``.

    Arguments are floats, ``formulas`` how they are written. ``uniform(a)`` is uniform on [-a, a]. For glorot and
    kaiming the fans are those of language.md's reference.
    """

    name: str
    arguments: tuple[float, ...]
    formulas: tuple[ast.Expr, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Noise:
    """A clamp that nobody feeds: drawn once a relaxation by its law while training, 0 otherwise."""

    node: Input
    law: StartLaw
    span: Span


@dataclass(frozen=True)
class Param:
    """A learnable tensor: its law, or its starting value as a node over consts, its bounds, and its ``structure``.

    One declared in ``repeat L`` has L for its first dim, which ``each``, what one copy reads of it, has not.
    """

    node: Input
    law: StartLaw | None
    start: Node | None
    low: float | None
    high: float | None
    span: Span
    each: Input | None = None
    structure: tuple[Structure, ...] = ()

    @property
    def sets(self) -> str:
        """Its structure as a spec writes it, with all dims named; empty where it has none."""
        return " and ".join(part.written(self.node.dims) for part in self.structure)


@dataclass(frozen=True)
class Tie:
    """A second name for a param's tensor; ``node`` is the (transposed) view; its axis k is the source's ``axes[k]``."""

    name: str
    source: str
    axes: tuple[int, ...]
    node: Node
    span: Span


@dataclass(frozen=True)
class State:
    """A tensor that relaxes: where it starts (None: at zero), and where a clamped phase holds it (None: nowhere)."""

    node: Input
    constraint: ConstraintSet | None
    start: Node | None
    span: Span
    clamped: Node | None = None
