"""Pieces of Python expressions that know how tightly they bind."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

SUM, PRODUCT, UNARY, ATOM = 1, 2, 3, 4


@dataclass(frozen=True)
class Code:
    """An expression's text; ``level`` is its outermost operator, ``fresh`` whether its tensor is nobody else's.

    ``permuted`` tells what this is a permutation of, so that another one on top of it can take its place. A sum
    has its ``mean`` beside it, for whoever divides by the sizes of what it is ``over``: labels of the product it
    belongs to, and once that is written, dims.
    """

    text: str
    level: int = ATOM
    fresh: bool = False
    permuted: tuple[Code, tuple[int, ...]] | None = field(default=None, compare=False)
    mean: Code | None = field(default=None, compare=False)
    over: tuple[int | str, ...] = field(default=(), compare=False)

    def at(self, level: int) -> str:
        """The text, in parentheses where it binds less tightly than ``level``."""
        return self.text if self.level >= level else f"({self.text})"

    @property
    def plain(self) -> Code:
        """The same without its mean."""
        return replace(self, mean=None, over=())

    def method(self, call: str, *, fresh: bool = False) -> Code:
        """``self.call``."""
        return Code(f"{self.at(ATOM)}.{call}", ATOM, fresh)


def product(a: Code, b: Code, operator: str = "*") -> Code:
    """``a * b``."""
    right = b.at(UNARY)
    return Code(f"{a.at(PRODUCT)} {operator} {right}", PRODUCT, True)


def number(value: float) -> str:
    """A float as Python writes it, integers without a fraction."""
    if not math.isfinite(value):
        return f'float("{value}")'
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def scaled(factor: float, code: Code) -> Code:
    """``factor * code``."""
    if factor == 1:
        return code
    if factor == -1:
        return Code(f"-{code.at(UNARY)}", UNARY, True)
    return Code(f"{number(factor)} * {code.at(UNARY)}", PRODUCT, True)
