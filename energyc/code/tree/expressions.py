"""Expressions of generated code. Brackets are not part of them: a printer sets them by the precedence of operators."""

from __future__ import annotations

import math
from dataclasses import dataclass

from energyc.code.tree.extents import Extent
from energyc.code.tree.node import Node


@dataclass(frozen=True)
class Expr(Node):
    """An expression."""

    def __getitem__(self, index: Expr | tuple[Expr, ...]) -> Subscript:
        """``self[index]``."""
        return Subscript(self, index if isinstance(index, tuple) else (index,))

    def attribute(self, name: str) -> Attribute:
        """``self.name``."""
        return Attribute(self, name)

    def method(self, name: str, /, *arguments: Expr, **keywords: Expr) -> Call:
        """``self.name(arguments)``."""
        return Call(Attribute(self, name), arguments, tuple(keywords.items()))


# ------------------------------------------------------------------ leaves


@dataclass(frozen=True)
class Name(Expr):
    """A variable, a function, a module; in C++ it may be qualified, as ``std::min`` or ``workspace<T>``."""

    id: str


@dataclass(frozen=True)
class Number(Expr):
    """A finite number: an int is written without a fraction, a float so that it reads back as the same one."""

    value: int | float

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(f"{self.value} is not a number that a program can spell")


@dataclass(frozen=True)
class String(Expr):
    """A string literal."""

    value: str


@dataclass(frozen=True)
class Constant(Expr):
    """``None``, ``True``, ``False`` or ``...``; C++ writes them its own way."""

    value: object


@dataclass(frozen=True)
class Hole(Expr):
    """A place that is filled before the tree is printed."""

    name: str


# ------------------------------------------------------------------ made of others


@dataclass(frozen=True)
class Attribute(Expr):
    """``value.name``."""

    value: Expr
    name: str


@dataclass(frozen=True)
class Call(Expr):
    """``function(arguments, name=value)``; C++ has no keywords."""

    function: Expr
    arguments: tuple[Expr, ...] = ()
    keywords: tuple[tuple[str, Expr], ...] = ()


@dataclass(frozen=True)
class Subscript(Expr):
    """``value[indices]``."""

    value: Expr
    indices: tuple[Expr, ...]


@dataclass(frozen=True)
class Slice(Expr):
    """``lower:upper:step`` within a subscript; what is None is not written."""

    lower: Expr | None = None
    upper: Expr | None = None
    step: Expr | None = None


@dataclass(frozen=True)
class Unary(Expr):
    """``-a``, ``+a``, ``~a``, ``not a``; in C++ also ``*a``, ``&a``, ``++a`` and ``--a``."""

    operator: str
    operand: Expr


@dataclass(frozen=True)
class Binary(Expr):
    """An operator between two operands, spelt as Python does: ``and`` and ``or`` are among them."""

    operator: str
    left: Expr
    right: Expr

    @property
    def chain(self) -> tuple[Expr, list[Binary]]:
        """The expression furthest on the left, and the operators that are applied to it one after the other.

        Of ``a - b + c`` it is a, ``a - b`` and ``a - b + c``: long sums nest on the left, and no one recurses to that.
        """
        operators: list[Binary] = []
        first: Expr = self
        while isinstance(first, Binary):
            operators.append(first)
            first = first.left
        return first, operators[::-1]


@dataclass(frozen=True)
class Comparison(Expr):
    """``left < right`` and the like."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Conditional(Expr):
    """``yes if test else no``; ``test ? yes : no``."""

    test: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True)
class Tuple(Expr):
    """``(a, b)``; one that is ``bare`` has no brackets where a statement takes it so."""

    items: tuple[Expr, ...]
    bare: bool = False


@dataclass(frozen=True)
class List(Expr):
    """``[a, b]``."""

    items: tuple[Expr, ...]


@dataclass(frozen=True)
class SetOf(Expr):
    """``{a, b}``, of one item at least; in C++ a list of initial values, of any number."""

    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Dict(Expr):
    """``{key: value}``."""

    items: tuple[tuple[Expr, Expr], ...]


@dataclass(frozen=True)
class Starred(Expr):
    """``*value`` among the items of a list or the arguments of a call."""

    value: Expr


# ------------------------------------------------------------------ C++ and forms of functions


@dataclass(frozen=True)
class Cast(Expr):
    """``(type)value``."""

    type: str
    value: Expr


@dataclass(frozen=True)
class Template(Expr):
    """A form that a person wrote in the language of the target, with holes.

    ``text`` has ``{name}`` for each of ``holes``, which is set in brackets unless it is an atom or ``{name}`` is all
    that a pair of brackets holds. ``level`` is the name of what binds loosest in it: ``atom``, ``power``, ``product``.
    """

    text: str
    holes: tuple[tuple[str, Expr], ...] = ()
    level: str = "atom"


# ------------------------------------------------------------------ short ways to write them


class Exact(float):
    """A number that is written as an expression of that very value: ``plus`` or, where it is negative, ``minus``."""

    plus: Expr
    minus: Expr

    def __new__(cls, value: float, plus: Expr, minus: Expr) -> Exact:
        """The number with its expressions."""
        self = super().__new__(cls, value)
        self.plus, self.minus = plus, minus
        return self

    def __neg__(self) -> Exact:
        """The negated number, written likewise."""
        return Exact(-float(self), self.plus, self.minus)

    def __abs__(self) -> Exact:
        """The absolute value, written likewise."""
        return Exact(abs(float(self)), self.plus, self.minus)


def number(value: float) -> Expr:
    """A number as a person writes it: integers without a fraction, what is not finite as ``float("inf")``."""
    if isinstance(value, Exact):
        return value.minus if value < 0 else value.plus
    if not math.isfinite(value):
        return Call(Name("float"), (String(str(float(value))),))
    return Number(int(value) if value == int(value) and abs(value) < 1e15 else value)


def call(function: str | Expr, /, *arguments: Expr, **keywords: Expr) -> Call:
    """A call of a function, which may be given by its name with dots."""
    return Call(name(function) if isinstance(function, str) else function, arguments, tuple(keywords.items()))


def name(dotted: str) -> Expr:
    """A name, or an attribute of one: ``torch.ops.aten``."""
    first, *rest = dotted.split(".")
    made: Expr = Name(first)
    for part in rest:
        made = Attribute(made, part)
    return made


def integers(*values: int) -> Tuple:
    """``(2, 3)``: a tuple of whole numbers, as a shape is."""
    return Tuple(tuple(Number(value) for value in values))


def literal(value: object) -> Expr:
    """Plain data as an expression: strings, numbers, None, truth values, tuples, lists and dicts of these.

    Raises TypeError for anything else.
    """
    match value:
        case None | bool():
            return Constant(value)
        case str():
            return String(value)
        case Extent(name=str(called)):
            return Name(called)
        case int():
            return Number(value)
        case float():
            return Number(value) if math.isfinite(value) and not isinstance(value, Exact) else number(value)
        case tuple():
            return Tuple(tuple(map(literal, value)))
        case list():
            return List(tuple(map(literal, value)))
        case dict():
            return Dict(tuple((literal(key), literal(item)) for key, item in value.items()))
    raise TypeError(f"{value!r} is not plain data")
