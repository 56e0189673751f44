"""Groups whose rows are in registers: a statement reads of its group only what stands at its own place."""

from __future__ import annotations

from pathlib import Path

import pytest

from energyc import pipeline
from energyc.code.loops import NotLowered
from energyc.code.loops.affine import labels_of
from energyc.code.loops.fuse import LONGEST_ROW, Rows, at_own_place, grouped
from energyc.code.loops.nest import Block, Buffer, Group, Load, Statement, loads
from energyc.code.module.context import Options
from energyc.code.targets.kernels import kernels_of
from energyc.mathematics.ir.indexing import axis
from tests.emit.kernels import SPECS


def blocks(size: int, rows: Rows, turned: bool) -> tuple[list[Block], Buffer]:
    """``row = z - max z`` over both axes of a matrix, then ``after = row``, or its transposed; and the row."""
    z, largest, row, after = (
        Buffer(name, sizes, True)
        for name, sizes in (
            ("z", (2, size, size)),
            ("largest", (2,)),
            ("row", (2, size, size)),
            ("after", (2, size, size)),
        )
    )
    z.kind = "given"
    place = labels_of(3)
    read = (axis(0), axis(2), axis(1)) if turned else place
    steps = [
        Statement(largest, z.sizes, Load(z, place), "max"),
        Statement(row, z.sizes, Load(z, place) - Load(largest, place[:1])),
        Statement(after, z.sizes, Load(row, read)),
    ]
    return list(grouped(steps, {after}, rows)), row


@pytest.mark.parametrize(
    ("rows", "turned", "size", "count", "kind"),
    [
        ("array", False, 3, 1, "row"),
        ("array", True, 3, 1, "row"),
        ("registers", False, 3, 1, "row"),
        ("registers", True, 3, 2, "scratch"),
        ("registers", False, LONGEST_ROW, 2, "scratch"),
    ],
)
def test_a_group_of_registers_ends_before_a_row_is_read_elsewhere(
    rows: Rows, turned: bool, size: int, count: int, kind: str
) -> None:
    made, row = blocks(size, rows, turned)
    assert (len(made), row.kind) == (count, kind)


@pytest.mark.abridged(every=4)
@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_no_shipped_spec_reads_a_register_of_another_place(path: Path) -> None:
    network = pipeline.resolve(pipeline.read(path))
    try:
        options = Options((network.train.trained_by,), "spec", "test")
        found = kernels_of(options.plan(network), options, "triton", "registers")
    except NotLowered as reason:
        pytest.skip(str(reason))
    kernels = [kernel for part in found for kernel in part.kernels]
    for group in (block for kernel in kernels for block in kernel.body if isinstance(block, Group)):
        depth, written = len(group.outer), {statement.target for statement in group.statements}
        for statement in group.statements:
            for load in loads(statement.expr):
                if load.buffer in written and len(load.buffer.sizes) > depth:
                    assert at_own_place(load, statement, depth), (load.buffer.name, statement.target.name)


def test_a_step_that_nothing_reads_is_left_out() -> None:
    """Nor is what only such a step reads; a group of them would read and write nothing."""
    z, after, lost, further = (Buffer(name, (3,), True) for name in ("z", "after", "lost", "further"))
    z.kind = "given"
    place = labels_of(1)
    steps = [
        Statement(lost, (3,), Load(z, place)),
        Statement(further, (3,), Load(lost, place)),
        Statement(after, (3,), Load(z, place)),
    ]
    (group,) = grouped(steps, {after})
    assert isinstance(group, Group) and [s.target for s in group.statements] == [after]
