"""The sets that params and states stay on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal


@dataclass(frozen=True)
class Structure:
    """A set that a param stays on, beside its box; ``rows`` and ``columns`` are axes of the param.

    ``symmetric``: exchanging rows and columns changes nothing; ``zero_diagonal``: 0 where the indices of rows and
    columns agree; ``orthogonal``: the vectors along the columns, one for each row, are orthonormal; ``sphere``: norm 1
    along the columns, without rows; ``norm``: the operator norm of each matrix is at most ``bound``.
    """

    kind: Literal["symmetric", "zero_diagonal", "orthogonal", "sphere", "norm"]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    bound: float = math.inf

    def at(self, places: Sequence[int]) -> Structure:
        """The same where axis k of the param is found at ``places[k]``."""
        rows, columns = (tuple(places[axis] for axis in axes) for axes in (self.rows, self.columns))
        return replace(self, rows=rows, columns=columns)

    def written(self, dims: Sequence[str]) -> str:
        """The set as a spec writes it, with all dims named."""
        paired = (*self.rows, *self.columns)
        named = {"orthogonal": paired, "norm": paired, "sphere": self.columns}.get(self.kind, self.rows)
        bound = [f"{self.bound:g}"] if self.kind == "norm" else []
        return f"{self.kind}[{', '.join([*bound, *(dims[axis] for axis in named)])}]"

    def exchange(self, rank: int) -> tuple[int, ...]:
        """The permutation of a param's axes that exchanges rows and columns."""
        swap = {**dict(zip(self.rows, self.columns, strict=True)), **dict(zip(self.columns, self.rows, strict=True))}
        return tuple(swap.get(axis, axis) for axis in range(rank))


@dataclass(frozen=True)
class ConstraintSet:
    """A closed set with a metric projection, taken along ``axes`` of the state (all axes for a box and nonnegative).

    ``standardized``: mean 0 and variance 1 (biased); ``sphere``: norm 1; ``simplex``: nonnegative with sum 1;
    ``nonnegative``; ``box``: between ``low`` and ``high``, either may be None.
    """

    kind: Literal["standardized", "sphere", "simplex", "nonnegative", "box"]
    axes: tuple[int, ...]
    low: float | None = None
    high: float | None = None
