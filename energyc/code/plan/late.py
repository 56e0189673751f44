"""Nodes whose sum over the batch is taken inside their last operation, so that no sample's own is ever stored."""

from __future__ import annotations

from energyc.code.plan.planner import PlannedRoutine
from energyc.mathematics.ir import Add, Einsum, Node


def summed_late(routine: PlannedRoutine) -> set[Node]:
    """The nodes of a routine that get no line of their own, since only their sums over the batch are wanted."""
    late: set[Node] = set()
    stack = [o.node for o in routine.outputs if o.summed]
    while stack:
        node = stack.pop()
        if node in late:
            continue
        if isinstance(node, Add):
            late.add(node)
            stack.extend(node.children)
        elif isinstance(node, Einsum):
            late.add(node)
            if len(node.operands) == 1 and not node.contracted:
                stack.extend(node.children)
    return late - _read_elsewhere(routine, late)


def _read_elsewhere(routine: PlannedRoutine, late: set[Node]) -> set[Node]:
    """Those of ``late`` that something else of the routine reads as they are."""
    read: set[Node] = set()
    for node in routine.statements:
        if node not in late or (isinstance(node, Einsum) and len(node.operands) == 2):
            read.update(node.children)
    read.update(o.node for o in routine.outputs if not o.summed)
    return read & late
