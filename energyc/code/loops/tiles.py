"""Products that a group makes of the rows of many places, so that what they give stays in registers.

A program of a GPU that has some rows of a left matrix at hand multiplies them by the right one where a group reads the
product, and does so with rows of the group where a product reads those: of ``softmax(q k) v`` no score is in memory.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal

from energyc.code.loops.affine import labels_of
from energyc.code.loops.fuse import at_own_place, passes
from energyc.code.loops.nest import Block, Buffer, Group, Label, MatrixProduct, Tile, Tiles, indices, loads, written
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


def rows_at_hand(group: Group) -> int:
    """How many places a program of a group with products has at once."""
    depth = len(group.outer)
    widest = max(block_size(math.prod(loop[0].extents[depth:])) for loop in passes(group))
    return min(MOST, max(FEWEST, ENTRIES // widest))


def tiled(blocks: Sequence[Block], kept: Collection[Buffer]) -> tuple[Block, ...]:
    """The blocks with products made by the groups around them; the buffers ``kept`` are read after the last one."""
    found = list(blocks)
    for group in [block for block in blocks if isinstance(block, Group)]:
        take_products(group, found, kept)
    for group in [block for block in found if isinstance(block, Group)]:
        while group in found and (other := _next(group, found, kept)) is not None:
            group.tiles = _together(group, other)
            group.statements += other.statements
            found.remove(other)
            keep_rows(group, found, kept)
    return tuple(found)


def take_products(group: Group, blocks: list[Block], kept: Collection[Buffer]) -> None:
    """Let a group make the products that it can, which are then no blocks of their own."""
    if not group.batched or any(math.prod(loop[0].extents[len(group.outer) :]) > WIDEST for loop in passes(group)):
        return
    for product in [block for block in blocks if isinstance(block, MatrixProduct)]:
        if product not in blocks:
            continue
        before, made = blocks.index(product) < blocks.index(group), group.tiles
        found = (_read_by if before else _made_of)(group, product, blocks, kept)
        part = {"reads": (*made.reads, *found)} if before else {"of": (*made.of, *found)}
        if found and _fit(group, replace(made, **part)):
            group.tiles = replace(made, **part)
            blocks[:] = [block for block in blocks if not any(tile.product is block for tile in found)]
    keep_rows(group, blocks, kept)


def _next(group: Group, blocks: Sequence[Block], kept: Collection[Buffer]) -> Group | None:
    """A later group at the same places that could run at once, and reads what the group makes of its rows."""
    later = blocks[blocks.index(group) + 1 :]
    own = {statement.target for statement in group.statements}
    for other in (x for x in later if isinstance(x, Group) and _shared(group, x)):
        late = {buffer for block in later if block is not other for buffer in written(block)}
        at_hand = {statement.target for statement in other.statements}
        if (
            (other.outer, other.batched) == (group.outer, group.batched)
            and late.isdisjoint(other.reads)
            and own.isdisjoint(_operands(other) - at_hand)
            and all(_stays((tile,), other, blocks, kept) for tile in _shared(group, other))
            and all(_at_own_place(buffer, other) for buffer in own)
            and max(math.prod(s.extents[len(other.outer) :]) for s in other.statements) <= WIDEST
            and _fit(Group(group.outer, True, [*group.statements, *other.statements]), _together(group, other))
        ):
            return other
    return None


def _shared(group: Group, other: Group) -> list[Tile]:
    """The products of the rows of a group that another one reads."""
    return [tile for tile in group.tiles.of if tile.product.target in other.reads]


def _together(group: Group, other: Group) -> Tiles:
    """The products of both, as those of one group."""
    first, second, shared = group.tiles, other.tiles, _shared(group, other)
    of = tuple(tile for tile in first.of if tile not in shared)
    return Tiles(first.reads + second.reads, (*first.within, *shared, *second.within), of + second.of)


def _stays(tiles: Sequence[Tile], reader: Group, blocks: Sequence[Block], kept: Collection[Buffer]) -> bool:
    """Whether the sum of products can stay in registers for the group that reads it: alone, each place its own row."""
    target, depth = tiles[0].product.target, len(reader.outer)
    rows = target.sizes[depth:], target.strides[depth:]
    return (
        target.kind == "scratch"
        and target not in _operands(reader)
        and [tile.product.adds for tile in tiles] == [False] + [True] * (len(tiles) - 1)
        and sum(target in written(block) for block in blocks) == len(tiles)
        and not _read_elsewhere(target, reader, blocks, kept, tiles)
        and target.sizes[:depth] == reader.outer
        and all((tile.product.columns.sizes, tile.product.columns.out) == rows for tile in tiles)
        and _at_own_place(target, reader)
    )


def _operands(group: Group) -> set[Buffer]:
    return {buffer for tile in group.tiles.every for buffer in (tile.product.left, tile.product.right)}


def _at_own_place(buffer: Buffer, group: Group) -> bool:
    """Whether the statements of a group read a buffer at their own places only."""
    depth = len(group.outer)
    found = ((load, s) for s in group.statements for load in loads(s.expr) if load.buffer is buffer)
    if len(buffer.sizes) == depth:
        return all(load.place == labels_of(depth) for load, _ in found)
    return all(at_own_place(load, s, depth) for load, s in found)


def _read_by(
    group: Group, product: MatrixProduct, blocks: Sequence[Block], kept: Collection[Buffer]
) -> tuple[Tile, ...]:
    """A product and those added to it, where the group alone reads their sum, each place its own row; else none."""
    target, early = product.target, blocks[: blocks.index(group)]
    parts = [block for block in early if isinstance(block, MatrixProduct) and block.target is target]
    if product is not parts[0] or not target.batched or not any(target in s.reads for s in group.statements):
        return ()
    found = [_tile(part, group.outer, "out", target.strides) for part in parts if _gains(group, part)]
    tiles = tuple(tile for tile in found if tile is not None)
    return tiles if len(tiles) == len(parts) and _stays(tiles, group, blocks, kept) else ()


def _gains(group: Group, product: MatrixProduct) -> bool:
    """Whether a product that a group reads is made sooner by the group."""
    terms, columns = product.inner.count, product.columns.count
    small = not group.outer and terms * columns <= SMALL
    return small or columns <= THIN or terms <= TERMS * rows_at_hand(group)


def _made_of(
    group: Group, product: MatrixProduct, blocks: Sequence[Block], kept: Collection[Buffer]
) -> tuple[Tile, ...]:
    """The product, where its left matrix has the group's rows; else none."""
    left, depth = product.left, len(group.outer)
    row = next((s for s in group.statements if s.target is left and not s.fold), None)
    if row is None or product.adds or not product.target.batched or product.left_at or len(left.sizes) <= depth:
        return ()
    early = blocks[: blocks.index(group)]
    ready = product.right.kind in ("given", "state") or any(product.right in written(block) for block in early)
    late = any(product.right in written(block) for block in blocks if block not in early)
    shape = [(size, step) for size, step in zip(left.sizes[depth:], left.strides[depth:], strict=True) if size > 1]
    width = block_size(product.columns.count)
    small = width <= NARROW and block_size(product.inner.count) * width <= RIGHT
    if not ready or late or not small or [(x.size, x.left) for x in product.inner.labels] != shape:
        return ()
    tile = _tile(product, group.outer, "left", left.strides)
    return () if tile is None else (tile,)


def _tile(
    product: MatrixProduct, outer: Sequence[int], side: Literal["left", "out"], strides: Sequence[int]
) -> Tile | None:
    """What each outer label moves, by its stride on one side; None where those of the product are others."""
    labels, moved = [*product.rows.labels, *product.outer.labels], list[Label]()
    for size, stride in zip(outer, strides, strict=False):
        own = next((x for x in labels if (x.size, getattr(x, side)) == (size, stride)), None)
        if own is None and size > 1:
            return None
        labels = [x for x in labels if x is not own]
        moved.append(own or Label(1, 0, 0, 0))
    if labels:
        return None
    _, left, right, out = zip(*moved, strict=True) if moved else ((),) * 4
    return Tile(product, left, right, out)


def _fit(group: Group, tiles: Tiles) -> bool:
    """Whether the places with one right matrix are many, and no condition reads what tells them from others."""
    fixed = tiles.fixed
    places = math.prod(size for k, size in enumerate(group.outer) if k not in fixed)
    programs = max(-(-places // FEWEST), math.prod(group.outer[k] for k in fixed))
    if programs > PROGRAMS or (tiles.sampled and places == 1):
        return False
    asked = (index for s in group.statements for index in indices(s.expr) if Affine.of(index, {}) is None)
    return not any(fixed.intersection(index.axes()) for index in asked)


def keep_rows(group: Group, blocks: Sequence[Block], kept: Collection[Buffer]) -> None:
    """Keep what only the group reads in its registers."""
    depth = len(group.outer)
    for buffer in (step.target for step in group.steps):
        read = buffer in group.reads and not _read_elsewhere(buffer, group, blocks, kept)
        if buffer.kind == "scratch" and read:
            buffer.kind = "value" if len(buffer.sizes) == depth else "row"


def _read_elsewhere(
    buffer: Buffer, group: Group, blocks: Sequence[Block], kept: Collection[Buffer], tiles: Sequence[Tile] = ()
) -> bool:
    """Whether something but a group, and products of its own, reads a buffer."""
    own = [group, *(tile.product for tile in tiles)]
    return buffer in kept or any(buffer in block.reads for block in blocks if block not in own)


def power(count: int) -> int:
    """The next power of two."""
    return 1 << (count - 1).bit_length() if count > 1 else 1


def block_size(count: int) -> int:
    """The entries of a block of a product for so many: a power of two, and not too few."""
    return max(FEWEST, power(count))
