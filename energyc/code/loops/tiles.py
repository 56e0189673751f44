"""Products that a group makes of the rows of many places, so that what they give stays in registers.

A program of a GPU that has some rows of a left matrix at hand multiplies them by the right one where a group reads the
product, and does so with rows of the group where a product reads those: of ``softmax(q k) v`` no score is in memory.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Literal, NamedTuple

from energyc.code.loops.fuse import at_own_place, passes
from energyc.code.loops.nest import Block, Buffer, Group, MatrixProduct, Run, Tile, Tiles, indices, loads, written
from energyc.mathematics.ir.indexing import Affine

#: The longest row that a group with products has, in entries; how many of all rows it has at hand, and how many rows.
WIDEST, ENTRIES, FEWEST, MOST = 512, 2**11, 16, 64
#: A group that makes a product saves its way through memory, there and back, and reads the right matrix from the second
#: cache for each ``rows`` of the left one, some twice as fast: it gains up to so many terms for each of its rows. A
#: product of so few columns has nothing else to do.
TERMS, THIN = 4, 32
#: The most columns and entries of a right matrix that lie beside rows of a group; more do not stay in registers.
NARROW, RIGHT = 64, 2**13
#: The most entries of a right matrix where each place is a sample: another launch takes longer than to read it again.
SMALL = 2**15
#: The most programs along the second axis of a launch.
PROGRAMS = 2**16 - 1


class _Label(NamedTuple):
    """A label of a product, and how far it moves its matrices and its result."""

    size: int
    left: int
    right: int
    out: int


def rows_at_hand(group: Group) -> int:
    """How many places a program of a group with products has at once."""
    depth = len(group.outer)
    widest = max(_power(math.prod(loop[0].extents[depth:])) for loop in passes(group))
    return min(MOST, max(FEWEST, ENTRIES // widest))


def tiled(blocks: Sequence[Block], kept: Collection[Buffer]) -> tuple[Block, ...]:
    """The blocks with products made by the groups around them; the buffers ``kept`` are read after the last one."""
    found = list(blocks)
    for group in [block for block in blocks if isinstance(block, Group) and block.batched]:
        if any(math.prod(loop[0].extents[len(group.outer) :]) > WIDEST for loop in passes(group)):
            continue
        for product in [block for block in found if isinstance(block, MatrixProduct)]:
            before = found.index(product) < found.index(group)
            tile = (_read_by if before else _made_of)(group, product, found, kept)
            if tile is not None:
                reads, of = group.tiles.reads, group.tiles.of
                tiles = Tiles((*reads, tile), of) if before else Tiles(reads, (*of, tile))
                if _fit(group, tiles):
                    group.tiles = tiles
                    found.remove(product)
        _place(group, found, kept)
    return tuple(found)


def _read_by(group: Group, product: MatrixProduct, blocks: Sequence[Block], kept: Collection[Buffer]) -> Tile | None:
    """The product with what the group's labels move, where the group alone reads it, each place its own row."""
    target, depth = product.target, len(group.outer)
    writers = [block for block in blocks if target in written(block)]
    rows = target.sizes[depth:]
    readers = [s for s in group.statements if target in s.reads]
    if (
        product.adds
        or not target.batched
        or target.kind != "scratch"
        or len(writers) > 1
        or not readers
        or _read_elsewhere(target, group, blocks, kept)
        or (target.sizes[:depth], product.columns.sizes) != (group.outer, rows)
        or product.columns.out != target.strides[depth:]
        or not _gains(group, product)
    ):
        return None
    own = all(at_own_place(load, s, depth) for s in readers for load in loads(s.expr) if load.buffer is target)
    return _tile(product, group.outer, "out", target.strides) if own else None


def _gains(group: Group, product: MatrixProduct) -> bool:
    """Whether a product that a group reads is made sooner by the group."""
    terms, columns = product.inner.count, product.columns.count
    small = not group.outer and terms * columns <= SMALL
    return small or columns <= THIN or terms <= TERMS * rows_at_hand(group)


def _made_of(group: Group, product: MatrixProduct, blocks: Sequence[Block], kept: Collection[Buffer]) -> Tile | None:
    """The product with what the group's labels move, where its left matrix has the group's rows."""
    left, depth = product.left, len(group.outer)
    row = next((s for s in group.statements if s.target is left and not s.fold), None)
    if row is None or product.adds or not product.target.batched or product.left_at or len(left.sizes) <= depth:
        return None
    early = blocks[: blocks.index(group)]
    ready = product.right.kind in ("given", "state") or any(product.right in written(block) for block in early)
    late = any(product.right in written(block) for block in blocks if block not in early)
    shape = [(size, step) for size, step in zip(left.sizes[depth:], left.strides[depth:], strict=True) if size > 1]
    width = _power(product.columns.count)
    small = width <= NARROW and _power(product.inner.count) * width <= RIGHT
    if not ready or late or not small or [(x.size, x.left) for x in _labels(product.inner)] != shape:
        return None
    return _tile(product, group.outer, "left", left.strides)


def _tile(
    product: MatrixProduct, outer: Sequence[int], side: Literal["left", "out"], strides: Sequence[int]
) -> Tile | None:
    """What each outer label moves, by its stride on one side; None where those of the product are others."""
    labels, moved = _labels(product.rows, product.outer), list[_Label]()
    for size, stride in zip(outer, strides, strict=False):
        own = next((x for x in labels if (x.size, getattr(x, side)) == (size, stride)), None)
        if own is None and size > 1:
            return None
        labels = [x for x in labels if x is not own]
        moved.append(own or _Label(1, 0, 0, 0))
    if labels:
        return None
    _, left, right, out = zip(*moved, strict=True) if moved else ((),) * 4
    return Tile(product, left, right, out)


def _labels(*runs: Run) -> list[_Label]:
    """The labels of runs that have more than one place."""
    every = (label for run in runs for label in zip(run.sizes, run.left, run.right, run.out, strict=True))
    return [_Label(*label) for label in every if label[0] > 1]


def _fit(group: Group, tiles: Tiles) -> bool:
    """Whether the places with one right matrix are many, and no condition reads what tells them from others."""
    fixed = tiles.fixed
    places = math.prod(size for k, size in enumerate(group.outer) if k not in fixed)
    if max(places // FEWEST, math.prod(group.outer[k] for k in fixed)) > PROGRAMS or (tiles.sampled and places == 1):
        return False
    asked = (index for s in group.statements for index in indices(s.expr) if Affine.of(index, {}) is None)
    return not any(fixed.intersection(index.axes()) for index in asked)


def _place(group: Group, blocks: Sequence[Block], kept: Collection[Buffer]) -> None:
    """Keep what only the group reads in its registers."""
    for buffer in (*(tile.product.target for tile in group.tiles.reads), *(x.product.left for x in group.tiles.of)):
        if buffer.kind == "scratch" and not _read_elsewhere(buffer, group, blocks, kept):
            buffer.kind = "row"


def _read_elsewhere(buffer: Buffer, group: Group, blocks: Sequence[Block], kept: Collection[Buffer]) -> bool:
    return buffer in kept or any(buffer in block.reads for block in blocks if block is not group)


def _power(count: int) -> int:
    """The next power of two, at least the smallest block of a product."""
    return max(FEWEST, 1 << (count - 1).bit_length())
