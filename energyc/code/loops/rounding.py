"""Which products of a kernel take operands in bfloat16 where it is asked to: those that gain by it, and may."""

from __future__ import annotations

from dataclasses import replace

from energyc.code.loops.nest import Block, Kernel, MatrixProduct

#: The fewest columns and terms of a product that gains by it: below, rounding takes what it saves.
LEAST_COLUMNS, LEAST_TERMS = 16, 16


def rounding(kernel: Kernel) -> Kernel:
    """The kernel with its products marked that take rounded operands.

    Those of a force in two phases whose difference is the gradient do not: rounding is as large as what they differ by.
    """
    before, body = (tuple(map(_marked, blocks)) for blocks in (kernel.before, kernel.body))
    return replace(kernel, before=before, body=body)


def _marked(block: Block) -> Block:
    if not isinstance(block, MatrixProduct) or block.contrasted:
        return block
    return replace(block, rounds=block.columns.count >= LEAST_COLUMNS and block.inner.count >= LEAST_TERMS)
