"""Counts of arithmetic, against counts by hand."""

from __future__ import annotations

import pytest

from energyc.mathematics.ir import ONE, Graph, IndexExpr, Node, walk
from energyc.mathematics.ir.flops import step_flops
from energyc.mathematics.ir.indexing import axis, equal

SIZES = {"M": 30, "K": 5, "N": 70, "C": 4, "U": 10, "I": 8, "P": 3, "V": 1000}


def counted(*nodes: Node) -> int:
    """The arithmetic of the nodes where all that they are computed from moves."""
    return step_flops(list(walk(nodes)), SIZES)


@pytest.fixture
def graph() -> Graph:
    return Graph()


def test_a_product_of_matrices(graph: Graph) -> None:
    a, b = graph.input("a", "param", ("M", "K")), graph.input("b", "state", ("K", "N"))
    node = graph.einsum(ONE, [(a, (0, 1)), (b, (1, 2))], {0: "M", 1: "K", 2: "N"}, (0, 2))
    assert counted(node) == 2 * 30 * 5 * 70


def test_a_chain_goes_in_the_best_order(graph: Graph) -> None:
    a, b, v = (graph.input(n, "param", d) for n, d in (("a", ("M", "N")), ("b", ("N", "K")), ("v", ("K",))))
    labels = {0: "M", 1: "N", 2: "K"}
    node = graph.einsum(ONE, [(a, (0, 1)), (b, (1, 2)), (v, (2,))], labels, (0,))
    assert counted(node) == 2 * 70 * 5 + 2 * 30 * 70


def test_what_contracts_no_tensors_is_not_counted(graph: Graph) -> None:
    a, b = graph.input("a", "param", ("M",)), graph.input("b", "param", ("M",))
    others = [graph.product(a, b), graph.plus(a, b), graph.sum(a, (0,)), a, graph.zero(("M",))]
    assert counted(*others) == 0


def test_a_window_costs_what_a_convolution_costs(graph: Graph) -> None:
    x, w = graph.input("x", "state", ("C", "U")), graph.input("w", "param", ("M", "C", "P"))
    place = graph.indicator(("U", "I", "P"), equal(axis(0), IndexExpr("+", (axis(1), axis(2)))))
    labels = {0: "C", 1: "U", 2: "I", 3: "P", 4: "M"}
    node = graph.einsum(ONE, [(x, (0, 1)), (place, (1, 2, 3)), (w, (4, 0, 3))], labels, (4, 2))
    assert counted(node) == 2 * 30 * 4 * 8 * 3


def test_a_gather_costs_nothing(graph: Graph) -> None:
    table, idx = graph.input("tok", "param", ("V", "C")), graph.input("idx", "clamp", ("N",), "V")
    chosen = graph.indicator(("V", "N"), equal(axis(0), IndexExpr("read", (idx, axis(1)))))
    node = graph.einsum(ONE, [(table, (0, 2)), (chosen, (0, 1))], {0: "V", 1: "N", 2: "C"}, (1, 2))
    assert counted(node) == 0


def test_very_many_factors_are_counted_too(graph: Graph) -> None:
    vectors = [(graph.input(f"v{k}", "param", ("K",)), (0,)) for k in range(40)]
    matrix = (graph.input("a", "param", ("K", "N")), (0, 1))
    node = graph.einsum(ONE, [*vectors, matrix], {0: "K", 1: "N"}, (1,))
    assert counted(node) == 39 * 5 + 2 * 5 * 70


def test_a_scalar_function_costs_one_for_each_value(graph: Graph) -> None:
    theta = graph.input("theta", "state", ("M",))
    sine, square = graph.map("sin", theta), graph.power(theta, 2)
    assert counted(sine, square) == 30


def test_a_product_made_before_the_step_costs_nothing(graph: Graph) -> None:
    w, x, z = (
        graph.input("w", "param", ("M", "N")),
        graph.input("x", "clamp", ("N",)),
        graph.input("z", "state", ("M",)),
    )
    node = graph.einsum(ONE, [(w, (0, 1)), (x, (1,)), (z, (0,))], {0: "M", 1: "N"}, ())
    assert step_flops([z, node], SIZES) == 2 * 30 and counted(node) == 2 * 30 * 70 + 2 * 30


def test_an_outer_product_is_not_made_before_the_step(graph: Graph) -> None:
    a, b, z = graph.input("a", "param", ("M",)), graph.input("b", "param", ("N",)), graph.input("z", "state", ("N",))
    node = graph.einsum(ONE, [(a, (0,)), (b, (1,)), (z, (1,))], {0: "M", 1: "N"}, (0,))
    assert step_flops([z, node], SIZES) == 2 * 70 + 30
