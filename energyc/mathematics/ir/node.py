"""The base of all nodes of the graph, and the inputs, which are its leaves."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from energyc.mathematics.expressions import NoRule

#: Inputs that have a value for each sample; ``direction`` and ``seed`` are the vectors of forward and reverse mode,
#: ``plus`` and ``minus`` the states of two phases, ``sum`` what is added up over steps.
BATCHED_KINDS = frozenset(
    {"state", "clamp", "noise", "target", "direction", "cotangent", "plus", "minus", "sum", "value", "slope"}
)


@dataclass(frozen=True)
class Facts:
    """The facts of a node, as functions of its children.

    ``analytic`` and ``continuous`` are properties of that function, for a :class:`Map` besides those of its scalar
    function. ``nonnegative``: no value is below 0. ``degree``: k where it grows as the k-th power of its argument.
    """

    analytic: bool = True
    continuous: bool = True
    nonnegative: bool = False
    degree: int | None = None


@dataclass(frozen=True, eq=False, repr=False)
class Node:
    """A tensor of the graph; nodes are equal only where they are the same object (the graph shares them).

    ``number`` counts nodes in the order of their creation, which makes output deterministic. A kind must state its
    ``facts``: without them its class cannot be defined (NotImplementedError).
    """

    facts: ClassVar[Facts]

    dims: tuple[str, ...]
    number: int = field(repr=False)
    batched: bool = field(repr=False)

    def __init_subclass__(cls, *, abstract: bool = False) -> None:
        """Raise NotImplementedError for a kind that states no facts."""
        if not abstract and "facts" not in vars(cls):
            raise NotImplementedError(f"the kind {cls.__name__} states no facts")

    @cached_property
    def children(self) -> tuple[Node, ...]:
        """The nodes this one is computed from."""
        raise NoRule("children", self)

    def __repr__(self) -> str:
        """Kind, number and dims."""
        return f"<{type(self).__name__} #{self.number}[{', '.join(self.dims)}]>"


#: Where an input of truth values takes its values; no dim of a spec has a blank in its name.
TRUTHS = "true or false"


@dataclass(frozen=True, eq=False, repr=False)
class Input(Node):
    """A named tensor from outside. ``kind``: state, clamp, target, param, direction, seed, value, argument, slope.

    A slope stands for a ``grad(...)`` of a flow and is called by its arguments, ``att + mem, g``. Three kinds are set
    by the runtime: ``noise``, which it draws; ``step``, the number of the step; ``flag``, a truth value as
    ``training``. The last two are the same for all samples.

    ``over`` is the dim an integer input takes its values in, ``TRUTHS`` for one of truth values, None for a real.
    """

    facts = Facts()

    name: str
    kind: str
    over: str | None = None

    @cached_property
    def children(self) -> tuple[Node, ...]:
        return ()


def walk(roots: Iterable[Node], known: Container[Node] = ()) -> Iterator[Node]:
    """Every node that the roots need beside the known ones, each once, children first.

    Iterative, so that depth is not limited. What is made of a node may be put into ``known`` as the walk goes on.
    """
    entered: set[Node] = set()
    left: set[Node] = set()
    stack = list(reversed(list(roots)))
    while stack:
        node = stack[-1]
        if node not in entered and node not in known:
            entered.add(node)
            stack += node.children[::-1]
            continue
        stack.pop()
        if node in entered and node not in left:
            left.add(node)
            yield node
