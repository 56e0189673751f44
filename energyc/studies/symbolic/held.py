"""Functions that have no slope, as SymPy sees them. A file of formulas carries the source of those that it uses."""

from __future__ import annotations

from typing import Any

from sympy import Expr, Function, Integer


class frozen(Function):  # type: ignore[misc]
    """Its argument, held constant in forces; params are trained through it."""

    def fdiff(self, argindex: int = 1) -> Expr:
        """Return no slope."""
        return Integer(0)

    def doit(self, **hints: Any) -> Expr:
        """Return the argument."""
        return self.args[0].doit(**hints)


class detach(Function):  # type: ignore[misc]
    """Its argument, held constant in every derivative."""

    def fdiff(self, argindex: int = 1) -> Expr:
        """Return no slope."""
        return Integer(0)

    def doit(self, **hints: Any) -> Expr:
        """Return the argument."""
        return self.args[0].doit(**hints)


class batch_mean(Function):  # type: ignore[misc]
    """The mean of its argument over the samples of a batch, held constant in every derivative."""

    def fdiff(self, argindex: int = 1) -> Expr:
        """Return no slope."""
        return Integer(0)


class batch_median(Function):  # type: ignore[misc]
    """The median of its argument over the samples of a batch, held constant in every derivative."""

    def fdiff(self, argindex: int = 1) -> Expr:
        """Return no slope."""
        return Integer(0)


#: By the mode of a stop or the kind of a statistic.
HELD = {"frozen": frozen, "detach": detach, "mean": batch_mean, "median": batch_median}
