"""What a step asks of a device, from its loop nests: arithmetic, and entries that go through memory.

Where each block is one launch and keeps nothing for the next one, as on a GPU, a step takes at least what its blocks
take one after the other: each the longer of its arithmetic and of moving what it reads and writes once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from energyc.code.loops.nest import Block, Buffer, Group, Kernel, MatrixProduct, Scatter, Statement, written

#: Buffers that live in registers.
_INSIDE = frozenset({"row", "value", "number"})


@dataclass(frozen=True)
class Amount:
    """A number for each sample, and one that does not grow with them."""

    each: int = 0
    once: int = 0

    def __add__(self, other: Amount) -> Amount:
        """The sum of both parts."""
        return Amount(self.each + other.each, self.once + other.once)

    def of(self, samples: int) -> int:
        """The number for so many samples."""
        return self.each * samples + self.once


@dataclass(frozen=True)
class Work:
    """That of a block: its floating-point operations, and the entries that it reads and writes, each once."""

    operations: Amount
    entries: Amount


def works(kernel: Kernel) -> tuple[Work, ...]:
    """That of each block of a step, in their order."""
    return tuple(map(_work, kernel.body))


def total(kernel: Kernel) -> Work:
    """That of all blocks of a step."""
    parts = works(kernel)
    return Work(sum((part.operations for part in parts), Amount()), sum((part.entries for part in parts), Amount()))


def _work(block: Block) -> Work:
    moved = sum(map(_entries, dict.fromkeys((*block.reads, *written(block)))), Amount())
    match block:
        case Group():
            operations = sum((_amount(_operations(s), block.batched) for s in block.statements), Amount())
            return Work(sum(map(multiplications, block.products), operations), moved)
        case MatrixProduct():
            return Work(multiplications(block), moved)
        case Scatter():
            each = block.target.batched or block.target.kind == "total"
            return Work(_amount(math.prod(block.extents), each), moved)


def multiplications(product: MatrixProduct) -> Amount:
    """Two operations for each term of a product."""
    places = product.rows.count * product.columns.count * product.inner.count * product.outer.count
    return _amount(2 * places, product.target.batched or product.target.kind == "total")


def _entries(buffer: Buffer) -> Amount:
    return Amount() if buffer.kind in _INSIDE else _amount(buffer.size, buffer.batched)


def _amount(number: int, batched: bool) -> Amount:
    return Amount(each=number) if batched else Amount(once=number)


def _operations(statement: Statement) -> int:
    """One for each sum or product of two, call and choice of an expression, and one for each place that is folded."""
    inner = sum(max(1, len(part.parts) - 1) for part in statement.expr.walk() if part.parts)
    return math.prod(statement.extents) * (inner + bool(statement.fold))
