"""Groups once more over the columns of what they make, where a product sums over their places.

The force of an energy of pairs, as ``logsumexp(q k)``, has ``softmax(q k) k`` and, for ``k``, a product of the same
weights that sums over queries. A group has all keys of some queries in registers, so its weights would have to go
through memory for the second one. A group over keys that makes them again, from the largest scores and the sums that
the first one leaves, has all queries of some keys.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from energyc.code.loops.arrange import reordered
from energyc.code.loops.nest import Block, Buffer, Group, MatrixProduct, Statement, Step, Tiles
from energyc.code.loops.tiles import keep_rows, take_products

#: Terms of a product that is made again: two operations each in place of eight bytes, of which an H100 in float32 moves
#: one in the time of twenty operations.
TERMS = 80


def turned(blocks: Sequence[Block], kept: Collection[Buffer], sizes: Mapping[str, int]) -> tuple[Block, ...]:
    """The blocks with a second group for each product that sums over the places of a first one."""
    found = list(blocks)
    for group in [block for block in blocks if isinstance(block, Group) and block.tiles.reads]:
        for target in [s.target for s in group.statements if s.target.kind == "scratch" and not s.fold]:
            again = _again(group, target, found, kept, sizes)
            found = found if again is None else again
    return tuple(found)


def _again(
    group: Group, target: Buffer, blocks: Sequence[Block], kept: Collection[Buffer], sizes: Mapping[str, int]
) -> list[Block] | None:
    """The blocks with a group for the products that read a target in memory; None where it could not make them all."""
    readers = [block for block in blocks if block is not group and target in block.reads]
    summed, chain = _summed(group, target, readers), _chain(group, target)
    if target in kept or not summed or chain is None:
        return None
    made = {buffer for statement in chain for buffer in statement.reads}
    scores = [tile.product for tile in group.tiles.reads if tile.product.target in made]
    if any(x.inner.count > TERMS or x.target.sizes != target.sizes for x in scores):
        return None
    depth, axes = len(group.outer), len(target.sizes)
    order = (*range(depth - summed), *range(depth, axes), *range(depth - summed, depth))
    steps: list[Step] | None = [*scores, *chain, *(x for x in readers if isinstance(x, MatrixProduct))]
    for buffer in (*(x.target for x in scores), *(x.target for x in chain)):
        steps = None if steps is None else reordered(steps, buffer, order, sizes)
    if steps is None:
        return None
    products, statements = steps[: len(scores)], [step for step in steps if isinstance(step, Statement)]
    second = Group(statements[-1].target.sizes[: axes - summed], True, statements)
    for step in (*products, *statements):
        step.target.kind = "scratch"
    at = blocks.index(group) + 1
    found = [block for block in (*blocks[:at], second, *blocks[at:]) if block not in readers]
    found[at - 1 : at - 1] = [step for step in products if isinstance(step, MatrixProduct)]
    last = [step for step in steps[len(scores) + len(chain) :] if isinstance(step, MatrixProduct)]
    found += last
    take_products(second, found, kept)
    if not {*products, *last} <= {tile.product for tile in second.tiles.every}:
        return None
    _leave(group, second, found, kept)
    return found if group.statements else [block for block in found if block is not group]


def _summed(group: Group, target: Buffer, readers: Sequence[Block]) -> int:
    """How many of the group's last outer labels all readers sum over; 0 where one does otherwise, or there is none."""
    depth = len(group.outer)
    ways = set[tuple[tuple[int, int], ...]]()
    for product in readers:
        if not isinstance(product, MatrixProduct) or product.left is not target:
            return 0
        ways.add(tuple((label.size, label.left) for label in product.inner.labels))
    for count in range(1, depth + 1):
        own = zip(target.sizes[depth - count : depth], target.strides[depth - count : depth], strict=True)
        if ways == {tuple((n, step) for n, step in own if n > 1)}:
            return count
    return 0


def _chain(group: Group, target: Buffer) -> list[Statement] | None:
    """The statements that compute a target from products, what is folded and what is in memory, place by place."""
    writers = {statement.target: statement for statement in group.statements}
    inside = {tile.product.target for tile in group.tiles.within}
    needed, waiting = set[Buffer](), [target]
    while waiting:
        statement = writers.get(buffer := waiting.pop())
        if buffer in inside or (statement is not None and not statement.fold and statement.extents != target.sizes):
            return None
        if statement is not None and not statement.fold and buffer not in needed:
            needed.add(buffer)
            waiting += statement.reads
    return [statement for statement in group.statements if statement.target in needed]


def _leave(group: Group, second: Group, blocks: Sequence[Block], kept: Collection[Buffer]) -> None:
    """Let the first group keep its folds for the second one, and nothing that nothing reads any more."""
    for statement in group.statements:
        if statement.target in second.reads:
            statement.target.kind = "scratch"
    others = {buffer for block in blocks if block is not group for buffer in block.reads} | set(kept)
    count = -1
    while count != len(group.steps):
        count = len(group.steps)
        read = others | set(group.reads)
        group.statements[:] = [statement for statement in group.statements if statement.target in read]
        asked = {buffer for statement in group.statements for buffer in statement.reads}
        parts = group.tiles.reads, group.tiles.within
        reads, within = (tuple(tile for tile in part if tile.product.target in asked) for part in parts)
        group.tiles = Tiles(reads, within, group.tiles.of)
    for one in (group, second):
        keep_rows(one, blocks, kept)
