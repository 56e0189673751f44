"""The context that the passes over one file share, and the scope at one place of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from energyc.language.diagnostics import Label, Span
from energyc.language.resolve.clashes import Element, Use, Uses
from energyc.language.resolve.names import Names
from energyc.language.resolve.reporter import Reporter
from energyc.language.resolve.sizes import Sizes
from energyc.language.resolve.terms import Frame, Index, Selection, Term, Unbound
from energyc.language.syntax import ast
from energyc.language.syntax.foreign import counterpart
from energyc.mathematics.ir import Function, Graph, IndexExpr, Node

#: Functions of functions can grow without end.
MOST_INLINED_CALLS = 5_000
#: The most calls that are inlined inside of each other.
DEEPEST_CALL = 64


@dataclass(frozen=True)
class Tensor:
    """A name that has elements: its node and the place of each of its dims."""

    name: str
    kind: str
    node: Node
    places: tuple[Span, ...]

    @property
    def dims(self) -> tuple[str, ...]:
        """The dim of each axis."""
        return self.node.dims

    @property
    def over(self) -> str | None:
        """The dim that the values of an integer input lie in; None for a real tensor."""
        return getattr(self.node, "over", None)

    def with_indices(self) -> str:
        """An element of it in the notation of an equation: ``z[n, d]``."""
        return f"{self.name}[{', '.join(dim.lower() for dim in self.dims)}]" if self.dims else self.name


class Tensors(Protocol):
    """Looks up tensors; the answer is None where the definition is wrong."""

    def tensor(self, name: str) -> Tensor | None:
        """A tensor."""
        ...

    def output(self, layer: str, name: ast.Name) -> Tensor | None:
        """``layer.x``: a state or let of a layer at its rest."""
        ...


class Definitions(Tensors, Protocol):
    """Looks up names that are defined by equations; each is resolved when it is first needed."""

    def potential(self, name: str) -> Function | None:
        """A function given by its slope."""
        ...

    def body(self, name: str) -> Node | None:
        """A function of one number as a node over its argument."""
        ...

    def energy(self, name: str) -> Node | None:
        """An energy term, its family added up."""
        ...


Reader = Callable[["Scope", ast.Expr], Term]


@dataclass
class Context:
    """One file while it is resolved; ``reader`` reads an expression as a real number.

    ``differentiated`` are the names that a ``grad(...)`` of a flow is taken by. The ``selections`` are collected while
    equations are read.
    """

    names: Names
    reporter: Reporter
    graph: Graph
    sizes: Sizes
    reader: Reader
    differentiated: frozenset[str] = frozenset()
    definitions: Definitions = field(init=False)
    uses: Uses = field(default_factory=Uses)
    selections: list[Selection] = field(default_factory=list)
    _inlined_calls: int = 0

    def inlined_calls_left(self) -> int:
        """How many calls may still be inlined after this one."""
        self._inlined_calls += 1
        return MOST_INLINED_CALLS - self._inlined_calls

    def dim(self, name: ast.Name) -> str | None:
        """A dim by its name; reported and None where there is none."""
        help = counterpart("dims", name.text) or f"declare it: `dim {name.text} = ...`"
        if self.names.get(name.text) is not None:
            help = "a size is declared with `dim`: `dim N = 64`"
        if self.names.find(name, ("dim",), self.reporter, "E0210", help) is None:
            return None
        self.sizes.used.add(name.text)
        return name.text if self.sizes.size(name.text) is not None else None

    def dim_sizes(self) -> dict[str, int]:
        """The size of every dim; 1 for one that is wrong."""
        return {entry.name: self.sizes.size(entry.name) or 1 for entry in self.names.of_kind("dim")}


@dataclass
class InContext:
    """What reads a part of a file."""

    context: Context

    @property
    def reporter(self) -> Reporter:
        """Where mistakes are reported."""
        return self.context.reporter


@dataclass(frozen=True)
class Scope:
    """The meaning of names at one place of an equation.

    ``calls`` are the functions being inlined around the place. ``along`` are the indices that such a function works
    along: a reduction in its body that names one is over the argument's own index. ``selected`` are the selections
    around the place: 1 where this side is selected, and 1 where it is not.
    """

    context: Context
    frame: Frame
    indices: Mapping[str, Index] = field(default_factory=dict)
    arguments: Mapping[str, Term] = field(default_factory=dict)
    conditions: tuple[IndexExpr, ...] = ()
    calls: tuple[str, ...] = ()
    along: frozenset[str] = frozenset()
    selected: tuple[tuple[Term, Term], ...] = ()

    @property
    def reporter(self) -> Reporter:
        """Where mistakes are reported."""
        return self.context.reporter

    @property
    def names(self) -> Names:
        """The declarations of the file."""
        return self.context.names

    def real(self, expr: ast.Expr) -> Term:
        """An expression read as a real number."""
        return self.context.reader(self, expr)

    def tensor(self, name: ast.Name) -> Tensor | None:
        """A tensor by its name, noted as read here; None where its definition is wrong."""
        self.frame.reads.setdefault(name.text, name.span)
        return self.context.definitions.tensor(name.text)

    def binding(self, indices: Sequence[Index]) -> Scope:
        """The scope inside a binder."""
        return replace(self, indices={**self.indices, **{index.name: index for index in indices}})

    def under(self, condition: IndexExpr | None) -> Scope:
        """The scope where a condition holds."""
        return self if condition is None else replace(self, conditions=(*self.conditions, condition))

    def where(self, here: Term, elsewhere: Term) -> Scope:
        """The scope of a side of a selection on real values."""
        return replace(self, selected=(*self.selected, (here, elsewhere)))


def introduce(scope: Scope, name: ast.Name, dim: ast.Name | None) -> Index:
    """A new index at its binder, with its dim where that is written."""
    index = Index(name.text, name.span)
    if (outer := scope.indices.get(name.text)) is not None:
        scope.reporter.warn(
            "W0301",
            f"index `{name.text}` is bound again inside an expression that binds it",
            name.span,
            "bound again here",
            labels=[Label(outer.span, "bound here")],
            help="rename one of them: inside, only the inner one can be read",
        )
    if (entry := scope.names.get(name.text)) is not None:
        index.poisoned = entry.is_a_number  # reported as a name that is both (E0204), or here
        if entry.kind == "dim":
            scope.reporter.error(
                "E0305",
                f"`{name.text}` is a dim, and an equation holds indices",
                name.span,
                labels=[entry.label()],
                help=f"name an index of it: `{name.text.lower()} in {name.text}`",
            )
    if dim is not None:
        index.dim, index.reason = scope.context.dim(dim), dim.span
        index.poisoned = index.poisoned or index.dim is None
    scope.frame.introduced.append(index)
    return index


def run_over(
    context: Context,
    index: Index,
    dim: str,
    span: Span,
    place: Span | None = None,
    element: Element | None = None,
    axis: int = 0,
) -> None:
    """Note that an index runs over a dim at a place; two dims for one index are reported once all uses are known.

    ``place`` is where that dim is declared; ``element`` has the index as a slot.
    """
    context.uses.add(Use(index, dim, span, place, element, axis))


def unbound(scope: Scope, name: ast.Name, dim: str | None = None) -> Index:
    """An index that nothing binds; it is noted for one message at the end of the equation."""
    first = Unbound(Index(name.text, name.span), [], tuple(scope.indices.values()), dim)
    noted = scope.frame.unbound.setdefault(name.text, first)
    noted.uses.append(name.span)
    return noted.index
