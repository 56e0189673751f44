"""The nodes that a node is linear in: they reach it through sums and through products with factors that do not move."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from energyc.mathematics.ir import Add, Einsum, Node, walk


@dataclass(frozen=True)
class Linear:
    """The moving ``arguments`` that a node is a linear function of, and the ``factors`` they are multiplied by."""

    arguments: tuple[Node, ...]
    factors: tuple[Node, ...]


def moving(roots: Collection[Node], inputs: Collection[Node]) -> set[Node]:
    """The nodes under ``roots`` that depend on one of the inputs, those themselves included."""
    found: set[Node] = set()
    for node in walk(roots):
        if node in inputs or any(child in found for child in node.children):
            found.add(node)
    return found


def linear_in(root: Node, moves: Collection[Node]) -> Linear:
    """The nodes of ``moves`` nearest to ``root`` that it is linear in, where it is not added to what does not move."""
    arguments: dict[Node, None] = {}
    factors: dict[Node, None] = {}
    seen, stack = {root}, [root]
    while stack:
        node = stack.pop()
        inner = _inner(node, moves)
        if not inner:
            arguments[node] = None
        elif isinstance(node, Einsum):
            factors.update({operand.node: None for operand in node.operands if operand.node not in moves})
        stack += [child for child in inner if child not in seen]
        seen.update(inner)
    return Linear(tuple(sorted(arguments, key=lambda node: node.number)), tuple(factors))


def _inner(node: Node, moves: Collection[Node]) -> list[Node]:
    """The moving factor of a product that has one, or of a sum of such products; nothing of any other node."""
    if isinstance(node, Add) and all(child in moves for child in node.children):
        reaching = any(isinstance(child, Add) or _moving_factor(child, moves) for child in node.children)
        return list(node.children) if reaching else []
    return _moving_factor(node, moves)


def _moving_factor(node: Node, moves: Collection[Node]) -> list[Node]:
    """The one factor of a product that moves."""
    factors = [o.node for o in node.operands if o.node in moves] if isinstance(node, Einsum) else []
    return factors if len(factors) == 1 else []
