"""What does not change while a network relaxes."""

from __future__ import annotations

from collections.abc import Iterable

from energyc.ir import Input, Node, walk

MOVING_KINDS = frozenset({"state", "seed", "direction", "value", "target"})


class Statics:
    """Tells static nodes (of clamps, params and indices alone) from moving ones; answers are remembered."""

    def __init__(self, kinds: frozenset[str] = MOVING_KINDS) -> None:
        self._kinds = kinds
        self._moving: dict[Node, bool] = {}

    def moving(self, node: Node) -> bool:
        """Whether the node depends on a state, a target, or a vector of forward or reverse mode."""
        if node not in self._moving:
            for inner in walk([node]):
                if inner not in self._moving:
                    own = isinstance(inner, Input) and inner.kind in self._kinds
                    self._moving[inner] = own or any(self._moving[child] for child in inner.children)
        return self._moving[node]

    def static(self, node: Node) -> bool:
        """The opposite of moving."""
        return not self.moving(node)

    def frontier(self, roots: Iterable[Node]) -> list[Node]:
        """The largest static nodes that moving ones (or the roots' readers) read, in the order of their making."""
        found: set[Node] = set()
        for root in roots:
            if self.static(root):
                found.add(root)
        for node in walk(roots):
            if self.moving(node):
                found.update(child for child in node.children if self.static(child))
        return sorted(found, key=lambda node: node.number)
