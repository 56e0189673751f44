"""Equal tensors are one node, in canonical form, and what the graph simplifies."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from energyc.mathematics.ir import ONE, Add, Coefficient, Einsum, Function, Graph, Guard, IndexExpr, Indicator, Node
from energyc.mathematics.ir.indexing import axis, equal, integer

TWO = Coefficient(Fraction(2))


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.fixture
def a(graph: Graph) -> Node:
    return graph.input("a", "param", ("N", "N"))


@pytest.fixture
def v(graph: Graph) -> Node:
    return graph.input("v", "state", ("N",))


@pytest.mark.parametrize("seed", range(40))
def test_a_product_does_not_depend_on_the_order_and_the_names_of_what_is_multiplied(seed: int) -> None:
    random, graph = np.random.default_rng(seed), Graph()
    print("seed", seed)
    nodes = [graph.input("a", "param", ("N", "N")), graph.input("b", "param", ("N", "N", "N"))]
    count = int(random.integers(1, 5))
    factors = [(node, random.integers(0, 4, len(node.dims)).tolist()) for node in random.choice(nodes, count)]
    used = {label for _, axes in factors for label in axes}
    out = [label for label in used if random.random() < 0.3]
    first = graph.einsum(TWO, factors, dict.fromkeys(used, "N"), out)
    for _ in range(10):
        names = random.permutation(20)
        again = [(factors[k][0], [int(names[a]) for a in factors[k][1]]) for k in random.permutation(count)]
        labels = {int(names[label]): "N" for label in used}
        assert graph.einsum(TWO, again, labels, [int(names[k]) for k in out]) is first


def test_scalings_transpositions_diagonals_broadcasts_and_constants_dissolve(graph: Graph, a: Node, v: Node) -> None:
    transposed = graph.einsum(TWO, [(a, (0, 1))], {0: "N", 1: "N"}, (1, 0))
    assert graph.einsum(ONE.scaled(Fraction(1, 2)), [(transposed, (0, 1))], {0: "N", 1: "N"}, (1, 0)) is a
    diagonal = graph.einsum(TWO, [(a, (0, 0))], {0: "N"}, (0,))
    trace = graph.sum(diagonal, (0,))
    assert isinstance(trace, Einsum)
    assert (trace.operands[0].node, trace.operands[0].axes, trace.coefficient) == (a, (0, 0), TWO)
    wide = graph.spread(v, ("M", "N"), (1,))
    assert graph.sum(wide, (0,)) is graph.scale(Coefficient.symbol("M"), v)
    assert graph.product(v, graph.constant(3, ("N",))) is graph.scale(3, v)


def test_a_sum_inside_a_product_does_not_dissolve(graph: Graph, a: Node) -> None:
    total = graph.sum(a, (0, 1))
    square = graph.product(total, total)
    assert isinstance(square, Einsum)
    assert [operand.node for operand in square.operands] == [total, total]


def test_sums_collect_equal_terms_and_drop_zeros(graph: Graph, v: Node) -> None:
    assert graph.plus(v, v) is graph.scale(2, v)
    assert graph.minus(v, v) is graph.zero(("N",))
    assert graph.plus(v, graph.zero(("N",))) is v
    one, three = graph.constant(1, ("N",)), graph.constant(3, ("N",))
    assert graph.plus(v, one, three) is graph.plus(graph.constant(4, ("N",)), v)
    halves = graph.add([(Coefficient.symbol("N"), v), (ONE, v)], ("N",))
    assert isinstance(halves, Add)
    assert len(halves.terms) == 2


def test_zero_times_anything_is_zero(graph: Graph, v: Node) -> None:
    assert graph.product(v, graph.zero(("N",))) is graph.zero(("N",))
    assert graph.constant(Coefficient.symbol("N").scaled(0)) is graph.zero()


def test_nodes_that_differ_in_one_field_are_not_shared(graph: Graph, a: Node) -> None:
    less = graph.indicator(("N",), equal(axis(0), integer(0)))
    guards = [None, Guard(less, (0,)), Guard(less, (1,))]
    softmaxes = {graph.softmax(a, axes, guard) for axes in ((0,), (1,), (0, 1)) for guard in guards}
    assert len(softmaxes) == 9
    assert graph.softmax(a, (1, 0)) is graph.softmax(a, (0, 1))
    assert graph.stop(a, "frozen") is not graph.stop(a, "detach")
    assert graph.input("a", "state", ("N", "N")) is not a
    assert graph.map(Function("power", Fraction(1, 2)), a) is not graph.map(Function("power", Fraction(1, 3)), a)


def test_relu_takes_up_its_own_step_alone(graph: Graph, a: Node) -> None:
    relu, step = graph.map("relu", a), graph.map("step", a)
    assert graph.product(relu, step) is relu
    assert graph.product(step, relu, step, relu) is graph.product(relu, relu)
    labels = {0: "N", 1: "N"}
    crossed = graph.einsum(ONE, [(relu, (0, 1)), (step, (1, 0))], labels, (0, 1))
    assert len(crossed.children) == 2


def test_an_indicator_is_taken_up_by_itself_and_by_its_softmax_alone(graph: Graph, a: Node) -> None:
    below: Indicator = graph.indicator(("N", "N"), equal(axis(0), axis(1)))
    assert graph.product(below, below) is below
    weights = graph.softmax(a, (1,), Guard(below, (1, 0)))
    labels = {0: "N", 1: "N"}
    turned = graph.einsum(ONE, [(weights, (0, 1)), (below, (1, 0))], labels, (0, 1))
    assert turned is weights
    assert len(graph.product(weights, below).children) == 2


def test_powers(graph: Graph, v: Node) -> None:
    assert graph.power(v, 0) is graph.constant(1, ("N",))
    assert graph.power(v, 1) is v
    assert graph.power(v, 3) is graph.product(v, v, v)
    assert graph.power(v, -1).children == (v,)


def test_what_does_not_fit_is_refused(graph: Graph, a: Node, v: Node) -> None:
    with pytest.raises(ValueError, match="no elementwise product"):
        graph.product(a, v)
    with pytest.raises(ValueError, match="is not a term of a sum"):
        graph.plus(a, v)


def test_batched_is_what_reads_a_sample(graph: Graph, a: Node, v: Node) -> None:
    idx = graph.input("idx", "clamp", ("N",), "N")
    gather = graph.indicator(("N", "N"), equal(axis(0), IndexExpr("read", (idx, axis(1)))))
    assert gather.batched
    assert not graph.identity("N").batched
    assert not graph.softmax(a, (0,)).batched
    assert graph.softmax(a, (0,), Guard(gather, (0, 1))).batched
    assert graph.plus(graph.sum(a, (0,)), v).batched


def test_coefficients() -> None:
    n = Coefficient.symbol("N", Fraction(1, 2))
    assert n * n == Coefficient.symbol("N")
    assert n * Coefficient.symbol("N", Fraction(-1, 2)) == ONE
    assert Coefficient(Fraction(4, 9)).power(Fraction(-1, 2)) == Coefficient(Fraction(3, 2))
    assert Coefficient(Fraction(2)).power(Fraction(1, 2)) is None
    assert Coefficient(Fraction(-4)).power(Fraction(1, 2)) is None
    assert Coefficient(Fraction(0)).power(Fraction(-1)) is None
    assert Coefficient(Fraction(10**40)).power(Fraction(1, 2)) in (None, Coefficient(Fraction(10**20)))
    assert n.number({"N": 9}) == 3.0
    assert np.isnan(n.number({"N": -9.0}))
    assert np.isinf(Coefficient.symbol("c", -1).number({"c": 0.0}))


def test_a_potential_is_not_taken_for_the_function_of_its_name(graph: Graph) -> None:
    """``relu(u) step(u) = relu(u)`` holds of the table's step alone: a spec may declare ``fn step'(u) = u``."""
    z, u = graph.input("z", "state", ("N",)), graph.input("u", "argument")
    potential = graph.map(Function("step", slope=u, primitive=graph.product(u, u)), z)
    relu = graph.map("relu", z)
    assert graph.product(relu, graph.map("step", z)) is relu
    assert potential in graph.product(relu, potential).children
    with pytest.raises(KeyError):
        potential.function.entry  # noqa: B018
