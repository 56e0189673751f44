"""The steps of a kernel as blocks: groups of statements, what groups make of products, and products by themselves."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from energyc.code.loops.couplings import coupled
from energyc.code.loops.fuse import Rows, grouped
from energyc.code.loops.nest import Block, Buffer
from energyc.code.loops.tiles import tiled
from energyc.code.loops.turned import turned
from energyc.code.loops.waiting import Step


def blocks_of(
    steps: Sequence[Step], kept: Collection[Buffer], rows: Rows, sizes: Mapping[str, int]
) -> tuple[Block, ...]:
    """The blocks of steps; the buffers ``kept`` are read after the last one.

    A group that keeps its rows in an array makes pairs of thin products along them, one that has them in registers
    products of the rows of many places at once.
    """
    found = grouped(steps, kept, rows)
    return coupled(found, kept) if rows == "array" else turned(tiled(found, kept), kept, sizes)
