"""Expressions of tensors under construction: a tree, and what a writer wants to know of its tensor."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeAlias

from energyc.code.tree.expressions import Attribute, Binary, Expr, Slice, Unary, call, literal, number
from energyc.code.tree.quotation import quote

#: ``:`` among the indices of a tensor.
ALL = Slice()
#: What stands for an expression: itself, code, or plain data.
Part: TypeAlias = "Expr | Code | float | str | tuple[int, ...] | None"


@dataclass(frozen=True)
class Code:
    """An expression of a tensor; ``fresh`` tells whether the tensor is nobody else's.

    ``permuted`` tells what this is a permutation of, so that another one on top of it can take its place. A sum
    has its ``mean`` beside it, for whoever divides by the sizes of what it is ``over``: labels of the product it
    belongs to, and once that is written, dims.
    """

    expr: Expr
    fresh: bool = False
    permuted: tuple[Code, tuple[int, ...]] | None = field(default=None, compare=False)
    mean: Code | None = field(default=None, compare=False)
    over: tuple[int | str, ...] = field(default=(), compare=False)

    @property
    def plain(self) -> Code:
        """The same without its mean."""
        return replace(self, mean=None, over=())

    def method(self, name: str, *arguments: Part, fresh: bool = False) -> Code:
        """``self.name(arguments)``."""
        return Code(self.expr.method(name, *map(tree, arguments)), fresh)

    def attribute(self, name: str) -> Code:
        """``self.name``."""
        return Code(Attribute(self.expr, name))

    def at(self, *indices: Part) -> Code:
        """``self[indices]``."""
        return Code(self.expr[tuple(map(tree, indices))])


def tree(part: Part) -> Expr:
    """The expression that something stands for."""
    if isinstance(part, Code):
        return part.expr
    return part if isinstance(part, Expr) else literal(part)


def quoted(text: str, /, *, fresh: bool = False, **holes: Part) -> Code:
    """Python with holes, as :func:`energyc.code.tree.quotation.quote` reads it."""
    return Code(quote(text, **{name: tree(part) for name, part in holes.items()}), fresh)


def called(function: str, *arguments: Part, fresh: bool = False) -> Code:
    """A call of a function of the runtime."""
    return Code(call(function, *map(tree, arguments)), fresh)


def product(a: Code, b: Code, operator: str = "*") -> Code:
    """``a * b``."""
    return Code(Binary(operator, a.expr, b.expr), True)


def scaled(factor: float, code: Code) -> Code:
    """``factor * code``."""
    if factor == 1:
        return code
    if factor == -1:
        return Code(Unary("-", code.expr), True)
    return Code(Binary("*", number(factor), code.expr), True)
