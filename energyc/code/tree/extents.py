"""Sizes that are numbers wherever they are computed with, and are printed as the dims that they come from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Self


class Extent(int):
    """A size that knows its ``dims``, each with its size: it is their product, times a number.

    What it is multiplied by goes with it. Other arithmetic gives plain integers.
    """

    dims: tuple[tuple[str, int], ...]

    def __new__(cls, value: int, dims: tuple[tuple[str, int], ...]) -> Self:
        made = super().__new__(cls, value)
        made.dims = dims
        return made

    @property
    def name(self) -> str | None:
        """The name of its dim, where it is one dim and nothing more."""
        return self.dims[0][0] if len(self.dims) == 1 and self.multiple == 1 else None

    @property
    def multiple(self) -> int:
        """The number beside the dims."""
        return int(self) // math.prod(size for _, size in self.dims)

    def __mul__(self, other: int) -> int:
        further = other.dims if isinstance(other, Extent) else ()
        value = int(self) * int(other)
        return Extent(value, (*self.dims, *further)) if value else 0

    def __rmul__(self, other: int) -> int:
        value = int(self) * int(other)
        return Extent(value, self.dims) if value else 0

    def __add__(self, other: int) -> int:
        return self if other == 0 else int(self) + int(other)

    __radd__ = __add__


def named(extents: Mapping[str, int], names: Mapping[str, str]) -> dict[str, Extent]:
    """Sizes by dim, each of which knows what it is called."""
    return {dim: Extent(size, ((names[dim], size),)) for dim, size in extents.items()}
