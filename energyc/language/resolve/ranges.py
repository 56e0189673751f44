"""Whether every window stays in its dim wherever it is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from energyc.language.diagnostics import Label
from energyc.language.resolve.context import Context
from energyc.language.resolve.terms import Frame, Index, Window, indices_of
from energyc.mathematics.ir import IndexExpr
from energyc.mathematics.ir.indexing import Affine
from energyc.mathematics.ir.interpreter import INDEX_OPERATIONS

#: How many positions are tried one by one where conditions keep a window in its dim.
MOST_TRIED = 4_000_000


@dataclass(frozen=True)
class Extremes:
    """The least and the largest value of a place."""

    least: int
    largest: int


def check_windows(context: Context, frame: Frame) -> bool:
    """Whether every place of an equation lies in its dim; the first value outside of each is reported."""
    checked = [_check(context, window) for window in frame.windows]
    return all(checked)


def _check(context: Context, window: Window) -> bool:
    sizes = context.dim_sizes()
    size = sizes.get(window.dim)
    if size is None:
        return False  # what is wrong with the dim is reported
    if any(expr.op == "read" for expr in window.place.walk()):
        return _report_unverifiable(context, window, "a place that an integer input is part of cannot be checked")
    if not _has_a_range(window, sizes):
        return _report_unverifiable(context, window, "the range of this place cannot be found at these sizes")
    extremes = _extremes(window, sizes)
    if extremes is None or (extremes.least >= 0 and extremes.largest < size):
        return True
    outside = extremes.least if extremes.least < 0 else extremes.largest
    _report(context, window, outside, size)
    return False


def _report_unverifiable(context: Context, window: Window, message: str) -> bool:
    help = "write a place as sums of indices times whole numbers or dims, or as one integer input alone"
    context.reporter.error("E0311", message, window.span, help=help)
    return False


def _has_a_range(window: Window, sizes: Mapping[str, int]) -> bool:
    """Whether the range of a place is known by its form, or can be found position by position."""
    affine = _free_extremes(window.place, sizes) is not None
    return affine or prod(sizes[index.known_dim] for index in indices_of(window.place)) <= MOST_TRIED


def _report(context: Context, window: Window, outside: int, size: int) -> None:
    shown = context.reporter.source.slice(window.span)
    bounds = [f"{i.name} < {i.known_dim} = {context.sizes.size(i.known_dim)}" for i in indices_of(window.place)]
    where = f"change the dims, or leave out what lies outside: `where(0 <= {shown} < {window.dim}, ..., 0)`"
    context.reporter.error(
        "E0308",
        f"`{shown}` reaches {outside}, and {window.dim} counts from 0 to {size - 1}",
        window.span,
        labels=[
            Label(context.names.entries[window.tensor].span, f"this axis of `{window.tensor}` is {window.dim} = {size}")
        ],
        notes=[f"here {', '.join(bounds)}"] if bounds else [],
        help=where if bounds else f"the last position is `{window.dim} - 1`",
    )


def _extremes(window: Window, sizes: Mapping[str, int]) -> Extremes | None:
    """The least and largest value under the conditions; None where they leave nothing."""
    free = _free_extremes(window.place, sizes)
    if free is not None and free.least >= 0 and free.largest < sizes[window.dim]:
        return free
    conditions = _usable(window, sizes)
    bounded = _bounded(window.place, conditions, free, sizes)
    if bounded is not None and bounded.least >= 0 and bounded.largest < sizes[window.dim]:
        return bounded
    indices = _joined(window.place, conditions)
    if prod(sizes[index.known_dim] for index in indices) <= MOST_TRIED:
        return _by_enumeration(window.place, conditions, indices, sizes)
    assert bounded is not None
    return bounded


def _free_extremes(place: IndexExpr, sizes: Mapping[str, int]) -> Extremes | None:
    """Those of an affine place, whatever the conditions."""
    indices = indices_of(place)
    affine = Affine.of(place.renumbered({index: k for k, index in enumerate(indices)}), sizes)  # type: ignore[misc]
    if affine is None:
        return None
    least = largest = affine.offset
    for k, stride in affine.strides:
        reach = stride * (sizes[indices[k].known_dim] - 1)
        least, largest = least + min(reach, 0), largest + max(reach, 0)
    return Extremes(least, largest)


def _bounded(
    place: IndexExpr, conditions: Sequence[IndexExpr], free: Extremes | None, sizes: Mapping[str, int]
) -> Extremes | None:
    """Those of an affine place under comparisons of the very same place: enough for padding, at any size."""
    if free is None:
        return None
    indices = {index: k for k, index in enumerate(_joined(place, conditions))}
    affine = Affine.of(place.renumbered(indices), sizes)  # type: ignore[arg-type]
    assert affine is not None
    least, largest = free.least, free.largest
    for condition in conditions:
        for op, a, b in _orders(condition):
            difference = _difference(a.renumbered(indices), b.renumbered(indices), sizes)  # type: ignore[arg-type]
            if difference is None:
                continue
            slack = 1 if op == "<" else 0
            if difference.strides == affine.strides:  # place + c <= 0
                largest = min(largest, affine.offset - difference.offset - slack)
            elif difference.times(-1).strides == affine.strides:  # c - place <= 0
                least = max(least, affine.offset + difference.offset + slack)
    return Extremes(least, largest)


def _orders(condition: IndexExpr) -> list[tuple[str, IndexExpr, IndexExpr]]:
    """A comparison as ``a < b`` or ``a <= b``; an equation is two."""
    if condition.op not in ("<", "<=", ">", ">=", "=="):
        return []
    a, b = condition.parts
    return {
        "<": [("<", a, b)],
        "<=": [("<=", a, b)],
        ">": [("<", b, a)],
        ">=": [("<=", b, a)],
        "==": [("<=", a, b), ("<=", b, a)],
    }[condition.op]


def _difference(a: IndexExpr, b: IndexExpr, sizes: Mapping[str, int]) -> Affine | None:
    left, right = Affine.of(a, sizes), Affine.of(b, sizes)
    return None if left is None or right is None else left.plus(right.times(-1))


def _usable(window: Window, sizes: Mapping[str, int]) -> list[IndexExpr]:
    """The parts of the conditions that read only the place's own indices."""
    own = set(indices_of(window.place))
    parts = [part for condition in window.conditions for part in conjuncts(condition)]
    static = [part for part in parts if not any(e.op in ("read", "related") for e in part.walk())]
    return [part for part in static if set(indices_of(part)) <= own]


def conjuncts(condition: IndexExpr) -> list[IndexExpr]:
    """The conditions that together are one."""
    if condition.op == "and":
        return [inner for part in condition.parts for inner in conjuncts(part)]
    if condition.op == "not" and condition.parts[0].op == "or":
        return [inner for part in condition.parts[0].parts for inner in conjuncts(IndexExpr("not", (part,)))]
    return [condition]


def _joined(place: IndexExpr, conditions: Sequence[IndexExpr]) -> list[Index]:
    return list(dict.fromkeys([*indices_of(place), *(i for c in conditions for i in indices_of(c))]))


def _by_enumeration(
    place: IndexExpr, conditions: Sequence[IndexExpr], indices: Sequence[Index], sizes: Mapping[str, int]
) -> Extremes | None:
    grid = _grid(indices, sizes)
    mask = _mask(conditions, grid, indices, sizes)
    values = np.broadcast_to(_value(place, grid, sizes), mask.shape)
    return Extremes(int(values[mask].min()), int(values[mask].max())) if mask.any() else None


def true_everywhere(
    condition: IndexExpr, under: Sequence[IndexExpr], indices: Sequence[Index], sizes: Mapping[str, int]
) -> bool:
    """Whether a condition holds at every position where others do."""
    grid = _grid(indices, sizes)
    mask = _mask(under, grid, indices, sizes)
    return bool((~mask | _value(condition, grid, sizes)).all())


def _grid(indices: Sequence[Index], sizes: Mapping[str, int]) -> dict[Index, Any]:
    """All positions of indices, each along an axis of its own."""
    grid: dict[Index, Any] = {}
    for k, index in enumerate(indices):
        shape = [1] * len(indices)
        shape[k] = sizes[index.known_dim]
        grid[index] = np.arange(sizes[index.known_dim], dtype=np.int64).reshape(shape)
    return grid


def _mask(
    conditions: Sequence[IndexExpr], grid: Mapping[Index, Any], indices: Sequence[Index], sizes: Mapping[str, int]
) -> Any:
    """Where all conditions hold."""
    mask = np.ones(tuple(sizes[index.known_dim] for index in indices), dtype=bool)
    for condition in conditions:
        mask &= _value(condition, grid, sizes)
    return mask


def _value(expr: IndexExpr, grid: Mapping[Index, Any], sizes: Mapping[str, int]) -> Any:
    """An index expression at every position at once."""
    match expr.op:
        case "axis":
            return grid[expr.args[0]]  # type: ignore[index]
        case "int":
            return np.int64(expr.args[0])  # type: ignore[arg-type]
        case "size":
            return np.int64(sizes[expr.args[0]])  # type: ignore[index]
    return INDEX_OPERATIONS[expr.op](*(_value(part, grid, sizes) for part in expr.parts))
