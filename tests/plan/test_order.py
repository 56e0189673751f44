"""Where a gather or a sum over segments stands in the cheapest order of a product."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import combinations
from math import prod

import pytest

from energyc.code.plan.order import Leaf, best_order, form_of
from tests.drawing import seeds

NODE, EDGE, WIDTH, KEY = range(4)
SELECTION = Leaf(frozenset({NODE, EDGE}), True, True, NODE, frozenset({EDGE}))


def leaf(*labels: int) -> Leaf:
    return Leaf(frozenset(labels), True, False)


def order(leaves: list[Leaf], out: set[int], **sizes: int) -> list[tuple[int, int]]:
    lengths = {NODE: 100, EDGE: 1000, WIDTH: 8, KEY: 8} | {globals()[name]: size for name, size in sizes.items()}
    return best_order(leaves, frozenset(out), lambda labels, batched: prod(lengths[k] for k in labels))


def test_a_projection_comes_before_a_gather() -> None:
    """``sum[n,d](W[d,y] z[n,d] [n == dst[e]])``: N rows are projected, not E."""
    leaves = [leaf(WIDTH, KEY), leaf(NODE, WIDTH), SELECTION]
    assert order(leaves, {EDGE, KEY}) == [(1, 2), (3, 4)]


def test_a_gather_comes_first_where_few_are_read() -> None:
    leaves = [leaf(WIDTH, KEY), leaf(NODE, WIDTH), SELECTION]
    assert order(leaves, {EDGE, KEY}, EDGE=10) == [(2, 4), (1, 6)]


def test_a_sum_over_segments_comes_before_a_product_with_nodes() -> None:
    """``sum[n,e](x[n,d] [n == dst[e]] k[e,y])``: k is added up at the nodes, x is not spread over the edges."""
    leaves = [leaf(NODE, WIDTH), SELECTION, leaf(EDGE, KEY)]
    assert order(leaves, {WIDTH, KEY}) == [(2, 4), (1, 6)]


def test_more_factors_than_are_searched() -> None:
    leaves = [SELECTION, *(leaf(NODE) for _ in range(6)), *(leaf(EDGE) for _ in range(6))]
    steps = order(leaves, set())
    assert len(steps) == len(leaves) - 1 and steps[-1][0] | steps[-1][1] == (1 << len(leaves)) - 1


def test_forms() -> None:
    assert form_of(frozenset({NODE, WIDTH}), SELECTION, frozenset({EDGE, WIDTH})) == "gather"
    assert form_of(frozenset({EDGE, WIDTH}), SELECTION, frozenset({NODE, WIDTH})) == "scatter"
    assert form_of(frozenset({EDGE, WIDTH}), SELECTION, frozenset({NODE, EDGE, WIDTH})) == "mask"
    assert form_of(frozenset({NODE, WIDTH}), SELECTION, frozenset({NODE, EDGE})) == "mask"


def test_what_is_computed_once_costs_nothing_where_it_does_not_grow() -> None:
    """``sum[d](W[d,y] g[d] z[n,d])`` of one node: g goes into W, which stays as large."""
    weight, gain = Leaf(frozenset({WIDTH, KEY}), False, True), Leaf(frozenset({WIDTH}), False, True)
    assert order([weight, gain, leaf(NODE, WIDTH)], {NODE, KEY}, NODE=1) == [(1, 2), (3, 4)]


@pytest.mark.parametrize("seed", seeds(60))
def test_of_factors_without_a_selection_no_order_is_cheaper(seed: int) -> None:
    """Beside all orders, each with the entries that its products run over."""
    draw = random.Random(seed)
    lengths = [draw.randint(2, 12) for _ in range(6)]
    drawn = [frozenset(draw.sample(range(6), draw.randint(1, 3))) for _ in range(draw.randint(2, 5))]
    outside = frozenset(draw.sample(range(6), draw.randint(0, 2)))
    found = best_order(
        [Leaf(labels, True, False) for labels in drawn], outside, lambda labels, _: prod(lengths[k] for k in labels)
    )
    ways = [_work(way, drawn, outside, lengths) for way in _ways([1 << k for k in range(len(drawn))])]
    assert _work(found, drawn, outside, lengths) == min(ways)
    assert all(a & b == 0 for a, b in found) and sum(found[-1]) == 2 ** len(drawn) - 1


def _ways(groups: list[int]) -> Iterator[list[tuple[int, int]]]:
    """All orders in which groups can be multiplied, two at a time."""
    if len(groups) == 1:
        yield []
    for a, b in combinations(groups, 2):
        rest = [g for g in groups if g not in (a, b)]
        yield from ([(a, b), *steps] for steps in _ways([*rest, a | b]))


def _work(
    steps: Sequence[tuple[int, int]], leaves: Sequence[frozenset[int]], outside: frozenset[int], lengths: Sequence[int]
) -> int:
    """The entries that the products run over: all labels of both, of which those stay that are still needed."""

    def labels(group: int) -> frozenset[int]:
        inside = [own for k, own in enumerate(leaves) if group >> k & 1]
        if len(inside) == 1:
            return inside[0]
        needed = outside.union(*(own for k, own in enumerate(leaves) if not group >> k & 1))
        return frozenset().union(*inside) & needed

    return sum(prod(lengths[k] for k in labels(a) | labels(b)) for a, b in steps)
