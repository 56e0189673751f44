"""Places and conditions of loops: the numbers they range over, and what is left of them outside of training."""

from __future__ import annotations

import random
from itertools import product

import pytest

from energyc.code.loops.affine import FALSE, TRUE, conjuncts, digits_of, outside_training, within
from energyc.mathematics.ir import Graph, IndexExpr
from energyc.mathematics.ir.indexing import axis, integer
from tests.drawing import seeds

TRAINING = Graph().input("training", "flag", (), over="2")
ATOMS = [IndexExpr("==", (axis(k), axis(k + 1))) for k in range(3)]
RELATED = IndexExpr("related", (TRAINING,))


def drawn(draw: random.Random, depth: int) -> IndexExpr:
    """A condition of some atoms and of the flag."""
    if depth == 0 or draw.random() < 0.2:
        return draw.choice([*ATOMS, RELATED, TRUE])
    if draw.random() < 0.3:
        return IndexExpr("not", (drawn(draw, depth - 1),))
    count = draw.randint(2, 3)
    return IndexExpr(draw.choice(["and", "or"]), tuple(drawn(draw, depth - 1) for _ in range(count)))


def holds(condition: IndexExpr, atoms: dict[IndexExpr, bool]) -> bool:
    if condition in atoms:
        return atoms[condition]
    if condition in (TRUE, FALSE):
        return condition == TRUE
    parts = [holds(part, atoms) for part in condition.parts]
    return {"and": all(parts), "or": any(parts), "not": not parts[0]}[condition.op]


def everything(expr: IndexExpr) -> set[IndexExpr]:
    return {expr}.union(*(everything(part) for part in expr.parts))


@pytest.mark.parametrize("seed", seeds(200))
def test_a_condition_outside_of_training(seed: int) -> None:
    """It holds where the whole one does with the flag down, and the flag is in it no more."""
    condition = drawn(random.Random(seed), 3)
    left = outside_training(condition)
    for truths in product((False, True), repeat=len(ATOMS)):
        atoms = dict(zip(ATOMS, truths, strict=True))
        assert holds(left, atoms) == holds(condition, {**atoms, RELATED: False})
    assert RELATED not in everything(left)


@pytest.mark.parametrize("seed", seeds(50))
def test_the_parts_of_a_condition_hold_where_it_does(seed: int) -> None:
    condition = outside_training(drawn(random.Random(seed), 3))
    for truths in product((False, True), repeat=len(ATOMS)):
        atoms = dict(zip(ATOMS, truths, strict=True))
        assert holds(condition, atoms) == all(holds(part, atoms) for part in conjuncts(condition))
    assert all(part.op != "and" and part != TRUE for part in conjuncts(condition))


EXTENTS = {0: 4, 1: 3}


def place(draw: random.Random, depth: int) -> IndexExpr:
    """A place of two labels, affine but for divisions."""
    if depth == 0:
        return draw.choice([axis(0), axis(1), integer(draw.randint(0, 4))])
    a, b, whole = place(draw, depth - 1), place(draw, depth - 1), integer(draw.randint(1, 4))
    made = [IndexExpr(op, (a, b)) for op in "+-"]
    made += [IndexExpr(op, (a, whole)) for op in ("*", "floor_div", "mod")]
    return draw.choice([*made, IndexExpr("neg", (a,))])


def number(expr: IndexExpr, labels: tuple[int, ...]) -> int:
    if expr.op in ("axis", "int"):
        return labels[int(str(expr.args[0]))] if expr.op == "axis" else int(str(expr.args[0]))
    a, *rest = (number(part, labels) for part in expr.parts)
    (b,) = rest or [0]
    ways = {"+": a + b, "-": a - b, "*": a * b, "neg": -a, ">=": a >= b, "<": a < b}
    return ways[expr.op] if expr.op in ways else {"floor_div": a // b, "mod": a % b}[expr.op]


@pytest.mark.parametrize("seed", seeds(200))
def test_the_conditions_of_a_place(seed: int) -> None:
    """They hold just where it is within its size, and an affine place that always is has none."""
    draw = random.Random(seed)
    at, size = place(draw, 2), draw.randint(1, 8)
    conditions = within(at, size, {}, EXTENTS)
    inside = []
    for labels in product(*(range(n) for n in EXTENTS.values())):
        inside.append(0 <= number(at, labels) < size)
        assert all(number(condition, labels) for condition in conditions) == inside[-1]
    divides = {"floor_div", "mod"} & {part.op for part in everything(at)}
    assert divides or not all(inside) or conditions == []


@pytest.mark.parametrize("seed", seeds(60))
def test_an_index_of_two_digits_is_solved_for_both(seed: int) -> None:
    """``u == n i + r``: for every u within, the solution is the i and the r that make it; other strides have none."""
    draw = random.Random(seed)
    extents, last = {0: draw.randint(2, 4), 1: draw.randint(2, 4), 2: 20}, draw.choice([0, 1])
    first, turned = 1 - last, draw.random() < 0.5
    base, off = extents[last], draw.choice([0, 0, 1])
    digits = IndexExpr("+", (IndexExpr("*", (integer(base + off), axis(first))), axis(last)))
    sides = (digits, axis(2)) if turned else (axis(2), digits)
    found = digits_of(IndexExpr("==", sides), [first, last], {}, extents)
    if off:
        assert found is None
        return
    assert found is not None and found.keys() == {first, last}
    for i, r in product(range(extents[first]), range(base)):
        labels = (0, 0, base * i + r)
        assert (number(found[first], labels), number(found[last], labels)) == (i, r)
