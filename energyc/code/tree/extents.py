"""Sizes that are numbers wherever they are computed with, and are printed as the dims that they come from."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Self

#: Dims that are multiplied, each with its size.
Dims = tuple[tuple[str, int], ...]


class Extent(int):
    """A size that knows its ``terms``: each is a number times dims, and it is their sum.

    Sums and products of it are extents too, but for those without a dim, which are plain integers; other arithmetic
    gives plain integers.
    """

    terms: tuple[tuple[int, Dims], ...]

    def __new__(cls, value: int, dims: Dims) -> Self:
        return cls._of([(value // math.prod(size for _, size in dims), dims)])

    @classmethod
    def _of(cls, terms: Iterable[tuple[int, Dims]]) -> Self:
        """The sum of terms, those of the same dims taken together."""
        found: dict[tuple[str, ...], tuple[int, Dims]] = {}
        for multiple, dims in terms:
            key = tuple(sorted(name for name, _ in dims))
            before, written = found.get(key, (0, dims))
            found[key] = before + multiple, written
        kept = tuple((multiple, dims) for multiple, dims in found.values() if multiple)
        made = super().__new__(cls, sum(m * math.prod(size for _, size in dims) for m, dims in kept))
        made.terms = kept
        return made

    @property
    def dims(self) -> Dims:
        """The dims, where they are one product."""
        return self.terms[0][1] if len(self.terms) == 1 else ()

    @property
    def multiple(self) -> int:
        """The number beside the dims."""
        return self.terms[0][0] if len(self.terms) == 1 else int(self)

    @property
    def name(self) -> str | None:
        """The name of its dim, where it is one dim and nothing more."""
        return self.dims[0][0] if len(self.dims) == 1 and self.multiple == 1 else None

    def __mul__(self, other: int) -> int:
        pairs = ((x, y) for x in self.terms for y in terms(other))
        return _plain(self._of((a * b, (*dims, *further)) for (a, dims), (b, further) in pairs))

    def __rmul__(self, other: int) -> int:
        return self * other

    def __add__(self, other: int) -> int:
        return _plain(self._of((*self.terms, *terms(other))))

    def __radd__(self, other: int) -> int:
        return self + other

    def __neg__(self) -> int:
        return self * -1

    def __sub__(self, other: int) -> int:
        return self + other * -1

    def __rsub__(self, other: int) -> int:
        return self * -1 + other

    def __abs__(self) -> int:
        return self if int(self) >= 0 else -self


def terms(value: int) -> tuple[tuple[int, Dims], ...]:
    """The terms of a size or of a number."""
    return value.terms if isinstance(value, Extent) else ((value, ()),) if value else ()


def _plain(extent: Extent) -> int:
    """The size; a plain integer where it has no dims."""
    return extent if any(dims for _, dims in extent.terms) else int(extent)


def named(extents: Mapping[str, int], names: Mapping[str, str]) -> dict[str, Extent]:
    """Sizes by dim, each of which knows what it is called."""
    return {dim: Extent(size, ((names[dim], size),)) for dim, size in extents.items()}
