"""Statements that are one loop nest: groups that share their outer loops, and what then needs no memory of its own."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Literal

from energyc.code.loops.affine import labels_of
from energyc.code.loops.nest import Block, Buffer, Group, Load, Product, Scatter, Statement, loads
from energyc.mathematics.ir.indexing import Affine

Step = Statement | Product | Scatter
#: Where a group keeps its rows: in an ``array`` that it reads at any place, or in ``registers``, a place of the row
#: each, where only the same place reads them.
Rows = Literal["array", "registers"]

#: The longest row that a group keeps, in entries.
LONGEST_ROW = 4096


def grouped(steps: Sequence[Step], kept: Collection[Buffer], rows: Rows = "array") -> tuple[Block, ...]:
    """The steps as blocks, in an order that keeps what is computed together next to each other.

    The buffers ``kept`` are read after the last step. What only one group reads becomes a row or a value of it. Where
    rows are in registers, a group ends before a statement that reads a row of it at another place.
    """
    blocks: list[Block] = []
    waiting = list(steps)
    while waiting:
        fitting = _next_fitting(waiting, blocks, rows)
        step = fitting or _next_ready(waiting)
        waiting.remove(step)
        if not isinstance(step, Statement):
            blocks.append(step)
        elif fitting is not None:
            group = blocks[-1]
            assert isinstance(group, Group)
            group.statements.append(step)
        else:
            blocks.append(Group(_outer(step), step.target.batched, [step]))
    _place(blocks, set(kept))
    return tuple(blocks)


def _ready(step: Step, waiting: Sequence[Step]) -> bool:
    """Whether nothing that is still to come writes what a step reads or adds to."""
    reads = {*step.reads}
    for other in waiting:
        if other is step:
            return True
        if other.target in reads or other.target is step.target:
            return False
    return True


def _next_ready(waiting: Sequence[Step]) -> Step:
    return next(step for step in waiting if _ready(step, waiting))


def _next_fitting(waiting: Sequence[Step], blocks: Sequence[Block], rows: Rows) -> Statement | None:
    """The first statement that can join the last group."""
    if not blocks or not isinstance(blocks[-1], Group):
        return None
    group = blocks[-1]
    for step in waiting:
        fits = isinstance(step, Statement) and _fits(step, group) and (rows == "array" or _in_registers(step, group))
        if fits and _ready(step, waiting):
            return step  # type: ignore[return-value]
    return None


def _outer(step: Statement) -> tuple[int, ...]:
    """The loops around a row: of a reduction all labels that stay, else all but the last."""
    return step.outer if step.fold else step.outer[:-1]


def _fits(step: Statement, group: Group) -> bool:
    """Whether a statement can run inside the outer loops of a group.

    It has them as its first labels, and of what the group writes it reads only what the same turn has written.
    """
    depth = len(group.outer)
    if step.target.batched != group.batched or step.outer[:depth] != group.outer:
        return False
    if step.fold and len(step.outer) != depth:
        return False
    written = {statement.target for statement in group.statements}
    own = (load for load in loads(step.expr) if load.buffer in written)
    return all(load.place[:depth] == labels_of(depth) for load in own)


def _in_registers(step: Statement, group: Group) -> bool:
    """Whether a statement finds what it reads of a group in registers: at its own place of a row that is short."""
    depth = len(group.outer)
    written = {statement.target for statement in group.statements}
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
    loops: list[list[Statement]] = []
    for statement in group.statements:
        if loops and _joins(statement, loops[-1], depth):
            loops[-1].append(statement)
        else:
            loops.append([statement])
    return loops


def _joins(statement: Statement, loop: Sequence[Statement], depth: int) -> bool:
    inner = statement.extents[depth:]
    if inner != loop[0].extents[depth:]:
        return False
    written = {other.target: other for other in loop}
    for load in loads(statement.expr):
        other = written.get(load.buffer)
        if other is not None and (other.fold or load.place != labels_of(len(load.place))):
            return False
    return True
