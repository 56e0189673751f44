"""Every slope of the table, to the third order, against numerical derivatives of definitions of its own."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
import sympy

from energyc.mathematics.calculus import antiderivative, derivative, tangent
from energyc.mathematics.calculus.scalar import expanded
from energyc.mathematics.functions import FUNCTIONS
from energyc.mathematics.ir import Function, Graph, Map, Node, NoRule
from energyc.mathematics.ir.interpreter import evaluate
from tests.functions.definitions import DEFINITIONS

RANDOM = np.random.default_rng(20240607)
POINTS = np.concatenate([RANDOM.uniform(-4, 4, 12), [0.01, -0.01, 7.5, -7.5]])


def nested(graph: Graph, name: str, u: Node, order: int) -> Node:
    """The slope of a function of that order, by forward mode along ones."""
    node = graph.map(name, u)
    for _ in range(order):
        node = tangent(graph, [node], {u: graph.constant(1, u.dims)})[0]
    return node


def numerical(name: str, u: float, order: int) -> float:
    with mp.workdps(60):
        return float(mp.re(mp.diff(DEFINITIONS[name], mp.mpf(u), order)))


@pytest.mark.abridged(every=6)
@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes_equal_numerical_derivatives(name: str, order: int) -> None:
    points = np.abs(POINTS) if name in ("log", "sqrt") else POINTS
    graph = Graph()
    u = graph.input("u", "param", ("N",))
    found = evaluate([nested(graph, name, u, order)], {"u": points}, sizes={"N": len(points)})[0]
    expected = np.array([numerical(name, x, order) for x in points])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if function.antiderivative is not None])
def test_antiderivatives_have_the_functions_as_derivatives(name: str) -> None:
    points = np.abs(POINTS) if name in ("log", "sqrt") else POINTS
    graph = Graph()
    u = graph.input("u", "param", ("N",))
    primitive = antiderivative(graph, Function(name), u)
    assert primitive is not None
    (slope,) = tangent(graph, [primitive], {u: graph.constant(1, u.dims)})
    (found,) = evaluate([slope], {"u": points}, sizes={"N": len(points)})
    np.testing.assert_allclose(found, [numerical(name, x, 0) for x in points], rtol=1e-9, atol=1e-11)


def test_an_irrational_number_is_no_node() -> None:
    graph = Graph()
    formula = FUNCTIONS["gauss"].formula
    assert formula is not None
    with pytest.raises(NoRule, match="Constant"):
        expanded(graph, formula, graph.input("u", "param"))


@pytest.mark.parametrize("exponent", ["5", "-1", "-2", "1/2", "-3/2", "7/3"])
def test_slopes_of_powers_are_those_of_sympy(exponent: str) -> None:
    x, rational = sympy.Symbol("x"), sympy.Rational(exponent)
    graph = Graph()
    u = graph.input("u", "param", ("N",))
    node = derivative(graph, Function("power", Fraction(exponent)), u)
    points = np.array([0.3, 1.7, 4.0])
    found = evaluate([node], {"u": points}, sizes={"N": 3})[0]
    expected = [float(sympy.diff(x**rational, x).subs(x, point)) for point in points]
    np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_the_slope_of_silu_stays_finite_far_out() -> None:
    graph = Graph()
    u = graph.input("u", "param", ("N",))
    nodes = [nested(graph, name, u, order) for name in ("silu", "gelu", "gelu_tanh", "softplus") for order in (1, 2)]
    for array in evaluate(nodes, {"u": np.array([-200.0, -40.0, 40.0, 200.0])}, sizes={"N": 4}):
        assert np.all(np.isfinite(array))


def test_slopes_of_the_table_are_shared_nodes() -> None:
    graph = Graph()
    u = graph.input("u", "param", ("N",))
    assert isinstance(graph.map("tanh", u), Map)
    assert derivative(graph, Function("tanh"), u) is derivative(graph, Function("tanh"), u)
