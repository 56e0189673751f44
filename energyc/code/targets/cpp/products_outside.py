"""Products outside of phases: what equations write as products of torch, given to the library of kernels."""

from __future__ import annotations

from collections.abc import Collection

from energyc.code.tree.expressions import Binary, Call, Name, String
from energyc.code.tree.node import Node
from energyc.code.tree.statements import Body, Class

_KERNELS = Name("self").attribute("kernels")
_EINSUM = Name("torch").attribute("einsum")


def lent(body: Body, classes: Collection[str]) -> Body:
    """The statements with the products of some classes made by ``self.kernels``; these very ones where none has any."""
    changed = tuple(x.mapped(_lent) if isinstance(x, Class) and x.name in classes else x for x in body)
    return body if all(a is b for a, b in zip(changed, body, strict=True)) else changed


def _lent(node: Node) -> Node:
    """A node with the products in it replaced."""
    return _replaced(node.mapped(_lent))


def _replaced(node: Node) -> Node:
    match node:
        case Binary("@", left, right):
            return _KERNELS.method("matmul", left, right)
        case Call(function, (String(), _, _), ()) if function == _EINSUM:
            return _KERNELS.method("einsum", *node.arguments)
    return node
