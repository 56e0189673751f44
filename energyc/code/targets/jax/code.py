"""The vocabulary of JAX.

Where a number has to be an array it stays weakly typed (``1.0 * mask``, ``jnp.full(shape, 0.5)``), so that the dtype
of the params decides, whether or not JAX may use float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

from energyc.code.targets.arrays.code import ALL, Code, Part, one_or_all, product, tree
from energyc.code.tree.expressions import Number, Tuple


class JaxCode(Code):
    """An expression of an array of JAX."""

    target: ClassVar[str] = "jax"

    @classmethod
    def full(cls, shape: Part, value: Part, kind: Literal["real", "bool", "int"] = "real") -> Self:
        """``jnp.full(shape, value)``."""
        if kind == "real" and isinstance(value, Number):
            value = Number(float(value.value))
        return cls.called("jnp.full", shape, value, fresh=True)

    @classmethod
    def positions(cls, size: int, axis: int, rank: int) -> Self:
        """``jnp.arange(size)[None, :]``."""
        made = cls.called("jnp.arange", size)
        return made if rank == 1 else made.at(*(ALL if k == axis else None for k in range(rank)))

    @classmethod
    def count(cls, index: Self, size: int) -> Self:
        """``segment_count`` of the module."""
        return cls.called("segment_count", index, size)

    def einsum(self, equation: str, *others: Self) -> Self:
        """``jnp.einsum``."""
        return self.called("jnp.einsum", equation, self, *others)

    def swapped(self, first: int, second: int) -> Self:
        """``x.swapaxes(first, second)``."""
        return self.method("swapaxes", first, second)

    def reordered(self, order: Sequence[int]) -> Self:
        """``x.transpose(order)``."""
        return self.method("transpose", *order)

    def first_axis(self, axis: int) -> Self:
        """``jnp.moveaxis(x, axis, 0)``."""
        return self.called("jnp.moveaxis", self, axis, 0)

    def expanded(self, *shape: Part) -> Self:
        """``jnp.broadcast_to(x, shape)``."""
        return self.quoted("jnp.broadcast_to({x}, {shape})", x=self, shape=tuple_of(shape))

    def spread(self, batched: bool, sizes: Sequence[int]) -> Self:
        """``jnp.broadcast_to(x, sizes)``, and ``spread`` of the module behind a batch."""
        return self.called("spread" if batched else "jnp.broadcast_to", self, tuple(sizes))

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
        """``jnp.take_along_axis(x, index, axis)``."""
        return self.called("jnp.take_along_axis", self, index, axis)

    def magnitude(self) -> Self:
        """``jnp.abs(x)``."""
        return self.called("jnp.abs", self)

    def real(self) -> Self:
        """``1.0 * x``."""
        return type(self)(product(type(self)(Number(1.0)), self).expr)

    def stopped(self) -> Self:
        """``lax.stop_gradient(x)``."""
        return self.called("lax.stop_gradient", self)

    def masked(self, mask: Self, *, in_place: bool) -> Self:
        """``jnp.where(mask, x, -jnp.inf)``."""
        return self.quoted("jnp.where({mask}, {x}, -jnp.inf)", mask=mask, x=self)

    def softmax(self, axes: Sequence[int], sizes: Sequence[int]) -> Self:
        """``jax.nn.softmax(x, axes)``."""
        return self.called("jax.nn.softmax", self, one_or_all(axes))

    def logsumexp(self, axes: Sequence[int]) -> Self:
        """``jax.nn.logsumexp(x, axes)``."""
        return self.called("jax.nn.logsumexp", self, one_or_all(axes))


def tuple_of(parts: Sequence[Part]) -> Part:
    """Parts as one tuple."""
    return Tuple(tuple(map(tree, parts)))


class NumpyCode(JaxCode):
    """An expression of an array of NumPy, for what a module computes once."""

    @classmethod
    def positions(cls, size: int, axis: int, rank: int) -> Self:
        """``np.arange(size)[None, :]``."""
        made = cls.called("np.arange", size)
        return made if rank == 1 else made.at(*(ALL if k == axis else None for k in range(rank)))
