"""The base class of the nodes of the tree: data with children."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self


@dataclass(frozen=True)
class Node:
    """A piece of a program. Nodes are values: two of the same form are equal."""

    @cached_property
    def children(self) -> tuple[Node, ...]:
        """The nodes directly below, in the order of the fields."""
        found: list[Node] = []
        for name in self.__dataclass_fields__:
            _gather(getattr(self, name), found)
        return tuple(found)

    def walk(self) -> Iterator[Node]:
        """This node and all below it, parents first, in the order of the text. Iterative: depth is not limited."""
        stack: list[Node] = [self]
        while stack:
            node = stack.pop()
            yield node
            stack += reversed(node.children)

    def mapped(self, function: Callable[[Node], Node]) -> Self:
        """The same with a function of each child in its place; this very node where no child changes."""
        changed: dict[str, Any] = {}
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            new = _mapped(value, function)
            if new is not value:
                changed[name] = new
        return replace(self, **changed) if changed else self


def _gather(value: object, found: list[Node]) -> None:
    """Add a node, or those of a tuple, to what was found; other data have none."""
    if isinstance(value, Node):
        found.append(value)
    elif isinstance(value, tuple):
        for part in value:
            _gather(part, found)


def _mapped(value: Any, function: Callable[[Node], Node]) -> Any:
    if isinstance(value, Node):
        return function(value)
    if isinstance(value, tuple):
        parts = tuple(_mapped(part, function) for part in value)
        return value if all(a is b for a, b in zip(parts, value, strict=True)) else parts
    return value
