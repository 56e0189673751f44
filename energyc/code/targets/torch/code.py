"""The vocabulary of PyTorch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from energyc.code.module.runtime import formed, runtime
from energyc.code.targets.arrays.code import Code, Part, one_or_all, tree
from energyc.code.tree.expressions import Unary, call, number
from energyc.code.tree.expressions import name as dotted

_DTYPES = {"real": ", dtype=self.dtype", "bool": ", dtype=torch.bool", "int": ""}


class TorchCode(Code):
    """An expression of a tensor."""

    target: ClassVar[str] = "torch"
    library: ClassVar[str] = "torch"

    @classmethod
    def called(cls, function: str, *arguments: Part) -> Self:
        """A call of a function, of the runtime by its name alone."""
        known = function if "." in function else runtime(function)
        return cls(call(known, *map(tree, arguments)))

    @classmethod
    def formed(cls, form: str, u: Code) -> Self:
        """A form of the table of functions for an argument."""
        return cls(formed(form, u.expr))

    @classmethod
    def full(cls, shape: Part, value: Part, kind: Literal["real", "bool", "int"] = "real") -> Self:
        """``torch.full(shape, value)`` on the device."""
        form = f"torch.full({{shape}}, {{value}}, device=self.device{_DTYPES[kind]})"
        return cls.quoted(form, shape=shape, value=value)

    @classmethod
    def positions(cls, size: int, axis: int, rank: int) -> Self:
        """``positions(size, axis, rank)`` of the runtime."""
        return cls.called("positions", size, axis, rank, dotted("self.device"))

    @classmethod
    def count(cls, index: Self, size: int) -> Self:
        """``segment_count`` of the runtime."""
        return cls.called("segment_count", index, size, dotted("self.dtype"))

    def einsum(self, equation: str, *others: Self) -> Self:
        """``torch.einsum``."""
        return self.called("torch.einsum", equation, self, *others)

    def swapped(self, first: int, second: int) -> Self:
        """``x.transpose(first, second)``."""
        return self.method("transpose", first, second)

    def reordered(self, order: Sequence[int]) -> Self:
        """``x.permute(order)``."""
        return self.method("permute", *order)

    def first_axis(self, axis: int) -> Self:
        """``x.movedim(axis, 0)``."""
        return self.method("movedim", axis, 0)

    def expanded(self, *shape: Part) -> Self:
        """``x.expand(shape)``."""
        return self.method("expand", *shape)

    def spread(self, batched: bool, sizes: Sequence[int]) -> Self:
        """``x.expand(-1, sizes)``."""
        return self.method("expand", *([-1] if batched else []), *sizes)

    def merged(self, first: int, last: int | None = None) -> Self:
        """``x.flatten(first, last)``."""
        return self.method("flatten", first, *([] if last is None else [last]))

    def rows(self, first: int, sizes: Sequence[int]) -> Self:
        """``x.expand(-1, sizes).flatten(first)``."""
        return self.method("expand", *[-1] * first, *sizes).method("flatten", first)

    def parted(self, axis: int, sizes: Sequence[int]) -> Self:
        """``x.unflatten(axis, sizes)``."""
        return self.method("unflatten", axis, tuple(sizes))

    def placed(self, before: int, after: int) -> Self:
        """``functional.pad(x[..., None])``."""
        return self.quoted("functional.pad({x}[..., None], {widths})", x=self, widths=(before, after))

    def taken(self, index: Self, axis: int) -> Self:
        """``x.take_along_dim(index, axis)``."""
        return self.method("take_along_dim", index, axis)

    def magnitude(self) -> Self:
        """``x.abs()``."""
        return self.method("abs")

    def real(self) -> Self:
        """``x.to(self.dtype)``."""
        return self.method("to", dotted("self.dtype"))

    def stopped(self) -> Self:
        """``x.detach()``."""
        return self.method("detach")

    def masked(self, mask: Self) -> Self:
        """``x.masked_fill(~mask, -inf)``."""
        return self.method("masked_fill", Unary("~", mask.expr), number(-math.inf))

    def softmax(self, axes: Sequence[int], sizes: Sequence[int]) -> Self:
        """``x.softmax(axis)``, of several axes as one."""
        if len(axes) == 1:
            return self.method("softmax", axes[0])
        flat = self.method("flatten", axes[0], axes[-1]).method("softmax", axes[0])
        return flat.method("unflatten", axes[0], tuple(sizes))

    def logsumexp(self, axes: Sequence[int]) -> Self:
        """``x.logsumexp(axes)``."""
        return self.method("logsumexp", one_or_all(axes))
