"""Names for what a formula would otherwise repeat or bury: anonymous nodes that are used twice, or too deep."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import count

from energyc.mathematics.ir import (
    ArgMax,
    Einsum,
    Function,
    Indicator,
    Input,
    LogSumExp,
    Map,
    Max,
    Node,
    Position,
    Softmax,
    walk,
)

#: An anonymous node this heavy (nodes below it, repetitions counted) that is used twice gets a name.
REPEATED = 8
#: One this deep under the nearest name gets a name in any case.
DEEP = 14

_STEMS: tuple[tuple[type[Node], str], ...] = (
    (Softmax, "weights"),
    (ArgMax, "choice"),
    (LogSumExp, "level"),
    (Max, "peak"),
)


def is_long(root: Node, named: Collection[Node], limit: int) -> bool:
    """Whether writing a node out takes more nodes than a limit, repetitions counted; a name counts as one."""
    stack, count = [root], 0
    while stack and count <= limit:
        node = stack.pop()
        count += 1
        if node is root or node not in named:
            stack += node.children
    return count > limit


def shared(roots: Iterable[Node], named: Collection[Node], taken: Iterable[str]) -> dict[Node, str]:
    """The anonymous nodes under the roots that deserve a name, each with one that is not taken."""
    roots = dict.fromkeys(roots)
    order = _reached(roots, named)
    uses = Counter(child for node in order for child in node.children)
    names = _Namer(set(taken))
    chosen: dict[Node, str] = {}
    weights: dict[Node, int] = {}
    depths: dict[Node, int] = {}
    for node in order:
        if node in named and node not in roots:
            continue
        stop = {child for child in node.children if child in named or child in chosen}
        weights[node] = 1 + sum(1 if child in stop else weights[child] for child in node.children)
        depths[node] = 1 + max((0 if child in stop else depths[child] for child in node.children), default=0)
        if node in roots or isinstance(node, Input | Indicator | Position):
            continue
        if (uses[node] > 1 and weights[node] >= REPEATED) or depths[node] >= DEEP:
            chosen[node] = names.next(_stem(node))
    return chosen


def _reached(roots: Collection[Node], named: Collection[Node]) -> list[Node]:
    """The nodes that are written out: none below a named one, except below the roots themselves. Children first."""
    reached: set[Node] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in reached:
            reached.add(node)
            if node in roots or node not in named:
                stack.extend(node.children)
    return [node for node in walk(roots) if node in reached]


def _stem(node: Node) -> str:
    for kind, stem in _STEMS:
        if isinstance(node, kind):
            return stem
    if isinstance(node, Map):
        return _function_stem(node.function)
    if isinstance(node, Einsum):
        return "total" if node.contracted else "product"
    return "part"


def _function_stem(function: Function) -> str:
    if function.exponent is not None:
        return "root"
    return function.name if function.slope is not None else function.entry.spelling[0]


class _Namer:
    """Hands out ``stem1``, ``stem2``, ... without those that are taken."""

    def __init__(self, taken: set[str]) -> None:
        self._taken = taken
        self._numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(1))

    def next(self, stem: str) -> str:
        return next(name for k in self._numbers[stem] if (name := f"{stem}{k}") not in self._taken)
