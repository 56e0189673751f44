"""Signs that are known: of inputs by their ranges, and of what is made of them, beside values at random points."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

from energyc.mathematics.calculus.signs import Signs
from energyc.mathematics.ir import Graph, Input, Map, Node
from energyc.mathematics.ir.interpreter import evaluate
from tests.drawing import seeds

#: Ranges with the levels that they show: 2 above 0, 1 from 0 on, 0 on both sides, and below.
RANGES = {
    (0.5, 2.0): 2,
    (0.5, None): 2,
    (0.0, 1.0): 1,
    (0.0, None): 1,
    (-1.0, 1.0): 0,
    (-1.0, None): 0,
    (None, 1.0): 0,
    (None, None): 0,
    (-1.0, 0.0): -1,
    (None, 0.0): -1,
    (-2.0, -0.5): -2,
    (None, -0.5): -2,
}
#: Functions that are positive, and tiny far below 0.
TINY = ("exp", "sigmoid")


def level(signs: Signs, node: Node) -> int:
    """The level of a node, by the three questions."""
    if signs.positive(node):
        return 2
    return 1 if signs.nonnegative(node) else signs.side(node)


@pytest.fixture
def graph() -> Graph:
    return Graph()


def known(graph: Graph, *bounds: tuple[float | None, float | None]) -> tuple[Signs, list[Input]]:
    inputs = [graph.input(f"x{k}", "state", ("N",)) for k in range(len(bounds))]
    return Signs({}, dict(zip(inputs, bounds, strict=True))), inputs


@pytest.mark.parametrize(("bounds", "expected"), RANGES.items())
def test_of_an_input_by_its_range(graph: Graph, bounds: tuple[float | None, float | None], expected: int) -> None:
    signs, (x,) = known(graph, bounds)
    assert level(signs, x) == max(expected, -1)
    assert level(signs, graph.scale(-1, x)) == max(-expected, -1)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((0.5, None), (0.0, None), 2),
        ((0.0, None), (0.5, None), 2),
        ((0.0, None), (0.0, None), 1),
        ((0.5, None), (None, None), 0),
        ((0.5, None), (None, 0.0), 0),
        ((None, 0.0), (None, 0.0), -1),
        ((None, 0.0), (None, -0.5), -1),
    ],
)
def test_of_a_sum(
    graph: Graph, first: tuple[float | None, float | None], second: tuple[float | None, float | None], expected: int
) -> None:
    signs, (x, y) = known(graph, first, second)
    assert level(signs, graph.plus(x, y)) == expected
    assert signs.side(graph.plus(x, y)) == (expected > 0) - (expected < 0)


def test_of_products(graph: Graph) -> None:
    signs, (above, rim, free, below) = known(graph, (0.5, None), (0.0, None), (None, None), (None, -0.5))
    levels = {
        graph.product(above, above): 2,
        graph.product(above, rim): 1,
        graph.product(free, free): 1,
        graph.product(free, free, free): 0,
        graph.product(above, free): 0,
        graph.product(below, below): 2,
        graph.product(below, above): -1,
        graph.product(below, rim): -1,
        graph.product(below, free, free): -1,
    }
    assert {node: level(signs, node) for node in levels} == levels


def test_of_functions(graph: Graph) -> None:
    signs, (above, rim, free) = known(graph, (0.5, None), (0.0, None), (None, None))
    levels = {
        graph.map("exp", free): 2,
        graph.map("sigmoid", free): 2,
        graph.map("relu", free): 1,
        graph.map("relu", above): 2,
        graph.map("abs", free): 1,
        graph.map("tanh", free): 0,
        graph.map("tanh", above): 2,
        graph.map("tanh", rim): 1,
    }
    assert {node: level(signs, node) for node in levels} == levels


@pytest.mark.parametrize("seed", seeds(60))
def test_no_value_has_another_sign(seed: int) -> None:
    """Sums, products, squares and functions of inputs with ranges, at points that are often on a rim."""
    draw, graph = random.Random(seed), Graph()
    bounds = [draw.choice(list(RANGES)) for _ in range(4)]
    signs, inputs = known(graph, *bounds)
    nodes: list[Node] = list(inputs)
    for _ in range(12):
        a, b, factor = draw.choice(nodes), draw.choice(nodes), Fraction(draw.choice([-2, -1, 1, 3]))
        match draw.choice(["sum", "product", "square", "function"]):
            case "sum":
                nodes.append(graph.plus(a, graph.scale(factor, b)))
            case "product":
                nodes.append(graph.product(a, b))
            case "square":
                nodes.append(graph.scale(factor, graph.product(a, a)))
            case "function":
                nodes.append(graph.map(draw.choice(["relu", "exp", "abs", "sigmoid", "tanh"]), a))
    points = np.random.default_rng(seed)
    for _ in range(8):
        values = {x.name: _within(points, *bound) for x, bound in zip(inputs, bounds, strict=True)}
        with np.errstate(all="ignore"):
            arrays = evaluate(nodes, values, sizes={"N": 3})
        # What is positive may round to 0, from where an exponential is tiny.
        tiny = [a for n, a in zip(nodes, arrays, strict=True) if isinstance(n, Map) and n.function.name in TINY]
        underflows = any((array < 1e-30).any() for array in tiny)
        for node, array in zip(nodes, arrays, strict=True):
            expected = level(signs, node)
            array = array[np.isfinite(array)]
            assert expected < 2 or underflows or (array > 0).all(), (seed, node)
            assert expected < 1 or (array >= 0).all(), (seed, node)
            assert expected > -1 or (array <= 0).all(), (seed, node)


def _within(points: np.random.Generator, low: float | None, high: float | None) -> np.ndarray:
    """One sample of numbers within a range, some of them at its ends."""
    least = low if low is not None else (high or 0.0) - 3
    most = high if high is not None else least + 3
    inner = points.uniform(least, most, (1, 3))
    ends = points.choice([x for x in (low, high) if x is not None] or [0.0], (1, 3))
    return np.where(points.random((1, 3)) < 0.3, np.clip(ends, least, most), inner)
