"""Nodes whose sum over the batch is taken inside their last operation, so that no sample's own is ever stored."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from energyc.derivation.derive import Output
from energyc.mathematics.ir import Add, Einsum, Node


def summed_late(statements: Collection[Node], outputs: Sequence[Output]) -> set[Node]:
    """The nodes of a routine that get no line of their own, since only their sums over the batch are wanted."""
    late: set[Node] = set()
    stack = [o.node for o in outputs if o.summed]
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
    return late - _read_elsewhere(statements, outputs, late)


def _read_elsewhere(statements: Collection[Node], outputs: Sequence[Output], late: set[Node]) -> set[Node]:
    """Those of ``late`` that something else of the routine reads as they are."""
    read: set[Node] = set()
    for node in statements:
        if node not in late or (isinstance(node, Einsum) and len(node.operands) == 2):
            read.update(node.children)
    read.update(o.node for o in outputs if not o.summed)
    return read & late
