"""The labels of one einsum: which are summed over by name, and which an equality among the operands gives away.

``sum[u, p]([u == 2*i + p] * W[p] * x[u])`` reads ``sum[p](W[p] * x[2*i + p])``: the label u is solved for. It may be
only where ``2*i + p`` cannot leave the range of u; elsewhere the equality stays and becomes a guard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from energyc.mathematics.ir import Einsum, IndexExpr, Indicator, Input
from energyc.mathematics.ir.indexing import Affine


@dataclass(frozen=True)
class Contraction:
    """``solved`` gives labels by others, ``conditions`` is what remains; in both, labels appear as axes."""

    solved: Mapping[int, IndexExpr]
    conditions: tuple[IndexExpr, ...]

    @staticmethod
    def of(node: Einsum, sizes: Mapping[str, int] | None) -> Contraction:
        """Solve as many of the contracted labels as the equalities among the operands allow."""
        conditions = tuple(c for o in node.operands if isinstance(o.node, Indicator) for c in _placed(o.node, o.axes))
        solved: dict[int, IndexExpr] = {}
        open_labels = set(node.contracted)
        for condition in conditions:
            candidate = _solution(at(condition, solved), open_labels)
            if candidate is None:
                continue
            label, value = candidate
            if _inside(value, node.labels, node.labels[label], sizes, conditions):
                solved = {k: at(v, {label: value}) for k, v in solved.items()} | {label: value}
                open_labels.discard(label)
        left = (at(condition, solved) for condition in conditions)
        return Contraction(solved, tuple(dict.fromkeys(c for c in left if not _trivial(c))))


def at(expr: IndexExpr, places: Mapping[int, IndexExpr]) -> IndexExpr:
    """An index expression with some of its axes replaced."""
    if expr.op == "axis":
        return places.get(axis_of(expr), expr)
    return IndexExpr(expr.op, tuple(at(a, places) if isinstance(a, IndexExpr) else a for a in expr.args))


def axis_of(expr: IndexExpr) -> int:
    """The number of an axis expression."""
    (number,) = expr.args
    assert isinstance(number, int)
    return number


def conjuncts(condition: IndexExpr) -> Iterator[IndexExpr]:
    """The conditions that must all hold."""
    if condition.op == "and":
        for part in condition.parts:
            yield from conjuncts(part)
    elif condition.op != "true":
        yield condition


def _placed(indicator: Indicator, axes: tuple[int, ...]) -> Iterator[IndexExpr]:
    return conjuncts(indicator.condition.renumbered(dict(enumerate(axes))))


def _trivial(condition: IndexExpr) -> bool:
    return condition.op == "==" and condition.args[0] == condition.args[1]


def _solution(condition: IndexExpr, unsolved: set[int]) -> tuple[int, IndexExpr] | None:
    """``label == value`` from an equality whose one side is an unsolved label that the other does not hold."""
    if condition.op != "==":
        return None
    left, right = condition.parts
    for side, value in ((left, right), (right, left)):
        if side.op == "axis" and axis_of(side) in unsolved and axis_of(side) not in value.axes():
            return axis_of(side), value
    return None


def _inside(
    value: IndexExpr,
    labels: tuple[str, ...],
    dim: str,
    sizes: Mapping[str, int] | None,
    conditions: tuple[IndexExpr, ...],
) -> bool:
    """Whether a value stays in the range of a dim: by its kind, by arithmetic, or because a condition says so."""
    if value.op == "read":
        return isinstance(value.args[0], Input) and value.args[0].over == dim
    if value.op == "axis":
        return labels[axis_of(value)] == dim
    if sizes is None:
        return True
    affine = Affine.of(value, sizes)
    if affine is None:
        return False
    spans = [stride * (sizes[labels[k]] - 1) for k, stride in affine.strides]
    low = affine.offset + sum(min(span, 0) for span in spans)
    high = affine.offset + sum(max(span, 0) for span in spans)
    bounds = [bound for condition in conditions for bound in _bounds(condition, value, sizes)]
    low = max([low, *(bound for bound, upper in bounds if not upper)])
    high = min([high, *(bound for bound, upper in bounds if upper)])
    return low >= 0 and high < sizes[dim]


def _bounds(condition: IndexExpr, value: IndexExpr, sizes: Mapping[str, int]) -> Iterator[tuple[int, bool]]:
    """The bounds on a value from ``a <= value``, ``value < b`` and the like: (bound, whether it is an upper one)."""
    slack = {"<=": 0, "<": 1, ">=": 0, ">": 1}.get(condition.op)
    if slack is None:
        return
    small, large = condition.parts if condition.op[0] == "<" else condition.parts[::-1]
    bound = Affine.of(large if small == value else small, sizes)
    if bound is None or bound.strides:
        return
    if small == value:
        yield bound.offset - slack, True
    elif large == value:
        yield bound.offset + slack, False
