"""The operations between the ranks of a run; a process alone is a group of one, which answers without communication."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from torch import Tensor

T = TypeVar("T")


class Group:
    """A process alone. Every rank of a larger group makes the same calls in the same order."""

    rank = 0
    size = 1

    @property
    def seconds(self) -> float:
        """The time spent in calls to other ranks, waiting for them included."""
        return 0.0

    def knows(self, run: Path) -> None:
        """Name the folder of the run, for the message of a rank that ends it."""

    @property
    def is_first(self) -> bool:
        """Whether this rank writes files and messages."""
        return self.rank == 0

    def shares(self, count: int) -> list[slice]:
        """Return the share of each rank of ``count`` things: consecutive, in the order of ranks, at most one apart."""
        least, more = divmod(count, self.size)
        ends = [least * (k + 1) + min(k + 1, more) for k in range(self.size)]
        return [slice(start, end) for start, end in zip([0, *ends], ends, strict=False)]

    def gathered(self, rows: Tensor, counts: Sequence[int]) -> Tensor:
        """Return the rows of all ranks, [sum of counts, columns], from those of this one, [counts[rank], columns]."""
        return rows

    def summed(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Return the sums over the ranks of tensors, which have one type; added in the order of the ranks."""
        return list(tensors)

    def collected(self, value: T) -> list[T]:
        """Return the values of all ranks, in their order."""
        return [value]

    def announced(self, value: T) -> T:
        """Return the value of the first rank."""
        return value

    def any(self, flag: bool) -> bool:
        """Whether the flag of some rank is set."""
        return any(self.collected(flag))

    def first_of(self, value: T | None) -> T | None:
        """Return the value of the first rank that has one."""
        return next((found for found in self.collected(value) if found is not None), None)

    def assembled(self) -> None:
        """Wait until all ranks are here, however long their work takes."""


ALONE = Group()
