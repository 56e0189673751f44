"""Expressions of arrays under construction: a tree, what a writer wants to know of its array, and a vocabulary.

A library of arrays is a class of codes: the operations that libraries write in their own ways are its methods, which
are NumPy's here, under the library's prefix; for what NumPy has no name for, functions of the runtime. What all write
alike (``a + b``, ``a @ b``, ``a.sum(1)``, ``a.T``, ``a[:, None]``) is written here, and so are calls of functions that
each library's runtime has under one name (``windows``, ``gather``, ``first_largest``).

Where a number has to be an array it has the form of a float (``1.0 * mask``, ``np.full(shape, 0.5)``), so that the
dtype of the params decides where a library lets it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self, TypeAlias

from energyc.code.tree.expressions import Attribute, Binary, Expr, Number, Slice, Tuple, Unary, call, literal, number
from energyc.code.tree.quotation import quote

#: ``:`` among the indices of a tensor.
ALL = Slice()
#: The offset of windows, and the counts and strides of the axes that take the place of one.
Windows: TypeAlias = "tuple[int, tuple[int, ...], tuple[int, ...]]"
#: What stands for an expression: itself, code, or plain data.
Part: TypeAlias = "Expr | Code | float | str | tuple[int, ...] | None"


@dataclass(frozen=True)
class Code:
    """An expression of an array.

    ``permuted`` is the array that this is a permutation of, with the order, so that a second permutation replaces the
    first. ``windowed`` and ``overlapped`` are the arguments of a call of ``windows`` or ``overlap_add``, so that the
    same along a further axis extends the call. A sum has its ``mean`` beside it, for whoever divides by the sizes of
    what it is ``over``: labels of the product it belongs to, and once that is written, dims.
    """

    expr: Expr
    permuted: tuple[Self, tuple[int, ...]] | None = field(default=None, compare=False)
    mean: Self | None = field(default=None, compare=False)
    over: tuple[int | str, ...] = field(default=(), compare=False)
    windowed: tuple[Self, tuple[int, ...], Windows] | None = field(default=None, compare=False)
    overlapped: tuple[Self, tuple[int, ...], int, tuple[int, ...]] | None = field(default=None, compare=False)

    #: The name of the target, for the table of functions, and how its modules call their library.
    target: ClassVar[str]
    library: ClassVar[str] = "np"
    #: From how many numbers a sample on a sum of products of two arrays, number by number, is an einsum.
    joined: ClassVar[float] = math.inf

    @property
    def plain(self) -> Self:
        """The same without its mean."""
        return replace(self, mean=None, over=())

    def method(self, name: str, *arguments: Part) -> Self:
        """``self.name(arguments)``."""
        return type(self)(self.expr.method(name, *map(tree, arguments)))

    def attribute(self, name: str) -> Self:
        """``self.name``."""
        return type(self)(Attribute(self.expr, name))

    def at(self, *indices: Part) -> Self:
        """``self[indices]``."""
        return type(self)(self.expr[tuple(map(tree, indices))])

    @classmethod
    def quoted(cls, text: str, /, **holes: Part) -> Self:
        """Python with holes, as :func:`energyc.code.tree.quotation.quote` reads it."""
        return cls(quote(text, **{name: tree(part) for name, part in holes.items()}))

    @classmethod
    def called(cls, function: str, *arguments: Part) -> Self:
        """A call of a function, of the runtime by its name alone."""
        return cls(call(function, *map(tree, arguments)))

    @classmethod
    def formed(cls, form: str, u: Code) -> Self:
        """A function's form, as :class:`energyc.mathematics.functions.Form` has it, for an argument."""
        return cls(quote(form, u=u.expr, atom=u.expr))

    def windows(self, axis: int, windows: Windows) -> Self:
        """``windows(self, axis, offset, counts, strides)``; of several axes at once where they have the same."""
        source, axes = self, tuple[int, ...]((axis,))
        if self.windowed is not None and self.windowed[2] == windows:
            inner, before, _ = self.windowed
            own = axis - len(before) * (len(windows[1]) - 1)
            if own > before[-1]:
                source, axes = inner, (*before, own)
        return replace(self.called("windows", source, one_or_all(axes), *windows), windowed=(source, axes, windows))

    def overlap_add(self, sizes: tuple[int, ...], offset: int, strides: tuple[int, ...]) -> Self:
        """``overlap_add(self, sizes, offset, strides)``."""
        made = self.called("overlap_add", self, one_or_all(sizes), offset, strides)
        return replace(made, overlapped=(self, sizes, offset, strides))

    # ------------------------------------------------------------ what libraries write in their own ways, NumPy's

    @classmethod
    def of_library(cls, function: str, *arguments: Part) -> Self:
        """A call of a function of the library."""
        return cls.called(f"{cls.library}.{function}", *arguments)

    @classmethod
    def full(cls, shape: Part, value: Part, kind: Literal["real", "bool", "int"] = "real") -> Self:
        """``np.full(shape, value)``."""
        value = tree(value)
        if kind == "real" and isinstance(value, Number):
            value = Number(float(value.value))
        return cls.of_library("full", shape, value)

    @classmethod
    def positions(cls, size: int, axis: int, rank: int) -> Self:
        """``np.arange(size)[None, :]``."""
        made = cls.of_library("arange", size)
        return made if rank == 1 else made.at(*(ALL if k == axis else None for k in range(rank)))

    @classmethod
    def count(cls, index: Self, size: int) -> Self:
        """``segment_count`` of the runtime."""
        return cls.called("segment_count", index, size)

    def einsum(self, equation: str, *others: Self) -> Self:
        """``np.einsum``."""
        return self.of_library("einsum", equation, self, *others)

    def swapped(self, first: int, second: int) -> Self:
        """``x.swapaxes(first, second)``."""
        return self.method("swapaxes", first, second)

    def reordered(self, order: Sequence[int]) -> Self:
        """``x.transpose(order)``."""
        return self.method("transpose", *order)

    def first_axis(self, axis: int) -> Self:
        """``np.moveaxis(x, axis, 0)``."""
        return self.of_library("moveaxis", self, axis, 0)

    def expanded(self, *shape: Part) -> Self:
        """``np.broadcast_to(x, shape)``."""
        return self.of_library("broadcast_to", self, Tuple(tuple(map(tree, shape))))

    def spread(self, batched: bool, sizes: Sequence[int]) -> Self:
        """``np.broadcast_to(x, sizes)``, and ``spread`` of the runtime behind a batch."""
        return self.called("spread", self, tuple(sizes)) if batched else self.expanded(*sizes)

    def merged(self, first: int, last: int | None = None) -> Self:
        """``merged`` of the runtime."""
        return self.called("merged", self, first, *([] if last is None else [last]))

    def rows(self, first: int, sizes: Sequence[int]) -> Self:
        """``rows`` of the runtime."""
        return self.called("rows", self, first, tuple(sizes))

    def parted(self, axis: int, sizes: Sequence[int]) -> Self:
        """``parted`` of the runtime."""
        return self.called("parted", self, axis, tuple(sizes))

    def placed(self, before: int, after: int) -> Self:
        """``placed`` of the runtime."""
        return self.called("placed", self, before, after)

    def taken(self, index: Self, axis: int) -> Self:
        """``np.take_along_axis(x, index, axis)``."""
        return self.of_library("take_along_axis", self, index, axis)

    def magnitude(self) -> Self:
        """``np.abs(x)``."""
        return self.of_library("abs", self)

    def real(self) -> Self:
        """``1.0 * x``."""
        return type(self)(product(type(self)(Number(1.0)), self).expr)

    def masked(self, mask: Self) -> Self:
        """``np.where(mask, x, -np.inf)``."""
        return self.of_library("where", mask, self, self.quoted(f"-{self.library}.inf"))

    def stopped(self) -> Self:
        """The same, a constant to differentiation."""
        raise NotImplementedError

    def softmax(self, axes: Sequence[int], sizes: Sequence[int]) -> Self:
        """The softmax along neighbouring axes of these sizes; nowhere is every entry -inf."""
        raise NotImplementedError

    def logsumexp(self, axes: Sequence[int]) -> Self:
        """log sum exp along axes."""
        raise NotImplementedError


def tree(part: Part) -> Expr:
    """The expression that something stands for."""
    if isinstance(part, Code):
        return part.expr
    return part if isinstance(part, Expr) else literal(part)


def one_or_all(axes: Sequence[int]) -> int | tuple[int, ...]:
    """Axes as libraries take them: one alone, several as a tuple."""
    return axes[0] if len(axes) == 1 else tuple(axes)


def product(a: Code, b: Code, operator: str = "*") -> Code:
    """``a * b``."""
    return type(b)(Binary(operator, a.expr, b.expr))


def scaled(factor: float, code: Code) -> Code:
    """``factor * code``."""
    if factor == 1:
        return code
    if factor == -1:
        return type(code)(Unary("-", code.expr))
    return type(code)(Binary("*", number(factor), code.expr))
