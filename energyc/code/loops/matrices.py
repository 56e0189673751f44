"""Sums of products of two tensors as matrix products: their labels, and which round their operands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from energyc.code.loops.nest import Block, Buffer, Kernel, Load, MatrixProduct, Run
from energyc.mathematics.ir.indexing import Affine

#: Fewer columns than these do not make a matrix product: the vectors would be mostly empty.
LEAST_COLUMNS = 4
#: The fewest columns and terms of a product that gains by it: below, rounding takes what it saves.
LEAST_ROUNDED = 16


@dataclass(frozen=True)
class Walk:
    """How a load moves through its buffer: where it starts, and how far each label and the sample move it."""

    buffer: Buffer
    at: int
    strides: Mapping[int, int]

    def of(self, label: int) -> int:
        """How far a label moves it."""
        return self.strides.get(label, 0)


def walk_of(load: Load, sizes: Mapping[str, int]) -> Walk | None:
    """How a load moves, or None where that is not an affine function of its labels."""
    at, strides = 0, dict[int, int]()
    for place, stride in zip(load.place, load.buffer.strides, strict=True):
        form = Affine.of(place, sizes)
        if form is None:
            return None
        at += form.offset * stride
        for label, step in form.strides:
            strides[label] = strides.get(label, 0) + step * stride
    return Walk(load.buffer, at, strides)


def product_of(
    target: Buffer, loads: tuple[Load, Load], factor: float, extents: Sequence[int], sizes: Mapping[str, int]
) -> MatrixProduct | None:
    """The sum over all labels but the target's axes of both loads' product; None where it is not a matrix product."""
    first, second = (walk_of(load, sizes) for load in loads)
    if first is None or second is None or (len(extents) == len(target.sizes) and target.kind != "total"):
        return None
    ways = [_arranged(target, a, b, factor, extents) for a, b in ((first, second), (second, first))]
    possible = [way for way in ways if way is not None and way.columns.count >= LEAST_COLUMNS]
    best = max(possible, key=lambda way: (way.packed_once, way.columns.count), default=None)
    return best and replace(best, loads=loads, extents=tuple(extents))


def _arranged(target: Buffer, left: Walk, right: Walk, factor: float, extents: Sequence[int]) -> MatrixProduct | None:
    """The product with the right matrix's columns last in the target."""
    count = len(target.sizes)
    out = dict(enumerate(target.strides))
    columns = count
    while columns > 0 and right.of(columns - 1) and not left.of(columns - 1):
        columns -= 1
    rest = range(columns)
    rows = [k for k in rest if left.of(k) and not right.of(k)]
    outer = [k for k in rest if k not in rows]

    def run(labels: Sequence[int]) -> Run:
        return Run(
            tuple(extents[k] for k in labels),
            tuple(left.of(k) for k in labels),
            tuple(right.of(k) for k in labels),
            tuple(out.get(k, 0) for k in labels),
        )

    inner = range(count, len(extents))
    return MatrixProduct(
        target, left.buffer, right.buffer, factor, run(rows), run(range(columns, count)), run(inner), run(outer),
        left.at, right.at,
    )  # fmt: skip


def rounding(kernel: Kernel) -> Kernel:
    """The kernel with its products marked that take rounded operands.

    Those of a force in two phases whose difference is the gradient do not: rounding is as large as what they differ by.
    """
    before, body = (tuple(map(_marked, blocks)) for blocks in (kernel.before, kernel.body))
    return replace(kernel, before=before, body=body)


def _marked(block: Block) -> Block:
    if not isinstance(block, MatrixProduct) or block.contrasted:
        return block
    return replace(block, rounds=min(block.columns.count, block.inner.count) >= LEAST_ROUNDED)
