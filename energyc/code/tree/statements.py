"""Statements of generated code, those that only C++ has among them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from energyc.code.tree.expressions import Expr, List, Name, Tuple
from energyc.code.tree.node import Node


@dataclass(frozen=True)
class Statement(Node):
    """A statement."""

    @property
    def parts_read(self) -> tuple[Node, ...]:
        """The parts that are read: of an assignment not the plain names on its left."""
        return self.children

    @cached_property
    def names_read(self) -> frozenset[str]:
        """The names that are read, in the statements below as well."""
        return frozenset(names_in(self.parts_read))


def names_in(nodes: Iterable[Node]) -> set[str]:
    """The names that nodes read. Iterative, so that the depth of expressions is not limited."""
    found, waiting = set[str](), list(nodes)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Name):
            found.add(node.id)
        elif isinstance(node, Statement):
            found |= node.names_read
        else:
            waiting += node.children
    return found


def _read_of_target(target: Expr) -> tuple[Expr, ...]:
    """The parts of the target of an assignment that are read: no plain name, but all of ``self.x`` and ``x[k]``."""
    match target:
        case Name():
            return ()
        case Tuple(items) | List(items):
            return tuple(part for item in items for part in _read_of_target(item))
    return (target,)


#: What stands below a head, one statement after the other.
Body = tuple[Statement, ...]


# ------------------------------------------------------------------ simple ones


@dataclass(frozen=True)
class Assign(Statement):
    """``target = value``."""

    target: Expr
    value: Expr

    @property
    def parts_read(self) -> tuple[Node, ...]:
        """The value, and what the target is a part of."""
        return (*_read_of_target(self.target), self.value)


@dataclass(frozen=True)
class Augment(Statement):
    """``target += value``; ``operator`` is ``+``, ``-``, ..."""

    operator: str
    target: Expr
    value: Expr

    @property
    def parts_read(self) -> tuple[Node, ...]:
        """As of an assignment: that a plain name is changed does not keep it alive."""
        return (*_read_of_target(self.target), self.value)


@dataclass(frozen=True)
class Annotated(Statement):
    """``name: type``, with a value or without: a field of a record. A ``comment`` stands behind it."""

    name: str
    type: Expr
    value: Expr | None = None
    comment: str = ""


@dataclass(frozen=True)
class Do(Statement):
    """An expression for its effect."""

    value: Expr


@dataclass(frozen=True)
class Return(Statement):
    """``return value``."""

    value: Expr | None = None


@dataclass(frozen=True)
class Comment(Statement):
    """A remark on what follows; with ``documents`` it says what the next assignment is, as ``#:`` does."""

    text: str
    documents: bool = False


@dataclass(frozen=True)
class Blank(Statement):
    """An empty line."""


@dataclass(frozen=True)
class Import(Statement):
    """``import module as alias``, or ``from module import names``; one name may have an ``alias``."""

    module: str
    names: tuple[str, ...] = ()
    alias: str | None = None


@dataclass(frozen=True)
class Verbatim(Statement):
    """Source that a person wrote, carried as it is, with the names that it ``reads`` and those that it ``defines``."""

    text: str
    reads: frozenset[str] = frozenset()
    defines: frozenset[str] = frozenset()

    @property
    def names_read(self) -> frozenset[str]:
        """As they are given."""
        return self.reads


# ------------------------------------------------------------------ with a body


@dataclass(frozen=True)
class If(Statement):
    """``if test: body else: otherwise``."""

    test: Expr
    body: Body
    otherwise: Body = ()


@dataclass(frozen=True)
class For(Statement):
    """``for target in iterable: body``."""

    target: Expr
    iterable: Expr
    body: Body

    @property
    def parts_read(self) -> tuple[Node, ...]:
        """The iterable, the body, and the container of the target."""
        return (*_read_of_target(self.target), self.iterable, *self.body)


@dataclass(frozen=True)
class Parameter(Node):
    """A parameter of a function: its name, its type, its default."""

    name: str
    type: Expr | None = None
    default: Expr | None = None


@dataclass(frozen=True)
class Function(Statement):
    """A function. ``doc`` are the lines of its docstring; ``before`` decorators, in C++ ``template`` and ``static``.

    ``after`` stands behind the parameters in C++: ``const``.
    """

    name: str
    parameters: tuple[Parameter, ...]
    body: Body
    returns: Expr | None = None
    doc: tuple[str, ...] = ()
    before: tuple[Expr, ...] = ()
    after: str = ""


@dataclass(frozen=True)
class Class(Statement):
    """A class; in C++ a struct, with the parameters of its template in ``before``."""

    name: str
    body: Body
    bases: tuple[Expr, ...] = ()
    doc: tuple[str, ...] = ()
    before: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class Module(Node):
    """A file."""

    body: Body
    doc: tuple[str, ...] = ()


# ------------------------------------------------------------------ C++


@dataclass(frozen=True)
class Declare(Statement):
    """``type name = value;``, with ``size`` an array: ``type name[size] = value;``."""

    type: str
    name: str
    value: Expr | None = None
    size: Expr | None = None


@dataclass(frozen=True)
class Loop(Statement):
    """``for (type name = start; name < end; name += step) body``."""

    type: str
    name: str
    start: Expr
    end: Expr
    body: Body
    step: Expr | None = None


@dataclass(frozen=True)
class Block(Statement):
    """Statements in braces of their own, under a head such as ``namespace {`` has."""

    body: Body
    head: str = ""


@dataclass(frozen=True)
class Directive(Statement):
    """A line for the preprocessor: ``#include <cmath>``."""

    text: str


@dataclass(frozen=True)
class Lambda(Expr):
    """``[captures](parameters) { body }``, the last argument of a call."""

    parameters: tuple[Parameter, ...]
    body: Body
    captures: str = "="
