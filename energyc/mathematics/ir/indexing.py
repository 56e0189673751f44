"""Integers and truth values computed from indices: guards, windows, gathers, distances between positions.

An expression refers to axes by number: ``axis 0`` is the first axis of the node that holds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from energyc.mathematics.ir.node import Input

Value: TypeAlias = "IndexExpr | int | str | Input"

NUMERIC = frozenset({"axis", "int", "size", "read", "+", "-", "*", "neg", "abs", "floor_div", "mod"})
BOOLEAN = frozenset({"==", "!=", "<", "<=", ">", ">=", "and", "or", "not", "true", "related"})


@dataclass(frozen=True)
class IndexExpr:
    """One operation on integers or truth values.

    =============  =====================================================================
    op             args
    =============  =====================================================================
    axis           (k,) the position along axis k of the holding node
    int            (n,) an integer
    size           (dim,) the size of a dim
    read           (input, *IndexExpr) an element of an integer input: ``idx[t]``
    related        (input, *IndexExpr) whether a relation holds
    + - * abs neg  IndexExprs; also ``floor_div`` and ``mod``, both rounding down
    == != < <= > >=  two IndexExprs
    and or not     truth values; ``true`` has no args
    =============  =====================================================================
    """

    op: str
    args: tuple[Value, ...]

    def __hash__(self) -> int:
        """Computed once, whatever the depth: expressions are parts of keys."""
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.op, self.args))

    @property
    def is_condition(self) -> bool:
        """Whether the value is a truth value."""
        return self.op in BOOLEAN

    @cached_property
    def parts(self) -> tuple[IndexExpr, ...]:
        """The expressions directly inside."""
        return tuple(a for a in self.args if isinstance(a, IndexExpr))

    def walk(self) -> Iterator[IndexExpr]:
        """This expression and all inside it."""
        yield self
        for part in self.parts:
            yield from part.walk()

    def axes(self) -> set[int]:
        """The axes that occur."""
        return {e.args[0] for e in self.walk() if e.op == "axis"}  # type: ignore[misc]

    @cached_property
    def inputs(self) -> tuple[Input, ...]:
        """The inputs that are read, each once, in order."""
        return tuple(dict.fromkeys(a for e in self.walk() for a in e.args if isinstance(a, Input)))

    def renumbered(self, axes: Mapping[int, int]) -> IndexExpr:
        """The expression with axis k renamed to ``axes[k]``."""
        if self.op == "axis":
            return IndexExpr("axis", (axes[self.args[0]],))  # type: ignore[index]
        return IndexExpr(self.op, tuple(a.renumbered(axes) if isinstance(a, IndexExpr) else a for a in self.args))


def axis(k: int) -> IndexExpr:
    """The position along axis k."""
    return IndexExpr("axis", (k,))


def integer(n: int) -> IndexExpr:
    """An integer."""
    return IndexExpr("int", (n,))


def equal(a: IndexExpr, b: IndexExpr) -> IndexExpr:
    """``a == b``."""
    return IndexExpr("==", (a, b))


@dataclass(frozen=True)
class Affine:
    """``offset + sum(stride * axis)`` with all sizes known."""

    offset: int
    strides: tuple[tuple[int, int], ...]

    @staticmethod
    def of(expr: IndexExpr, sizes: Mapping[str, int]) -> Affine | None:
        """The affine form of an expression, or None where it has none."""
        match expr.op:
            case "axis":
                return Affine(0, ((expr.args[0], 1),))  # type: ignore[arg-type]
            case "int":
                return Affine(expr.args[0], ())  # type: ignore[arg-type]
            case "size":
                return Affine(sizes[expr.args[0]], ())  # type: ignore[index]
            case "neg":
                inner = Affine.of(expr.parts[0], sizes)
                return inner and inner.times(-1)
            case "+" | "-":
                left, right = (Affine.of(part, sizes) for part in expr.parts)
                return left and right and left.plus(right.times(-1) if expr.op == "-" else right)
            case "*":
                left, right = (Affine.of(part, sizes) for part in expr.parts)
                if left is None or right is None or (left.strides and right.strides):
                    return None
                return left.times(right.offset) if not right.strides else right.times(left.offset)
        return None

    def times(self, factor: int) -> Affine:
        """The form times an integer."""
        return Affine(self.offset * factor, tuple((k, s * factor) for k, s in self.strides if s * factor))

    def plus(self, other: Affine) -> Affine:
        """The sum of two forms."""
        strides = dict(self.strides)
        for k, s in other.strides:
            strides[k] = strides.get(k, 0) + s
        return Affine(self.offset + other.offset, tuple(sorted((k, s) for k, s in strides.items() if s)))
