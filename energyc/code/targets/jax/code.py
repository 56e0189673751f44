"""The vocabulary of JAX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Self

from energyc.code.targets.arrays.code import ALL, one_or_all
from energyc.code.targets.arrays.numpy_like import NumpyLike


class JaxCode(NumpyLike):
    """An expression of an array of JAX; numbers stay weakly typed, whether or not JAX may use float64."""

    target: ClassVar[str] = "jax"
    library: ClassVar[str] = "jnp"
    #: Multiplied and then summed, a million products take XLA ten times as long on a CPU, and fewer as long.
    joined: ClassVar[float] = 2**18

    def stopped(self) -> Self:
        """``lax.stop_gradient(x)``."""
        return self.called("lax.stop_gradient", self)

    def softmax(self, axes: Sequence[int], sizes: Sequence[int]) -> Self:
        """``jax.nn.softmax(x, axes)``."""
        return self.called("jax.nn.softmax", self, one_or_all(axes))

    def logsumexp(self, axes: Sequence[int]) -> Self:
        """``jax.nn.logsumexp(x, axes)``."""
        return self.called("jax.nn.logsumexp", self, one_or_all(axes))


class NumpyCode(JaxCode):
    """An expression of an array of NumPy, for what a module computes once."""

    joined: ClassVar[float] = math.inf

    @classmethod
    def positions(cls, size: int, axis: int, rank: int) -> Self:
        """``np.arange(size)[None, :]``."""
        made = cls.called("np.arange", size)
        return made if rank == 1 else made.at(*(ALL if k == axis else None for k in range(rank)))
