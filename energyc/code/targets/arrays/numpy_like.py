"""The vocabulary of libraries that follow NumPy: the same functions under a prefix of the library's own.

Where a number has to be an array it has the form of a float (``1.0 * mask``, ``np.full(shape, 0.5)``), so that the
dtype of the params decides where a library lets it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from energyc.code.targets.arrays.code import ALL, Code, Part, product, tree
from energyc.code.tree.expressions import Number, Tuple


class NumpyLike(Code):
    """An expression of an array; what NumPy has no name for is a function of the module."""

    library: ClassVar[str] = "np"

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
        """``segment_count`` of the module."""
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
        """``np.broadcast_to(x, sizes)``, and ``spread`` of the module behind a batch."""
        return self.called("spread", self, tuple(sizes)) if batched else self.expanded(*sizes)

    def merged(self, first: int, last: int | None = None) -> Self:
        """``merged`` of the module."""
        return self.called("merged", self, first, *([] if last is None else [last]))

    def rows(self, first: int, sizes: Sequence[int]) -> Self:
        """``rows`` of the module."""
        return self.called("rows", self, first, tuple(sizes))

    def parted(self, axis: int, sizes: Sequence[int]) -> Self:
        """``parted`` of the module."""
        return self.called("parted", self, axis, tuple(sizes))

    def placed(self, before: int, after: int) -> Self:
        """``placed`` of the module."""
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
