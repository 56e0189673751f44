"""What a node is computed from."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from energyc.ir import Map, Node, Stop, walk


class DoesNotOccur(ValueError):
    """A derivative by something that the quantity does not contain; never a silent zero."""

    def __init__(self, what: Node) -> None:
        super().__init__(f"the quantity does not depend on {what!r}")
        self.what = what


def depends(roots: Iterable[Node], on: Collection[Node], *, frozen: bool = True) -> set[Node]:
    """The nodes under ``roots`` through which a derivative by ``on`` passes, those themselves included.

    With ``frozen=False`` nothing passes a ``frozen(...)``; nothing ever passes a ``detach(...)``.
    """
    active: set[Node] = set()
    for node in walk(roots):
        blocked = isinstance(node, Stop) and (node.mode == "detach" or not frozen)
        hidden = isinstance(node, Map) and node.function.slope is not None and _reads(node.function.slope, on)
        if node in on or (not blocked and (hidden or any(child in active for child in node.children))):
            active.add(node)
    return active


def _reads(slope: Node, on: Collection[Node]) -> bool:
    return any(node in on for node in walk([slope]))
