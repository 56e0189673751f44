"""Statements that are one loop nest: groups that share their outer loops, and what then needs no memory of its own."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from energyc.code.loops.affine import labels_of
from energyc.code.loops.nest import Block, Buffer, Group, Load, Statement, Step, loads
from energyc.code.loops.waiting import Waiting
from energyc.mathematics.ir.indexing import Affine

#: Where a group keeps its rows: in an ``array`` that it reads at any place, or in ``registers``, a place of the row
#: each, where only the same place reads them.
Rows = Literal["array", "registers"]

#: The longest row that a group keeps, in entries.
LONGEST_ROW = 4096


def grouped(steps: Sequence[Step], kept: Collection[Buffer], rows: Rows = "array") -> tuple[Block, ...]:
    """The steps as blocks, in an order that keeps what is computed together next to each other.

    The buffers ``kept`` are read after the last step; a step that nothing reads is left out. What only one group reads
    becomes a row or a value of it. Where rows are in registers, a group ends before a statement that reads a row of it
    at another place.
    """
    blocks: list[Block] = []
    waiting = Waiting(_live(steps, kept))
    while (step := waiting.first()) is not None:
        waiting.take(step)
        if not isinstance(step, Statement):
            blocks.append(step)
            continue
        group = Group(_outer(step), step.target.batched, [step])
        blocks.append(group)
        written = {step.target}
        for joining in waiting.inside(group):
            if _fits(joining, group, written) and (rows == "array" or _in_registers(joining, group, written)):
                waiting.take(joining)
                group.statements.append(joining)
                written.add(joining.target)
    _place(blocks, set(kept))
    return tuple(blocks)


def _live(steps: Sequence[Step], kept: Collection[Buffer]) -> list[Step]:
    """The steps that write what is kept, or what one of them reads."""
    writers: dict[Buffer, list[Step]] = {}
    for step in steps:
        writers.setdefault(step.target, []).append(step)
    needed, found = list(kept), set[Buffer]()
    while needed:
        buffer = needed.pop()
        if buffer not in found:
            found.add(buffer)
            needed += [read for step in writers.get(buffer, ()) for read in step.reads]
    return [step for step in steps if step.target in found]


def _outer(step: Statement) -> tuple[int, ...]:
    """The loops around a row: of a reduction all labels that stay, else all but the last."""
    return step.outer if step.fold else step.outer[:-1]


def _fits(step: Statement, group: Group, written: Collection[Buffer]) -> bool:
    """Whether a statement over the outer loops of a group reads, of what it has written, only that of the same turn."""
    depth = len(group.outer)
    own = (load for load in loads(step.expr) if load.buffer in written)
    return all(load.place[:depth] == labels_of(depth) for load in own)


def _in_registers(step: Statement, group: Group, written: Collection[Buffer]) -> bool:
    """Whether a statement finds what it reads of a group in registers: at its own place of a row that is short."""
    depth = len(group.outer)
    own = [load for load in loads(step.expr) if load.buffer in written and len(load.buffer.sizes) > depth]
    short = math.prod(step.extents[depth:]) <= LONGEST_ROW
    return all(short and at_own_place(load, step, depth) for load in own)


def at_own_place(load: Load, statement: Statement, depth: int) -> bool:
    """Whether a statement reads a row of equal length at the place, in order, where it stands itself."""
    inner, sizes = statement.extents[depth:], load.buffer.sizes[depth:]
    if math.prod(inner) != math.prod(sizes) or load.place[:depth] != labels_of(depth):
        return False
    place = Affine(0, ())
    for index, stride in zip(load.place[depth:], load.buffer.strides[depth:], strict=True):
        form = None if any(part.op == "size" for part in index.walk()) else Affine.of(index, {})
        if form is None:
            return False
        place = place.plus(form.times(stride))
    own, stride = Affine(0, ()), 1
    for k in reversed(range(len(inner))):
        own = own.plus(Affine(0, ((depth + k, stride),)))
        stride *= inner[k]
    return place == own


def _place(blocks: Sequence[Block], kept: Collection[Buffer]) -> None:
    """Give rows and values to what only the group reads that writes it."""
    readers: dict[Buffer, set[int]] = {}
    for number, block in enumerate(blocks):
        for buffer in block.reads:
            readers.setdefault(buffer, set()).add(number)
        if not isinstance(block, Group):
            readers.setdefault(block.target, set()).add(-1)
    for number, block in enumerate(blocks):
        if not isinstance(block, Group):
            continue
        depth = len(block.outer)
        for statement in block.statements:
            target = statement.target
            if target in kept or target.kind != "scratch" or readers.get(target, set()) - {number}:
                continue
            inner = target.size
            for size in block.outer:
                inner //= size
            if len(target.sizes) == depth or inner <= LONGEST_ROW:
                target.kind = "value" if len(target.sizes) == depth else "row"


def passes(group: Group) -> list[list[Statement]]:
    """The statements of a group as loops over its rows, one after the other.

    Statements share a loop where their rows have equal sizes and each reads of the others only what they have written
    at the same place; a sum is read by a later loop.
    """
    depth = len(group.outer)
    loops: list[dict[Buffer, Statement]] = []
    for statement in group.statements:
        if not loops or not _joins(statement, loops[-1], depth):
            loops.append({})
        loops[-1][statement.target] = statement
    return [list(loop.values()) for loop in loops]


def _joins(statement: Statement, loop: Mapping[Buffer, Statement], depth: int) -> bool:
    """Whether a statement can share a loop, whose statements are known by what they write."""
    inner = statement.extents[depth:]
    if inner != next(iter(loop.values())).extents[depth:]:
        return False
    for load in loads(statement.expr):
        other = loop.get(load.buffer)
        if other is not None and (other.fold or load.place != labels_of(len(load.place))):
            return False
    return True
