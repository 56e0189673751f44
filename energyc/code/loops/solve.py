"""Einsums whose equalities of indices are solved: what is left are loops over labels, and places."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from energyc.code.loops.affine import FALSE, conjuncts, digits_of, outside_training, solved_for, substituted, within
from energyc.mathematics.ir import Einsum, IndexExpr, Indicator, Node
from energyc.mathematics.ir.indexing import axis
from energyc.mathematics.sparse.selection import selection_of


@dataclass(frozen=True)
class Solved:
    """An einsum without its equalities: labels are axes of the node, then those that are summed over.

    ``operands`` are left with the place of each of their axes, under ``conditions``; ``extents`` are of all labels.
    ``out`` is the place of each of the node's axes: the labels in order, but where an entry of an integer input says
    to which place a term is added, as in ``sum[e | dst[e] == n]``.
    """

    operands: tuple[tuple[Node, tuple[IndexExpr, ...]], ...]
    conditions: tuple[IndexExpr, ...]
    extents: tuple[int, ...]
    out: tuple[IndexExpr, ...]

    @property
    def scatters(self) -> bool:
        """Whether terms are added where an integer input says."""
        return any(place.op != "axis" for place in self.out)

    @property
    def folds(self) -> bool:
        """Whether several terms are added up."""
        return self.scatters or len(self.extents) > len(self.out)

    @property
    def never(self) -> bool:
        """Whether no term is ever let through, so that it is 0."""
        return FALSE in self.conditions

    @property
    def plain(self) -> int:
        """How many labels are axes of the node."""
        return sum(place.op == "axis" for place in self.out)


def solved(node: Einsum, sizes: Mapping[str, int]) -> Solved:
    """The einsum with its equalities of indices solved, for labels that it sums over and then for its own axes."""
    extents = {k: sizes[dim] for k, dim in enumerate(node.labels)}
    summed, places, conditions = list(node.contracted), dict[int, IndexExpr](), list[IndexExpr]()
    waiting = [
        part
        for operand in node.operands
        if isinstance(operand.node, Indicator)
        for part in conjuncts(outside_training(operand.node.condition.renumbered(dict(enumerate(operand.axes)))))
    ]

    def settle(label: int, value: IndexExpr) -> None:
        nonlocal places, conditions
        places = {k: substituted(v, {label: value}) for k, v in places.items()} | {label: value}
        conditions = [substituted(c, {label: value}) for c in conditions]
        conditions += within(value, extents[label], sizes, extents)

    while waiting:
        condition = substituted(waiting.pop(0), places)
        digits = digits_of(condition, summed, sizes, extents)
        if digits is not None and set(digits) == set(summed):  # else a matrix product may be left
            summed.clear()
            for label, value in digits.items():
                settle(label, value)
            continue
        found = solved_for(condition, summed, sizes)
        if found is None:
            conditions.append(condition)
        else:
            summed.remove(found[0])
            settle(*found)
    for condition in conditions:
        head = _scattered(condition, node, summed)
        if head is not None:
            conditions.remove(condition)
            settle(*head)
            break
    return _numbered(node, places, conditions, extents)


def _scattered(condition: IndexExpr, node: Einsum, summed: Collection[int]) -> tuple[int, IndexExpr] | None:
    """An axis of the node that an entry of an integer input decides for each term: ``n == dst[e]``."""
    found = selection_of(condition, dict(enumerate(node.labels)))
    if found is None or found.head not in node.out or not set(found.by) & set(summed):
        return None
    return found.head, found.place


def _numbered(
    node: Einsum, places: Mapping[int, IndexExpr], conditions: list[IndexExpr], extents: Mapping[int, int]
) -> Solved:
    """With the labels that are left numbered in order."""
    left = [k for k in (*node.out, *node.contracted) if k not in places]
    final = {k: axis(j) for j, k in enumerate(dict.fromkeys(left))}
    whole = {k: substituted(places[k], final) if k in places else final[k] for k in extents}
    return Solved(
        tuple((o.node, tuple(whole[k] for k in o.axes)) for o in node.operands if not isinstance(o.node, Indicator)),
        tuple(dict.fromkeys(substituted(c, final) for c in conditions)),
        tuple(extents[k] for k in final),
        tuple(whole[k] for k in node.out),
    )
