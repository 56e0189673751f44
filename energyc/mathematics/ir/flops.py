"""The arithmetic of products of tensors, contracted pairwise in the best order, and of scalar functions."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from functools import cache

from energyc.mathematics.ir.indexing import IndexExpr
from energyc.mathematics.ir.node import Node
from energyc.mathematics.ir.nodes import Einsum, Indicator, Map, Operand

Labels = frozenset[int]

#: Largest number of operands whose order of contraction is searched exhaustively.
SEARCHED = 8


def step_flops(nodes: Collection[Node], sizes: Mapping[str, int]) -> int:
    """The arithmetic of products and of scalar functions, one for each element that a function is applied to.

    Powers are not counted: like sums and products of elements they are cheap beside a function. Nor is a product of
    operands that are not among the nodes, unless it is larger than they are: it is computed before the step.
    """
    functions = (node for node in nodes if isinstance(node, Map) and not node.function.named("power"))
    return _products(nodes, sizes) + sum(math.prod(sizes[dim] for dim in node.dims) for node in functions)


def _products(nodes: Collection[Node], sizes: Mapping[str, int]) -> int:
    """The arithmetic of those among the nodes that contract tensors of different axes: the products of matrices.

    Two for each multiply-add, as is usual for networks. Indicators are structure: a label that one fixes (the pixel
    under a window, a gathered row) costs nothing.
    """
    moving = frozenset(nodes)
    return sum(_einsum(node, sizes, moving) for node in nodes if isinstance(node, Einsum) and _is_product(node))


def _is_product(node: Einsum) -> bool:
    axes = {frozenset(o.axes) for o in node.operands if not isinstance(o.node, Indicator)}
    return bool(node.contracted) and len(axes) > 1


def _einsum(node: Einsum, sizes: Mapping[str, int], moving: Collection[Node]) -> int:
    fixed = _fixed(node)
    lengths = {k: sizes[dim] for k, dim in enumerate(node.labels)}
    real = [o for o in node.operands if not isinstance(o.node, Indicator)]
    static = sum(1 << k for k, o in enumerate(real) if o.node not in moving)
    out = frozenset(node.out).union(*(fixed[k] for k in node.out if k in fixed)) - fixed.keys()
    return _contraction(tuple(_free(o, fixed) for o in real), out, lengths, static)


def _fixed(node: Einsum) -> dict[int, Labels]:
    """Labels that an equality fixes, each with the labels that it is computed from."""
    fixed: dict[int, Labels] = {}
    for operand in node.operands:
        if isinstance(operand.node, Indicator):
            for label, others in _equalities(operand, operand.node.condition):
                if label not in node.out and label not in fixed and not _circular(label, others, fixed):
                    fixed[label] = others
    return {label: _resolved(others, fixed) for label, others in fixed.items()}


def _equalities(operand: Operand, condition: IndexExpr) -> Iterable[tuple[int, Labels]]:
    if condition.op == "and":
        for part in condition.parts:
            yield from _equalities(operand, part)
    if condition.op == "==":
        left, right = condition.parts
        for side, other in ((left, right), (right, left)):
            if side.op == "axis":
                label = operand.axes[next(iter(side.axes()))]
                yield label, frozenset(operand.axes[a] for a in other.axes())


def _circular(label: int, others: Labels, fixed: Mapping[int, Labels]) -> bool:
    return label in _resolved(others, fixed)


def _resolved(labels: Labels, fixed: Mapping[int, Labels]) -> Labels:
    while solvable := labels & fixed.keys():
        labels = (labels - solvable).union(*(fixed[k] for k in solvable))
    return labels


def _free(operand: Operand, fixed: Mapping[int, Labels]) -> Labels:
    axes = frozenset(operand.axes)
    return (axes - fixed.keys()).union(*(fixed[a] for a in axes & fixed.keys()))


def _contraction(operands: tuple[Labels, ...], out: Labels, lengths: Mapping[int, int], static: int) -> int:
    """The least number of operations over all orders of pairwise contraction; left to right for very many.

    Products within the set ``static`` (bit k: operand k) are free where they are no larger than a factor.
    """
    if len(operands) <= 1:
        read = operands[0] if operands else frozenset()
        return math.prod(lengths[k] for k in read) if read - out else 0
    everything = (1 << len(operands)) - 1

    @cache
    def remaining(subset: int) -> Labels:
        inside: Labels = frozenset().union(*(o for k, o in enumerate(operands) if subset >> k & 1))
        outside = out.union(*(o for k, o in enumerate(operands) if not subset >> k & 1))
        return inside & outside

    def size(subset: int) -> int:
        return math.prod(lengths[k] for k in remaining(subset))

    def cost(a: int, b: int) -> int:
        if (a | b) & ~static == 0 and size(a | b) <= max(size(a), size(b)):
            return 0
        joint = remaining(a) | remaining(b)
        summed = bool(joint - remaining(a | b))
        return (2 if summed else 1) * math.prod(lengths[k] for k in joint)

    @cache
    def best(subset: int) -> int:
        if subset & (subset - 1) == 0:
            return 0
        return min(best(a) + best(subset ^ a) + cost(a, subset ^ a) for a in _halves(subset))

    if len(operands) <= SEARCHED:
        return best(everything)
    return sum(cost((1 << k) - 1, 1 << k) for k in range(1, len(operands)))


def _halves(subset: int) -> Iterable[int]:
    """The splits of a set into two, each once."""
    part = (subset - 1) & subset
    while part:
        if part > subset ^ part:
            yield part
        part = (part - 1) & subset
