"""What the passes over one file share, and what is in scope at one place of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from energyc.diagnostics import Label, Span
from energyc.ir import Function, Graph, IndexExpr, Node
from energyc.resolve.names import Entry, Names
from energyc.resolve.reporter import Reporter, did_you_mean
from energyc.resolve.sizes import Sizes
from energyc.resolve.terms import Frame, Index, Term
from energyc.syntax import ast


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


class Definitions(Protocol):
    """How names that are defined by equations are looked up; each is resolved when it is first asked for."""

    def tensor(self, name: str) -> Tensor | None:
        """A tensor; None where its definition is wrong."""
        ...

    def potential(self, name: str) -> Function | None:
        """A function given by its slope; None where its definition is wrong."""
        ...

    def body(self, name: str) -> Node | None:
        """A function of one number as a node over its argument; None where its definition is wrong."""
        ...


#: Functions of functions can grow without end.
MOST_CALLS = 5_000
Reader = Callable[["Context", "Scope", ast.Expr], Term]


@dataclass
class Context:
    """One file while it is resolved."""

    names: Names
    reporter: Reporter
    graph: Graph
    sizes: Sizes
    definitions: Definitions
    reader: Reader
    _calls: int = 0

    def calls_left(self) -> int:
        """How many functions may still be put in their place; each call counts."""
        self._calls += 1
        return MOST_CALLS - self._calls

    def real(self, scope: Scope, expr: ast.Expr) -> Term:
        """An expression read as a real number."""
        return self.reader(self, scope, expr)

    def dim(self, name: ast.Name) -> str | None:
        """A dim where it is named; reported and None where there is none of that name."""
        entry = self.names.get(name.text)
        if entry is None or entry.kind != "dim":
            dims = [e.name for e in self.names.of_kind("dim")]
            said = f"`{name.text}` is {entry.spoken}, not a dim" if entry else f"there is no dim `{name.text}`"
            self.reporter.error(
                "E0210", said, name.span, help=did_you_mean(name.text, dims, f"declare it: `dim {name.text} = ...`")
            )
            return None
        self.sizes.used.add(name.text)
        return name.text if self.sizes.size(name.text) is not None else None


@dataclass(frozen=True)
class Scope:
    """What names mean at one place of an equation.

    ``along`` are the indices that a function works along: a reduction in its body that names one is over the
    argument's own index.
    """

    frame: Frame
    indices: Mapping[str, Index] = field(default_factory=dict)
    arguments: Mapping[str, Term] = field(default_factory=dict)
    conditions: tuple[IndexExpr, ...] = ()
    calls: tuple[str, ...] = ()
    along: frozenset[str] = frozenset()

    def bound(self, indices: Sequence[Index]) -> Scope:
        """The scope inside a binder."""
        return replace(self, indices={**self.indices, **{index.name: index for index in indices}})

    def under(self, condition: IndexExpr | None) -> Scope:
        """The scope where a condition holds."""
        return self if condition is None else replace(self, conditions=(*self.conditions, condition))


def introduce(context: Context, scope: Scope, name: ast.Name, dim: ast.Name | None) -> Index:
    """A new index at its binder, with its dim where that is written."""
    index = Index(name.text, name.span)
    if (entry := context.names.get(name.text)) is not None:
        _report_introduced(context, name, entry)
        index.poisoned = True
    if dim is not None:
        found = context.dim(dim)
        index.poisoned = index.poisoned or found is None
        index.dim, index.reason = found, dim.span
    scope.frame.introduced.append(index)
    return index


def _report_introduced(context: Context, name: ast.Name, entry: Entry) -> None:
    """A dim where an index belongs; any other kind was reported as a name that is both (E0204)."""
    if entry.kind == "dim":
        context.reporter.error(
            "E0305",
            f"`{name.text}` is a dim, and an equation holds indices",
            name.span,
            labels=[Label(entry.span, "declared here")],
            help=f"name an index of it: `{name.text.lower()} in {name.text}`",
        )


def run_over(context: Context, index: Index, dim: str, span: Span, place: Span | None = None) -> None:
    """Note that an index runs over a dim at a place; two dims for one index are reported with both places."""
    if index.poisoned:
        return
    if index.dim is None:
        index.dim, index.reason = dim, span
        return
    if index.dim == dim:
        return
    index.poisoned = True
    first = index.reason or index.span
    sizes = context.sizes.size(index.dim), context.sizes.size(dim)
    same = f"; both are {sizes[0]}, but dims are told apart by name" if sizes[0] == sizes[1] else ""
    labels = [Label(first, f"`{index.name}` runs over {index.dim} here")]
    if place is not None:
        labels.append(Label(place, f"declared with {dim} here"))
    context.reporter.error(
        "E0301",
        f"index `{index.name}` runs over two dims, {index.dim} and {dim}{same}",
        span,
        f"and over {dim} here",
        labels=labels,
        help="give each its own index, or declare both with one dim",
    )


def unbound(scope: Scope, name: ast.Name) -> Index:
    """An index that nothing binds; it is noted for one message at the end of the equation."""
    if name.text not in scope.frame.unbound:
        scope.frame.unbound[name.text] = Index(name.text, name.span)
    return scope.frame.unbound[name.text]
