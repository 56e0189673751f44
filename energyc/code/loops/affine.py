"""Index expressions over labels: intervals, substitution, equations solved for a label."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from energyc.mathematics.ir import IndexExpr, Input
from energyc.mathematics.ir.indexing import Affine, axis, integer

TRUE = IndexExpr("true", ())
FALSE = IndexExpr("not", (TRUE,))


def labels_of(count: int) -> tuple[IndexExpr, ...]:
    """The first labels, in order."""
    return tuple(axis(k) for k in range(count))


def substituted(expr: IndexExpr, places: Sequence[IndexExpr] | Mapping[int, IndexExpr]) -> IndexExpr:
    """The expression with each label replaced by its place."""
    if expr.op == "axis":
        k = expr.args[0]
        return places[k] if not isinstance(places, Mapping) else places.get(k, expr)  # type: ignore[index, arg-type]
    return IndexExpr(expr.op, tuple(substituted(a, places) if isinstance(a, IndexExpr) else a for a in expr.args))


def written(form: Affine) -> IndexExpr:
    """An affine form as an expression."""
    total = integer(form.offset) if form.offset or not form.strides else None
    for label, stride in form.strides:
        term = axis(label) if abs(stride) == 1 else IndexExpr("*", (integer(abs(stride)), axis(label)))
        if total is None:
            total = term if stride > 0 else IndexExpr("neg", (term,))
        else:
            total = IndexExpr("+" if stride > 0 else "-", (total, term))
    assert total is not None
    return total


def interval(form: Affine, extents: Mapping[int, int]) -> tuple[int, int]:
    """The smallest and the largest value where each label runs over its extent."""
    ends = [(0, stride * (extents[label] - 1)) for label, stride in form.strides]
    return form.offset + sum(min(e) for e in ends), form.offset + sum(max(e) for e in ends)


def within(place: IndexExpr, size: int, sizes: Mapping[str, int], extents: Mapping[int, int]) -> list[IndexExpr]:
    """The conditions for a place to be one of ``size``, those that always hold left out."""
    low, high = _values(place, sizes, extents)
    conditions = [] if low >= 0 else [IndexExpr(">=", (place, integer(0)))]
    return conditions if high < size else [*conditions, IndexExpr("<", (place, integer(size)))]


def _values(place: IndexExpr, sizes: Mapping[str, int], extents: Mapping[int, int]) -> tuple[float, float]:
    """The smallest and the largest value of a place: those of an integer input that is checked are known."""
    form = Affine.of(place, sizes)
    if form is not None:
        return interval(form, extents)
    if place.op in ("floor_div", "mod") and place.parts[1].op == "int":
        (low, high), base = _values(place.parts[0], sizes, extents), int(str(place.parts[1].args[0]))
        return (0, base - 1) if place.op == "mod" else (low // base, high // base)
    read = place.args[0] if place.op == "read" else None
    if isinstance(read, Input) and read.over is not None and read.kind != "step":
        return 0, sizes[read.over] - 1
    return -math.inf, math.inf


def conjuncts(condition: IndexExpr) -> list[IndexExpr]:
    """The parts of a condition that must all hold."""
    if condition.op == "and":
        return [part for side in condition.parts for part in conjuncts(side)]
    return [] if condition.op == "true" else [condition]


def outside_training(condition: IndexExpr) -> IndexExpr:
    """The condition where the flag ``training`` does not hold, which is the only relation there is."""
    if condition.op == "related":
        return FALSE
    parts = tuple(outside_training(part) for part in condition.parts)
    if condition.op == "not":
        return FALSE if parts == (TRUE,) else TRUE if parts == (FALSE,) else IndexExpr("not", parts)
    if condition.op in ("and", "or"):
        neutral, final = (TRUE, FALSE) if condition.op == "and" else (FALSE, TRUE)
        left = [part for part in parts if part != neutral]
        if final in left or not left:
            return final if left else neutral
        return left[0] if len(left) == 1 else IndexExpr(condition.op, tuple(left))
    return condition


def conjunction(conditions: Sequence[IndexExpr]) -> IndexExpr:
    """The condition that all of them hold."""
    total = TRUE
    for condition in conditions:
        total = condition if total.op == "true" else IndexExpr("and", (total, condition))
    return total


def solved_for(condition: IndexExpr, unknown: Sequence[int], sizes: Mapping[str, int]) -> tuple[int, IndexExpr] | None:
    """An equality solved for one of the unknown labels, or None where that is not possible in integers."""
    if condition.op != "==":
        return None
    left, right = condition.parts
    for side, other in ((left, right), (right, left)):
        if side.op == "axis" and side.args[0] in unknown and side.args[0] not in other.axes():
            return side.args[0], other  # type: ignore[return-value]
    forms = Affine.of(left, sizes), Affine.of(right, sizes)
    if forms[0] is None or forms[1] is None:
        return None
    difference = forms[0].plus(forms[1].times(-1))
    for label, stride in difference.strides:
        if label in unknown and abs(stride) == 1:
            rest = difference.plus(Affine(0, ((label, -stride),)))
            return label, written(rest.times(-stride))
    return None


def digits_of(
    condition: IndexExpr, unknown: Sequence[int], sizes: Mapping[str, int], extents: Mapping[int, int]
) -> dict[int, IndexExpr] | None:
    """An equality ``u == n i + r`` with r below n, solved for both: i is u // n, r is u mod n; None for any other."""
    forms = [Affine.of(part, sizes) for part in condition.parts] if condition.op == "==" else []
    if len(forms) != 2 or forms[0] is None or forms[1] is None:
        return None
    difference = forms[0].plus(forms[1].times(-1))
    strides = {label: stride for label, stride in difference.strides if label in unknown}
    low = [label for label, stride in strides.items() if abs(stride) == 1]
    if len(strides) != 2 or len(low) != 1:
        return None
    (last,), (first,) = low, [label for label in strides if label not in low]
    base = extents[last]
    if strides[first] != base * strides[last]:
        return None
    rest = Affine(difference.offset, tuple(pair for pair in difference.strides if pair[0] not in strides))
    value = written(rest.times(-strides[last]))
    return {
        first: IndexExpr("floor_div", (value, integer(base))),
        last: IndexExpr("mod", (value, integer(base))),
    }
