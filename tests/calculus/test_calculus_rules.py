"""Nodes that derivatives refuse and stop at, and bodies at nodes: substitution and lifting."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from energyc.mathematics.calculus import DoesNotOccur, adjoint, depends, difference, gradient, lift, substitute, tangent
from energyc.mathematics.ir import ONE, Coefficient, Function, Graph, Guard, IndexExpr, Node
from energyc.mathematics.ir.indexing import axis
from energyc.mathematics.ir.interpreter import evaluate
from tests.ir.verify import verify

SIZES = {"N": 3}
POINT = np.array([[0.3, -1.2, 2.0], [1.0, 0.5, -0.7]])


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.fixture
def z(graph: Graph) -> Node:
    return graph.input("z", "state", ("N",))


def total(graph: Graph, node: Node) -> Node:
    return graph.sum(node, range(len(node.dims)))


def value(node: Node, **inputs: object) -> np.ndarray:
    verify([node])
    return evaluate([node], inputs, sizes=SIZES)[0]


def test_a_derivative_by_what_does_not_occur_is_an_error(graph: Graph, z: Node) -> None:
    other = graph.input("w", "param", ("N",))
    energy = total(graph, graph.map("tanh", z))
    with pytest.raises(DoesNotOccur) as caught:
        gradient(graph, energy, [z, other])
    assert caught.value.what is other
    assert set(gradient(graph, energy, [z, other], strict=False)) == {z}


@pytest.mark.parametrize("mode", ["frozen", "detach"])
def test_a_stop_is_passed_as_its_mode_says(graph: Graph, z: Node, mode: str) -> None:
    energy = total(graph, graph.product(z, graph.stop(z, mode)))
    force = gradient(graph, energy, [z])[z]
    trained = gradient(graph, energy, [z], frozen=True)[z]
    np.testing.assert_allclose(value(force, z=POINT), POINT)
    np.testing.assert_allclose(value(trained, z=POINT), POINT * (2 if mode == "frozen" else 1))
    with pytest.raises(DoesNotOccur):
        gradient(graph, total(graph, graph.stop(z, "detach")), [z], frozen=True)
    with pytest.raises(DoesNotOccur):
        gradient(graph, total(graph, graph.stop(z, "frozen")), [z])


def test_a_quantity_inside_is_taken_as_independent(graph: Graph, z: Node) -> None:
    g = graph.map("tanh", z)
    energy = total(graph, graph.plus(graph.product(g, g), z))
    found = gradient(graph, energy, [g, z])
    with pytest.raises(DoesNotOccur):
        gradient(graph, total(graph, g), [g, z])
    np.testing.assert_allclose(value(found[g], z=POINT), 2 * np.tanh(POINT))
    np.testing.assert_allclose(value(found[z], z=POINT), np.ones(3))


def test_seeds_weigh_each_root(graph: Graph, z: Node) -> None:
    a, b = graph.map("exp", z), graph.map("sin", z)
    seed = graph.input("s", "cotangent", ("N",))
    found = adjoint(graph, {a: seed, b: graph.constant(2, ("N",))}, [z])[z]
    np.testing.assert_allclose(value(found, z=POINT, s=POINT), POINT * np.exp(POINT) + 2 * np.cos(POINT))


def test_the_tangent_of_what_does_not_move_is_zero(graph: Graph, z: Node) -> None:
    w = graph.input("w", "param", ("N",))
    assert tangent(graph, [graph.map("exp", w)], {z: z}) == [graph.zero(("N",))]
    assert tangent(graph, [graph.stop(z, "detach")], {z: z}) == [graph.zero(("N",))]
    assert tangent(graph, [graph.stop(z, "frozen")], {z: w}, frozen=False) == [graph.zero(("N",))]


def test_a_tangent_may_start_inside(graph: Graph, z: Node) -> None:
    g = graph.map("tanh", z)
    direction = graph.input("dg", "direction", ("N",))
    assert tangent(graph, [graph.product(g, z)], {g: direction}) == [graph.product(direction, z)]


def test_what_depends(graph: Graph, z: Node) -> None:
    cut = graph.stop(z, "frozen")
    root = graph.plus(graph.map("exp", cut), graph.map("sin", z))
    assert cut in depends([root], [z])
    assert cut not in depends([root], [z], frozen=False)
    assert root in depends([root], [z], frozen=False)


def potential(graph: Graph, inner: Node) -> Function:
    """``phi'(u) = inner u``, ``phi(u) = inner u^2 / 2``."""
    u = graph.input("u", "argument")
    half = Coefficient(Fraction(1, 2))
    return Function("phi", slope=graph.product(u, inner), primitive=graph.product(u, u, inner, coefficient=half))


def test_a_potential_has_its_slope(graph: Graph, z: Node) -> None:
    c = graph.input("c", "param")
    energy = total(graph, graph.map(potential(graph, c), z))
    np.testing.assert_allclose(value(energy, z=POINT, c=3.0), 1.5 * (POINT**2).sum(1))
    np.testing.assert_allclose(value(gradient(graph, energy, [z])[z], z=POINT, c=3.0), 3 * POINT)


def test_a_potential_passes_no_derivative_through_its_body(graph: Graph, z: Node) -> None:
    c = graph.input("c", "param")
    energy = total(graph, graph.map(potential(graph, graph.map("exp", c)), z))
    for by in ([c], [c, z]):
        with pytest.raises(NotImplementedError):
            gradient(graph, energy, by)
        with pytest.raises(NotImplementedError):
            tangent(graph, [energy], {node: node for node in by})


def test_lifting_spreads_what_does_not_hold_the_argument(graph: Graph, z: Node) -> None:
    u = graph.input("u", "argument")
    b = graph.input("b", "param", ("N",))
    inside = graph.sum(graph.map("exp", b), (0,))
    tanh = graph.stop(graph.map("tanh", u), "frozen")
    body = graph.plus(graph.product(u, u, inside), inside, graph.constant(1), tanh)
    vector = np.array([0.1, 0.2, 0.3])
    sum_of_b = np.exp(vector).sum()
    found = value(lift(graph, body, z), z=POINT, b=vector)
    np.testing.assert_allclose(found, sum_of_b * (POINT**2 + 1) + 1 + np.tanh(POINT))
    closed = value(lift(graph, inside, z), b=vector)
    np.testing.assert_allclose(closed, np.full(3, sum_of_b))


def test_lifting_refuses_what_is_no_function_of_one_scalar(graph: Graph, z: Node) -> None:
    u = graph.input("u", "argument")
    with pytest.raises(TypeError, match="not a function of one scalar"):
        lift(graph, graph.sum(graph.softmax(graph.spread(u, ("N",), ()), (0,)), (0,)), z)


def test_substitution_equals_building_with_the_replacement(graph: Graph, z: Node) -> None:
    y = graph.input("y", "state", ("N",))
    guard = Guard(graph.indicator(("N",), IndexExpr("!=", (axis(0), IndexExpr("int", (1,))))), (0,))

    def built(node: Node) -> Node:
        parts = [graph.softmax(node, (0,), guard), graph.argmax(node, (0,)), graph.stop(node, "frozen")]
        parts += [graph.map("exp", node), graph.product(node, node)]
        scalars = graph.product(graph.logsumexp(node, (0,), guard), graph.max(node, (0,)))
        return graph.add([*((ONE, part) for part in parts), (ONE, graph.spread(scalars, ("N",), ()))], ("N",))

    assert substitute(graph, built(z), {z: y}) is built(y)
    other = graph.indicator(("N",), IndexExpr("==", (axis(0), IndexExpr("int", (0,)))))
    replaced = substitute(graph, graph.softmax(z, (0,), guard), {guard.indicator: other})
    assert replaced is graph.softmax(z, (0,), Guard(other, (0,)))


@pytest.mark.slow
def test_derivatives_of_deep_graphs_need_no_recursion(graph: Graph) -> None:
    z = graph.input("z", "state")
    node: Node = z
    for _ in range(3000):
        node = graph.map("tanh", node)
    slope = gradient(graph, node, [z])[z]
    moved = tangent(graph, [node], {z: graph.constant(1)})[0]
    backward, forward = evaluate([slope, moved], {"z": [0.5]}, sizes={})
    np.testing.assert_allclose(backward, forward, rtol=1e-10)
    assert substitute(graph, node, {z: graph.scale(2, z)}) is not node


def test_the_difference_of_linear_and_bilinear_nodes(graph: Graph, z: Node) -> None:
    """One product for each factor that moves; a sum of what is not all so, or any other function, has none."""
    weights, other = graph.input("w", "param", ("N",)), graph.input("y", "state", ("N",))
    ends = {
        node: (graph.input(node.name, "plus", ("N",)), graph.input(node.name, "minus", ("N",))) for node in (z, other)
    }
    random = np.random.default_rng(3)
    names = ("z", "y")
    given = {(kind, name): random.normal(size=(2, 3)) for kind in ("plus", "minus") for name in names}
    given["param", "w"] = random.normal(size=3)
    square = graph.einsum(ONE, [(z, (0,)), (z, (0,)), (weights, (0,))], {0: "N"}, (0,))
    linear = graph.add([(-ONE, graph.product(z, weights)), (ONE, other), (ONE, weights)], ("N",))
    bilinear = graph.scale(-3, graph.product(z, other, weights))
    for node in (z, square, linear, bilinear, total(graph, bilinear), graph.product(linear, weights)):
        found = difference(graph, node, ends)
        assert found is not None
        verify([found])
        at = [substitute(graph, node, {x: pair[k] for x, pair in ends.items()}) for k in (0, 1)]
        plus, minus, apart = evaluate([*at, found], given, sizes=SIZES)
        np.testing.assert_allclose(apart, plus - minus, rtol=0, atol=1e-12)
    tanh = graph.map("tanh", z)
    for node in (tanh, graph.product(tanh, weights), graph.plus(z, tanh), graph.product(z, tanh), weights):
        assert difference(graph, node, ends) is None
    assert difference(graph, graph.product(z, z, other), ends) is None
