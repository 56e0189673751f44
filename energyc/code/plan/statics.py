"""Which nodes stay constant while a network relaxes."""

from __future__ import annotations

from collections.abc import Iterable

from energyc.mathematics.ir import Input, Node, walk

MOVING_KINDS = frozenset({"state", "step", "cotangent", "direction", "plus", "minus", "sum", "value", "target"})


class Statics:
    """Classifies nodes as static (functions of clamps, params and indices alone) or moving; results are cached."""

    def __init__(self, kinds: frozenset[str] = MOVING_KINDS) -> None:
        self._kinds = kinds
        self._moving: dict[Node, bool] = {}

    def moving(self, node: Node) -> bool:
        """Whether the node depends on a state, the number of the step, a target, or a vector of either mode."""
        for inner in walk([node], known=self._moving):
            is_moving_input = isinstance(inner, Input) and inner.kind in self._kinds
            self._moving[inner] = is_moving_input or any(self._moving[child] for child in inner.children)
        return self._moving[node]

    def static(self, node: Node) -> bool:
        """Whether the node is not moving."""
        return not self.moving(node)

    def frontier(self, roots: Iterable[Node]) -> list[Node]:
        """The maximal static nodes: roots, or children of moving nodes; in the order of creation."""
        roots = list(roots)
        maximal = {root for root in roots if self.static(root)}
        for node in walk(roots):
            if self.moving(node):
                maximal.update(child for child in node.children if self.static(child))
        return sorted(maximal, key=lambda node: node.number)
