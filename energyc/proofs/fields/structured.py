"""Points on the sets of params that are more than a box: exact, so that what is found there is true of the params.

A symmetric tensor is a mean over exchanges. Directions are columns of products of reflections ``I - 2 v v^T / |v|^2``
with whole numbers v, which are rational and on the set without rounding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from energyc.language.network import Structure
from energyc.mathematics.ir import Input

Array = NDArray[Any]
Structures = Mapping[Input, Sequence[Structure]]
NONE: Structures = MappingProxyType({})
#: The largest entry of the normal of a reflection, and the most of its entries that are not 0.
LARGEST, WIDEST = 5, 16
#: The sets that a multiple of one of their points is not in.
DIRECTIONS = ("orthogonal", "sphere")


def is_direction(structure: Iterable[Structure]) -> bool:
    """Whether a multiple of a point is off the sets."""
    return any(part.kind in DIRECTIONS for part in structure)


def holds(structures: Structures, sizes: Mapping[str, int]) -> bool:
    """Whether sizes leave every set a point: no more orthonormal vectors than a space of their length holds."""
    return all(sizes[count] <= sizes[length] for count, length in _counted(structures))


def squared(structures: Structures, sizes: Mapping[str, int]) -> dict[Input, tuple[Structure, ...]]:
    """The sets of params at these sizes: what is orthogonal and as high as wide has orthonormal columns too."""
    return {node: (*parts, *turned(node, parts, sizes)) for node, parts in structures.items()}


def turned(node: Input, parts: Iterable[Structure], sizes: Mapping[str, int]) -> list[Structure]:
    """The sets of a param at these sizes alone: what is orthogonal and as high as wide has orthonormal columns too."""
    square = (part for part in parts if part.kind == "orthogonal" and _is_square(node, part, sizes))
    return [replace(part, rows=part.columns, columns=part.rows) for part in square]


def _is_square(node: Input, part: Structure, sizes: Mapping[str, int]) -> bool:
    """Whether the dims of a matrix are different ones of one size."""
    rows, columns = ([node.dims[k] for k in axes] for axes in (part.rows, part.columns))
    return rows != columns and [sizes[dim] for dim in rows] == [sizes[dim] for dim in columns]


def with_room(structures: Structures, sizes: Mapping[str, int]) -> dict[str, int]:
    """Sizes with the lengths of orthonormal vectors no less than their numbers."""
    roomy, pairs = dict(sizes), _counted(structures)
    while short := next(((count, length) for count, length in pairs if roomy[count] > roomy[length]), None):
        roomy[short[1]] = roomy[short[0]]
    return roomy


def _counted(structures: Structures) -> list[tuple[str, str]]:
    """The dims of the numbers of orthonormal vectors, each with that of their length."""
    return [
        (node.dims[row], node.dims[column])
        for node, parts in structures.items()
        for part in parts
        if part.kind == "orthogonal"
        for row, column in zip(part.rows, part.columns, strict=True)
    ]


def symmetries(structure: Iterable[Structure], rank: int) -> list[tuple[int, ...]]:
    """All permutations of the axes that leave a param as it is, but for the identity."""
    identity = tuple(range(rank))
    group = {identity}
    for part in structure:
        if part.kind == "symmetric":
            swap = part.exchange(rank)
            group |= {tuple(axes[k] for k in swap) for axes in group}
    return sorted(group - {identity})


def on_sets(value: Array, structure: Iterable[Structure], generator: np.random.Generator) -> Array:
    """A draw of a param moved onto its sets, which are not empty; of directions, fractions that replace it."""
    for part in structure:
        match part.kind:
            case "symmetric":
                value = (value + np.transpose(value, part.exchange(value.ndim))) / 2
            case "zero_diagonal":
                value = np.where(_diagonal(value.shape, part), 0 * value, value)
            case "orthogonal":
                value = _on_matrices(value, part.rows, part.columns, generator)
            case "sphere":
                value = _on_matrices(value, (), part.columns, generator)
            case "norm":
                value = _shrunk(value, part)
    return value


def _shrunk(value: Array, part: Structure) -> Array:
    """A draw with each matrix halved until a bound of its norm, that of rows times that of columns, is small enough."""
    size = np.abs(value.astype(float))
    largest = [size.sum(along, keepdims=True).max(across, keepdims=True) for along, across in _sides(part)]
    over = np.sqrt(np.prod(largest, axis=0)) / part.bound
    return value * 0.5 ** np.maximum(0, np.ceil(np.log2(np.maximum(over, 1.0)) + 1e-9))


def _sides(part: Structure) -> tuple[tuple[tuple[int, ...], tuple[int, ...]], ...]:
    return (part.columns, part.rows), (part.rows, part.columns)


def _diagonal(shape: tuple[int, ...], part: Structure) -> Array:
    """Where the indices of rows and columns agree."""
    places = np.indices(shape)
    pairs = zip(part.rows, part.columns, strict=True)
    return np.logical_and.reduce([places[row] == places[column] for row, column in pairs])


def _on_matrices(value: Array, rows: Sequence[int], columns: Sequence[int], generator: np.random.Generator) -> Array:
    """Orthonormal rows in each matrix of a tensor; without ``rows`` a matrix is a single one."""
    others = [k for k in range(value.ndim) if k not in rows and k not in columns]
    order = [*others, *rows, *columns]
    shape = [value.shape[k] for k in order]
    count, length = (int(np.prod([value.shape[k] for k in axes], dtype=int)) for axes in (rows, columns))
    total = int(np.prod(shape[: len(others)], dtype=int))
    made = np.empty((total, count, length), dtype=object)
    for k in range(total):
        made[k] = _orthonormal(count, length, generator)
    return np.transpose(made.reshape(shape), np.argsort(order))


def _orthonormal(count: int, length: int, generator: np.random.Generator) -> Array:
    """The first rows of a product of reflections, of either determinant."""
    rows = np.array([[Fraction(int(i == j)) for j in range(length)] for i in range(count)], dtype=object)
    for _ in range(int(generator.integers(2, 4)) + length // WIDEST):
        moved = generator.choice(length, min(length, WIDEST), replace=False)
        normal = generator.integers(1, LARGEST + 1, len(moved)) * generator.choice((-1, 1), len(moved))
        v = np.array([Fraction(int(n)) for n in normal], dtype=object)
        rows[:, moved] -= np.outer(rows[:, moved] @ v, v) * (Fraction(2) / (v @ v))
    return rows
