"""The interpreter on guards, indices, potentials and bad inputs, against NumPy written out."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from energyc.mathematics.ir import ONE, TRUTHS, Coefficient, Function, Graph, Guard, IndexExpr, Input
from energyc.mathematics.ir.indexing import axis, equal, integer
from energyc.mathematics.ir.interpreter import evaluate, key

SIZES = {"N": 4, "M": 3, "D": 2, "V": 5}


@pytest.fixture
def graph() -> Graph:
    return Graph()


@pytest.fixture
def normal() -> np.random.Generator:
    return np.random.default_rng(5)


def expression(op: str, *args: object) -> IndexExpr:
    return IndexExpr(op, args)  # type: ignore[arg-type]


def test_a_batched_node_has_the_batch_first_and_another_has_none(graph: Graph) -> None:
    z, w = graph.input("z", "state", ("N",)), graph.input("w", "param", ("N",))
    arrays = evaluate(
        [z, graph.map("exp", w), graph.product(z, w)], {"z": np.ones((2, 4)), "w": np.arange(4)}, sizes=SIZES
    )
    assert [a.shape for a in arrays] == [(2, 4), (4,), (2, 4)]


def test_inputs_of_two_kinds_may_share_a_name(graph: Graph) -> None:
    a, b = graph.input("z", "state"), graph.input("z", "direction")
    arrays = evaluate([graph.minus(a, b)], {key(a): np.array([5.0]), key(b): np.array([3.0])}, sizes={})
    assert arrays[0] == [2.0]


def test_coefficients_hold_dims_and_consts(graph: Graph) -> None:
    c = (Coefficient.symbol("N", Fraction(-1, 2)) * Coefficient.symbol("gamma", 2)).scaled(3)
    array = evaluate([graph.constant(c, ("D",))], {}, sizes=SIZES, values={"gamma": -0.5})[0]
    np.testing.assert_allclose(array, [0.375, 0.375])


def test_labels_in_no_factor_are_summed_and_broadcast(graph: Graph) -> None:
    w = graph.input("w", "param", ("N",))
    node = graph.einsum(ONE, [(w, (0,))], {0: "N", 1: "M", 2: "D"}, (2,))
    array = evaluate([node], {"w": np.arange(4.0)}, sizes=SIZES)[0]
    np.testing.assert_array_equal(array, [18.0, 18.0])


@pytest.mark.parametrize("place", ["indicator", "softmax"])
def test_the_zero_of_an_indicator_absorbs_what_is_not_finite(graph: Graph, place: str) -> None:
    w = graph.input("w", "param", ("N",))
    below = graph.indicator(("N",), expression("<", axis(0), integer(3)))
    mask = below if place == "indicator" else graph.softmax(graph.zero(("N",)), (0,), Guard(below, (0,)))
    node = graph.einsum(ONE, [(mask, (0,)), (graph.map("log", w), (0,))], {0: "N"}, ())
    for excluded in (0.0, -1.0, np.inf):
        value = evaluate([node], {"w": np.array([1.0, np.e, 1.0, excluded])}, sizes=SIZES)[0]
        np.testing.assert_allclose(value, 1.0 if place == "indicator" else 1.0 / 3.0)


def test_without_an_indicator_nothing_absorbs(graph: Graph) -> None:
    w = graph.input("w", "param", ("N",))
    value = evaluate([graph.product(w, graph.map("log", w))], {"w": np.array([1.0, 0, 1, 1])}, sizes=SIZES)[0]
    assert np.isnan(value[1])


def test_what_is_guarded_out_may_be_anything(graph: Graph) -> None:
    w = graph.input("w", "param", ("N",))
    guard = Guard(graph.indicator(("N",), expression("!=", axis(0), integer(1))), (0,))
    roots = [getattr(graph, name)(w, (0,), guard) for name in ("softmax", "logsumexp", "max", "argmax")]
    for excluded in (np.nan, np.inf, -np.inf, 1e300):
        softmax, total, largest, first = evaluate(roots, {"w": np.array([0.0, excluded, 2.0, 2.0])}, sizes=SIZES)
        e2 = np.exp(2.0)
        np.testing.assert_allclose(softmax, np.array([1.0, 0.0, e2, e2]) / (1 + 2 * e2))
        np.testing.assert_allclose(total, np.log(1 + 2 * e2))
        assert largest == 2.0
        np.testing.assert_array_equal(first, [0, 0, 1, 0])


def test_a_guard_that_is_nowhere_true_gives_zeros(graph: Graph) -> None:
    a = graph.input("a", "param", ("M", "N"))
    guard = Guard(graph.indicator(("M", "N"), expression("<", axis(1), axis(0))), (0, 1))
    for name in ("softmax", "logsumexp", "max", "argmax"):
        array = evaluate([getattr(graph, name)(a, (1,), guard)], {"a": -np.ones((3, 4))}, sizes=SIZES)[0]
        np.testing.assert_array_equal(array[0], np.zeros_like(array[0]))
        assert array[2].any()


def test_reductions_along_two_axes(graph: Graph, normal: np.random.Generator) -> None:
    a = graph.input("a", "param", ("M", "D", "N"))
    array = normal.normal(size=(3, 2, 4)) * 300
    found = evaluate([getattr(graph, n)(a, (2, 0)) for n in ("softmax", "logsumexp", "max")], {"a": array}, sizes=SIZES)
    largest = array.max((0, 2), keepdims=True)
    weights = np.exp(array - largest)
    np.testing.assert_allclose(found[0], weights / weights.sum((0, 2), keepdims=True))
    np.testing.assert_allclose(found[1], np.log(weights.sum((0, 2))) + largest[0, :, 0])
    np.testing.assert_array_equal(found[2], array.max((0, 2)))


def test_argmax_takes_the_first_of_a_tie_in_the_order_of_the_axes(graph: Graph) -> None:
    a = graph.input("a", "param", ("D", "M"))
    array = evaluate([graph.argmax(a, (0, 1))], {"a": np.array([[0.0, 7, 1], [7, 7, 7]])}, sizes=SIZES)[0]
    np.testing.assert_array_equal(array, [[0, 1, 0], [0, 0, 0]])


def test_gathers_windows_and_relations(graph: Graph, normal: np.random.Generator) -> None:
    tok = graph.input("tok", "param", ("V", "D"))
    idx = graph.input("idx", "clamp", ("N",), "V")
    adj = graph.input("adj", "clamp", ("N", "N"), TRUTHS)
    chosen = graph.indicator(("V", "N"), equal(axis(0), expression("read", idx, axis(1))))
    gather = graph.einsum(ONE, [(tok, (0, 2)), (chosen, (0, 1))], {0: "V", 1: "N", 2: "D"}, (1, 2))
    moved = graph.indicator(("N", "N"), expression("related", adj, axis(1), expression("+", axis(0), integer(1))))
    arrays = {
        "tok": normal.normal(size=(5, 2)),
        "idx": normal.integers(0, 5, (3, 4)),
        "adj": normal.integers(0, 2, (3, 4, 4)),
    }
    found = evaluate([gather, moved], arrays, sizes=SIZES)
    np.testing.assert_array_equal(found[0], arrays["tok"][arrays["idx"]])
    expected = np.zeros((3, 4, 4))
    expected[:, :3] = np.swapaxes(arrays["adj"], 1, 2)[:, 1:]
    np.testing.assert_array_equal(found[1], expected)


def test_a_read_at_what_is_read_is_each_samples_own(graph: Graph, normal: np.random.Generator) -> None:
    inner = graph.input("inner", "clamp", ("N",), "V")
    outer = graph.input("outer", "clamp", ("V",), "D")
    node = graph.position(("N",), expression("read", outer, expression("read", inner, axis(0))))
    arrays = {"inner": normal.integers(0, 5, (3, 4)), "outer": normal.integers(0, 2, (3, 5))}
    expected = np.take_along_axis(arrays["outer"], arrays["inner"], 1)
    np.testing.assert_array_equal(evaluate([node], arrays, sizes=SIZES)[0], expected)


def test_a_read_outside_of_an_input_is_no_element(graph: Graph) -> None:
    idx = graph.input("idx", "clamp", ("N",), "V")
    before = graph.position(("N",), expression("read", idx, expression("-", axis(0), integer(1))))
    assert evaluate([before], {"idx": [[4, 3, 2, 1]]}, sizes=SIZES)[0].tolist() == [[-1, 4, 3, 2]]


def test_a_potential_is_its_closed_form_and_may_read_what_is_outside(graph: Graph) -> None:
    z, b = graph.input("z", "state", ("N", "D")), graph.input("b", "param", ("M",))
    u = graph.input("u", "argument")
    total = graph.sum(graph.map("exp", b), (0,))
    primitive = graph.plus(graph.product(total, graph.power(u, 2)), total)
    node = graph.map(Function("phi", slope=graph.product(total, u, coefficient=ONE.scaled(2)), primitive=primitive), z)
    arrays = {"z": np.arange(24.0).reshape(3, 4, 2), "b": np.array([0.1, 0.2, 0.3])}
    scale = np.exp(arrays["b"]).sum()
    np.testing.assert_allclose(evaluate([node], arrays, sizes=SIZES)[0], scale * (arrays["z"] ** 2 + 1))


def test_a_potential_without_a_closed_form_has_no_value(graph: Graph) -> None:
    node = graph.map(Function("phi", slope=graph.input("u", "argument")), graph.input("z", "state"))
    with pytest.raises(ValueError, match="the potential phi has no closed form"):
        evaluate([node], {"z": [1.0]}, sizes={})


def test_complex_inputs_pass(graph: Graph) -> None:
    z = graph.input("z", "state", ("N",))
    node = graph.logsumexp(graph.product(z, z), (0,))
    array = np.array([[1 + 1j, 2.0, -1j, 0.5]])
    np.testing.assert_allclose(evaluate([node], {"z": array}, sizes=SIZES)[0], np.log(np.exp(array**2).sum(1)))


def idx_of(graph: Graph) -> Input:
    return graph.input("idx", "clamp", ("N",), "V")


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (None, KeyError, "no value for clamp idx"),
        ([0, 1, 2, 3], ValueError, r"clamp idx has the shape \[4\], not \['batch', 4\]"),
        ([[0, 1, 2]], ValueError, r"clamp idx has the shape \[1, 3\]"),
        ([[0, 1, 2, 5]], ValueError, "clamp idx must hold integers from 0 to 4"),
        ([[0, 1, -1, 2]], ValueError, "integers from 0 to 4"),
        ([[0, 1, 0.5, 2]], ValueError, "integers from 0 to 4"),
    ],
)
def test_bad_inputs_are_refused(graph: Graph, value: object, error: type[Exception], message: str) -> None:
    given = {} if value is None else {"idx": value}
    with pytest.raises(error, match=message):
        evaluate([idx_of(graph)], given, sizes=SIZES)


def test_depth_is_no_limit(graph: Graph) -> None:
    node = graph.input("z", "state")
    for _ in range(5000):
        node = graph.map("sin", node)
    assert np.isfinite(evaluate([node], {"z": [1.0]}, sizes={})[0][0])
