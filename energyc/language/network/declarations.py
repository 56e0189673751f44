"""The declarations of a spec: sizes, consts, data, noises, params, ties, states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from energyc.language.diagnostics import Span
from energyc.language.network.sets import ConstraintSet, Structure
from energyc.language.settings.values import Value
from energyc.language.syntax import ast
from energyc.mathematics.ir import Input, Node


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
