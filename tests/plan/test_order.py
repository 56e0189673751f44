"""Where a gather or a sum over segments stands in the cheapest order of a product."""

from __future__ import annotations

from math import prod

from energyc.code.plan.order import Leaf, best_order, form_of

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
