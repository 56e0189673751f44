"""The cheapest order of contracting a product that selections ``[n == dst[e]]`` are factors of.

A selection is not a matrix: with a factor that runs over n it is a gather (``x[dst[e]]``), with one that runs over e it
adds up the entries that share an n. Whether the gather or the sum comes first decides how large the products are,
so all orders are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

Labels = frozenset[int]
#: Two sets of factors, each contracted already, that are multiplied; factor k is the bit ``1 << k``.
Step = tuple[int, int]

#: Largest number of factors whose orders are all compared; of more, the cheapest pair is taken each time.
SEARCHED = 8


@dataclass(frozen=True)
class Leaf:
    """A factor: its labels; for a selection also its ``head`` and the labels that it is read ``by``."""

    labels: Labels
    batched: bool
    static: bool
    head: int | None = None
    by: Labels = frozenset()


def form_of(other: Labels, leaf: Leaf, after: Labels) -> str:
    """The kind of a product of a factor with a selection: ``gather``, ``scatter``, or ``mask`` where it is neither.

    ``other`` are the labels of the factor, ``after`` those that are still needed.
    """
    if leaf.head in other and leaf.head not in after:
        return "gather"
    if leaf.head in after and leaf.head not in other and leaf.by <= other and not leaf.by <= after:
        return "scatter"
    return "mask"


@dataclass(frozen=True)
class _Group:
    """Some of the factors, contracted with each other."""

    labels: Labels
    batched: bool
    static: bool
    selection: Leaf | None


def best_order(leaves: Sequence[Leaf], outside: Labels, extent: Callable[[Labels, bool], int]) -> list[Step]:
    """The steps of least work; ``outside`` are the labels of the result, ``extent`` the entries of a tensor."""
    everything = (1 << len(leaves)) - 1

    @cache
    def group(subset: int) -> _Group:
        inside = [leaf for k, leaf in enumerate(leaves) if subset >> k & 1]
        needed = outside.union(*(leaf.labels for k, leaf in enumerate(leaves) if not subset >> k & 1))
        labels = frozenset().union(*(leaf.labels for leaf in inside))
        alone = inside[0] if len(inside) == 1 else None
        return _Group(
            labels if alone else labels & needed,
            any(leaf.batched for leaf in inside),
            all(leaf.static for leaf in inside),
            alone if alone and alone.head is not None else None,
        )

    @cache
    def work(left: int, right: int) -> int:
        """The cost of a product of two; of a static one, computed once, only what grows counts, twice."""
        a, b, result = group(left), group(right), group(left | right)
        entries = extent(_touched(a, b, result.labels), a.batched or b.batched)
        if a.static and b.static:
            larger = max((extent(g.labels, g.batched) for g in (a, b) if g.selection is None), default=0)
            return 0 if extent(result.labels, result.batched) <= larger else 2 * entries
        return entries

    @cache
    def best(subset: int) -> tuple[int, tuple[Step, ...]]:
        if subset & (subset - 1) == 0:
            return 0, ()
        found = []
        for part in _parts(subset):
            (first, left), (second, right) = best(part), best(subset ^ part)
            cost = first + second + work(part, subset ^ part)
            found.append((cost, (*left, *right, (part, subset ^ part))))
        return min(found, key=lambda entry: entry[0])

    if len(leaves) <= SEARCHED:
        return list(best(everything)[1])
    steps: list[Step] = []
    open_groups = [1 << k for k in range(len(leaves))]
    while len(open_groups) > 1:
        a, b = min(combinations(open_groups, 2), key=lambda pair: work(*pair))
        open_groups = [*(g for g in open_groups if g not in (a, b)), a | b]
        steps.append((a, b))
    return steps


def _touched(a: _Group, b: _Group, after: Labels) -> Labels:
    """The labels of what a product of two runs over."""
    for one, other in ((a, b), (b, a)):
        if one.selection is not None and other.selection is None:
            match form_of(other.labels, one.selection, after):
                case "gather":
                    return (other.labels | one.selection.by) - {one.selection.head}
                case "scatter":
                    return other.labels
    return a.labels | b.labels


def _parts(subset: int) -> Iterator[int]:
    """The ways to split a set into two, each once: the part without the highest element."""
    part = (subset - 1) & subset
    while part:
        if part < subset ^ part:
            yield part
        part = (part - 1) & subset
