"""The vocabulary of JAX, and the writer of nodes in it."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import ClassVar, Self

from energyc.code.targets.arrays.code import ALL, Code, Part, one_or_all
from energyc.code.targets.arrays.nodes import ArrayWriter
from energyc.code.targets.jax.functions import form
from energyc.mathematics.functions import Form, ScalarFunction
from energyc.mathematics.ir import BatchStatistic, LogSumExp, Map, Node


class JaxCode(Code):
    """An expression of an array of JAX; numbers stay weakly typed, whether or not JAX may use float64."""

    target: ClassVar[str] = "jax"
    library: ClassVar[str] = "jnp"
    #: Multiplied and then summed, a million products take XLA ten times as long on a CPU, and fewer as long.
    joined: ClassVar[float] = 2**18

    @classmethod
    def called(cls, function: str, *arguments: Part) -> Self:
        """A call of a function of a library, or of ``energyc.jax`` by its name alone."""
        return super().called(function if "." in function else f"ej.{function}", *arguments)

    def merged(self, first: int, last: int | None = None) -> Self:
        """``lax.collapse(x, first)``; the last axis that is taken is not named by its number, but by the next."""
        return self.called("lax.collapse", self, first, *([] if last is None else [last + 1]))

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


class JaxWriter(ArrayWriter):
    """Writes nodes as expressions of JAX of what is already named.

    ``poles`` are functions whose slopes may be infinite on the rim of a set: their derivatives are those of
    ``energyc.jax``, where an infinite slope times a direction of 0 is 0.
    """

    kind: ClassVar[type[Code]] = JaxCode
    poles: Collection[Node] = frozenset()

    def form(self, function: ScalarFunction) -> Form:
        """How JAX writes a function."""
        return form(function)

    def _map(self, node: Map) -> Code:
        if node not in self.poles:
            return super()._map(node)
        argument = self.tensor(node.argument)
        if node.function.named("log"):
            return self.kind.called("rim_log", argument)
        exponent = node.function.exponent
        return self.kind.called("rim_power", argument, float(0.5 if exponent is None else exponent))

    def _batch_statistic(self, node: BatchStatistic) -> Code:
        """A constant to differentiation, as a spec says of it."""
        found = self.kind.called(f"jnp.{node.kind}", self.tensor(node.argument), 0)
        return found.stopped()

    def _logsumexp(self, node: LogSumExp) -> Code:
        if self._never_empty(node):
            return super()._logsumexp(node)
        return self.kind.called("logsumexp", self._masked(node), one_or_all(self._axes(node)))
