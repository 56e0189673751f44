"""Pairs of products that a group makes along its rows: by a matrix between many entries of a sample and few others.

A term ``s W y`` of an energy, ``s`` long and ``y`` short, has both in its force: ``W y`` where ``s`` moves and ``s W``
where ``y`` does. Apart, each reads the matrix, the first one leaves a long row for the group that moves ``s``, and both
are too thin to keep a processor busy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from energyc.code.loops.fuse import at_own_place, passes
from energyc.code.loops.nest import Block, Buffer, Coupling, Group, MatrixProduct, Run, Statement, loads

#: The most entries that are few, whose sums stay in registers, and the fewest that are many. Below ``LEAST_COLUMNS``
#: few entries have no matrix product to gather.
FEW, MANY = 12, 64


def coupled(blocks: Sequence[Block], kept: Collection[Buffer]) -> tuple[Block, ...]:
    """The blocks with each pair of products made by the group that can; ``kept`` are read after the last one."""
    found = list(blocks)
    for group in [block for block in found if isinstance(block, Group) and block.batched and not block.outer]:
        for pair in _pairs(found[: found.index(group)]):
            statements = _statements(group, pair)
            if statements is not None and _is_free(pair, group, found, kept):
                group.coupling, group.statements[:] = pair, statements
                pair.spread.target.kind = "row"
                if not _read_elsewhere(pair.gathered.target, group, found, kept):
                    pair.gathered.target.kind = "row"
                found = [block for block in found if block not in group.products]
                break
    return tuple(found)


def _pairs(blocks: Sequence[Block]) -> Iterator[Coupling]:
    """The pairs of products of one sample by one matrix that the caller gives, in either direction."""
    products = [block for block in blocks if isinstance(block, MatrixProduct) and _is_plain(block)]
    for spread in (p for p in products if p.inner.count <= FEW and p.columns.count >= MANY):
        for gathered in products:
            ways = spread.right, spread.right_at, spread.inner.right, spread.columns.right
            turned = gathered.right, gathered.right_at, gathered.columns.right, gathered.inner.right
            same = (spread.inner.sizes, spread.columns.sizes) == (gathered.columns.sizes, gathered.inner.sizes)
            if same and ways == turned:
                yield Coupling(spread, gathered)


def _is_plain(product: MatrixProduct) -> bool:
    """Whether a product is of a whole buffer of each sample with a matrix, one label each way."""
    left, target, runs = product.left, product.target, (product.inner, product.columns)
    return (
        product.packed_once
        and left.batched
        and target.batched
        and target.kind == "scratch"
        and not product.adds
        and product.rows == product.outer == Run()
        and [run.sizes for run in runs] == [left.sizes, target.sizes]
        and (product.inner.left, product.columns.out, product.left_at) == ((1,), (1,), 0)
    )


def _statements(group: Group, pair: Coupling) -> list[Statement] | None:
    """The statements of a group in an order in which the first loop can make both products; None where none can."""
    made, sums = pair.spread.target, pair.gathered.target
    loops = passes(group)
    first = next((loop for loop in loops if any(made in s.reads for s in loop)), [])
    earlier = {s.target for loop in loops[: loops.index(first)] for s in loop} if first else set()
    if any(not earlier.isdisjoint(s.reads) for s in first):
        return None
    statements = [*first, *(s for s in group.statements if s not in first)]
    first, *later = passes(Group(group.outer, group.batched, statements))
    if first[0].extents != made.sizes or any(s.fold or sums in s.reads for s in first):
        return None
    own = all(at_own_place(load, s, 0) for s in first for load in loads(s.expr) if load.buffer is made)
    return statements if own and not any(made in s.reads for loop in later for s in loop) else None


def _is_free(pair: Coupling, group: Group, blocks: Sequence[Block], kept: Collection[Buffer]) -> bool:
    """Whether nothing needs either product before the group runs, or that of the few outside of it."""
    before = blocks[: blocks.index(group)]
    early = any(pair.gathered.target in block.reads for block in before)
    return not early and not _read_elsewhere(pair.spread.target, group, blocks, kept)


def _read_elsewhere(buffer: Buffer, group: Group, blocks: Sequence[Block], kept: Collection[Buffer]) -> bool:
    return buffer in kept or any(buffer in block.reads for block in blocks if block is not group)
