"""Which nodes depend on which."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TypeGuard

from energyc.mathematics.ir import BatchStatistic, Function, Map, Node, Stop, walk


class DoesNotOccur(ValueError):
    """A derivative by something that the quantity does not contain; never a silent zero."""

    def __init__(self, what: Node) -> None:
        """``what`` is the node that does not occur."""
        super().__init__(f"the quantity does not depend on {what!r}")
        self.what = what


def depends(roots: Iterable[Node], on: Collection[Node], *, frozen: bool = True) -> set[Node]:
    """The nodes under ``roots`` through which a derivative by ``on`` passes, those themselves included.

    With ``frozen=False`` nothing passes a ``frozen(...)``; nothing ever passes a ``detach(...)`` or a mean over the
    batch.
    """
    active: set[Node] = set()
    for node in walk(roots):
        blocked = isinstance(node, BatchStatistic)
        blocked |= isinstance(node, Stop) and (node.mode == "detach" or (node.mode == "frozen" and not frozen))
        hidden = {n for n in walk(node.function.bodies) if n in on} if isinstance(node, Map) else set()
        active |= hidden
        if node in on or (not blocked and (hidden or any(child in active for child in node.children))):
            active.add(node)
    return active


def readers(roots: Iterable[Node], of: Collection[Node]) -> set[Node]:
    """The nodes under ``roots`` whose value is computed from one of ``of``, those themselves included.

    Unlike a derivative a value passes everything, a ``detach(...)`` and a mean over the batch too.
    """
    found: set[Node] = set()
    for node in walk(roots):
        hidden = isinstance(node, Map) and body_reads(node.function, of)
        if node in of or hidden or any(child in found for child in node.children):
            found.add(node)
    return found


def reached(roots: Iterable[Node]) -> set[Node]:
    """The nodes that a derivative of ``roots`` passes to, themselves included."""
    found: set[Node] = set()
    pending = list(roots)
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending.extend(() if is_cut(node, "detach") else node.children)
            pending.extend(node.function.bodies if isinstance(node, Map) else ())
    return found


def is_cut(node: Node, mode: str | None = None) -> TypeGuard[Stop | BatchStatistic]:
    """Whether some derivative does not pass a node; with ``mode`` ``detach``, whether none does."""
    if isinstance(node, BatchStatistic):
        return mode in (None, "detach")
    return isinstance(node, Stop) and node.mode != "barrier" and mode in (None, node.mode)


def body_reads(function: Function, on: Collection[Node]) -> bool:
    """Whether a potential's slope or closed form is computed from one of ``on``."""
    return any(node in on for node in walk(function.bodies))
