"""One way to walk expressions: a rule for each kind of node, and no node met twice computed twice.

    class Depth(Traverser[int]):
        task = "the depth of an expression"

        @rule(Expression)
        def _any(self, node: Expression) -> int:
            return 1 + max(map(self, node.parts), default=0)

A rule serves the subclasses that have none of their own. A kind without a rule raises :class:`NoRule`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar

from energyc.mathematics.expressions.nodes import Expression

Result = TypeVar("Result")
Method = TypeVar("Method", bound=Callable[..., Any])


class NoRule(NotImplementedError):
    """A traverser met a kind of node that it has no rule for."""

    def __init__(self, task: str, node: object) -> None:
        """``task`` is what the traverser was doing."""
        super().__init__(f"{task}: no rule for a node of kind {type(node).__name__}")


def rule(*kinds: type[Expression]) -> Callable[[Method], Method]:
    """Marks a method of a :class:`Traverser` as the rule of some kinds of nodes."""

    def marked(method: Method) -> Method:
        method.kinds = kinds  # type: ignore[attr-defined]
        return method

    return marked


class Traverser(Generic[Result]):
    """Computes something of an expression; calling it again on the same object gives what was computed.

    A result must depend on the node alone. Whoever changes what a leaf stands for makes a new traverser.
    """

    #: What it does, for messages.
    task: ClassVar[str] = "a traversal"
    _rules: ClassVar[Mapping[type, str]] = MappingProxyType({})

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        own = {kind: name for name, method in vars(cls).items() for kind in getattr(method, "kinds", ())}
        cls._rules = MappingProxyType({**cls._rules, **own})

    def __init__(self) -> None:
        #: By identity, since hashing a tree visits it whole; the node is kept, so that its id stays its own.
        self._results: dict[int, tuple[Expression, Result]] = {}

    def __call__(self, node: Expression) -> Result:
        """The result of the rule for the node's kind. Raises NoRule."""
        known = self._results.get(id(node))
        if known is None:
            known = self._results[id(node)] = (node, self.fresh(node))
        return known[1]

    def fresh(self, node: Expression) -> Result:
        """The same, computed anew. Raises NoRule."""
        for kind in type(node).__mro__:
            if kind in self._rules:
                result: Result = getattr(self, self._rules[kind])(node)
                return result
        raise NoRule(self.task, node)


class Rewriter(Traverser[Expression]):
    """Makes an expression of another; a node without a rule of its own keeps its kind, and its parts are rewritten."""

    task = "a rewriting"

    @rule(Expression)
    def parts_rewritten(self, node: Expression) -> Expression:
        """The same node over its rewritten parts."""
        parts = tuple(map(self, node.parts))
        return node if all(new is old for new, old in zip(parts, node.parts, strict=True)) else node.with_parts(*parts)
