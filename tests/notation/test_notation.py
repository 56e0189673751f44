"""Single nodes in print: names of indices, capture, windows, guards, coefficients, shared pieces."""

from __future__ import annotations

from fractions import Fraction
from xml.etree import ElementTree

import pytest

from energyc.derivation.notation import Notation, Product, Reference, Sum, latex, mathml
from energyc.mathematics.calculus import gradient
from energyc.mathematics.ir import ONE, Coefficient, Function, Graph, Guard, IndexExpr, Node
from energyc.mathematics.ir.indexing import axis, equal, integer

SIZES = {"T": 5, "D": 4, "S": 8, "G": 3, "P": 4, "stride": 2, "V": 9, "H": 2, "A": 3}


def written(node: Node, **options: object) -> str:
    return Notation({}, sizes=SIZES, **options).text(node)  # type: ignore[arg-type]


def window(g: Graph) -> Node:
    """x[stride*i + p] as an indicator over (S, G, P)."""
    scaled = IndexExpr("*", (IndexExpr("size", ("stride",)), axis(1)))
    return g.indicator(("S", "G", "P"), equal(axis(0), IndexExpr("+", (scaled, axis(2)))))


def test_a_sum_of_products() -> None:
    g = Graph()
    z, w = g.input("z", "state", ("T", "D")), g.input("W", "param", ("D", "A"))
    node = g.einsum(ONE, [(z, (0, 1)), (w, (1, 2))], {0: "T", 1: "D", 2: "A"}, (0, 2))
    assert written(node) == "sum[d](z[t,d] * W[d,a])"
    assert written(node, index_names={z: ("n", "e")}) == "sum[e](z[n,e] * W[e,a])"


def test_no_index_is_captured() -> None:
    g = Graph()
    z = g.input("z", "state", ("T", "D"))
    mean = g.einsum(Coefficient.symbol("D", -1), [(z, (0, 1))], {0: "T", 1: "D"}, (0,))
    centred = g.minus(z, g.spread(mean, ("T", "D"), (0,)))
    assert written(centred) == "z[t,d] - mean[d2](z[t,d2])"
    assert Notation({}).text(centred, ("t", "d2")) == "z[t,d2] - mean[d](z[t,d])"


def test_no_index_takes_a_name_that_means_something() -> None:
    g = Graph()
    d = g.input("d", "state", ("D",))
    assert written(g.sum(d, (0,)), reserved=frozenset({"d"})) == "sum[d2](d[d2])"


def test_a_window_is_an_affine_index_only_where_it_stays_inside() -> None:
    g = Graph()
    x, w = g.input("x", "clamp", ("S",)), g.input("w", "param", ("P",))
    seen = g.einsum(ONE, [(w, (2,)), (x, (0,)), (window(g), (0, 1, 2))], {0: "S", 1: "G", 2: "P"}, (1,))
    assert written(seen) == "sum[p](x[stride*g + p] * w[p])"
    wide = Notation({}, sizes={**SIZES, "G": 4}).text(seen)
    assert wide == "sum[s,p | s == stride*g + p](x[s] * w[p])"
    z = g.input("z", "state", ("G",))
    back = gradient(g, g.sum(g.product(seen, z), (0,)), [x])[x]
    assert written(back) == "sum[p,g | s == stride*g + p](w[p] * z[g])"


def test_padding_by_a_guard_lets_a_window_reach_over_the_edge() -> None:
    g = Graph()
    x = g.input("x", "clamp", ("S",))
    place = IndexExpr("-", (IndexExpr("+", (axis(1), axis(2))), integer(1)))
    at = g.indicator(("S", "S", "P"), equal(axis(0), place))
    low = IndexExpr("<=", (integer(0), place))
    high = IndexExpr("<", (place, IndexExpr("size", ("S",))))
    inside = g.indicator(("S", "S", "P"), IndexExpr("and", (low, high)))
    factors = [(x, (0,)), (at, (0, 1, 2)), (inside, (0, 1, 2))]
    padded = g.einsum(ONE, factors, {0: "S", 1: "S", 2: "P"}, (1,))
    assert written(padded) == "sum[p in P | 0 <= s + p - 1 and s + p - 1 < S](x[s + p - 1])"


def test_a_gather_and_its_gradient() -> None:
    g = Graph()
    idx, tok = g.input("idx", "clamp", ("T",), over="V"), g.input("tok", "param", ("V", "D"))
    chosen = g.indicator(("V", "T"), equal(axis(0), IndexExpr("read", (idx, axis(1)))))
    rows = g.einsum(ONE, [(tok, (0, 1)), (chosen, (0, 2))], {0: "V", 1: "D", 2: "T"}, (2, 1))
    assert written(rows) == "tok[idx[t],d]"
    z = g.input("z", "state", ("T", "D"))
    back = gradient(g, g.sum(g.product(rows, z), (0, 1)), [tok])[tok]
    assert written(back) == "sum[t | v == idx[t]](z[t,d])"


def test_softmax_keeps_its_index_and_its_guard() -> None:
    g = Graph()
    s = g.input("s", "state", ("T", "T"))
    causal = g.indicator(("T", "T"), IndexExpr("<=", (axis(1), axis(0))))
    p = g.softmax(s, (1,), Guard(causal, (0, 1)))  # type: ignore[arg-type]
    assert Notation({}).text(p, ("t", "s")) == "softmax[s | s <= t](s[t,s])"
    diagonal = g.einsum(ONE, [(p, (0, 0))], {0: "T"}, (0,))
    assert written(diagonal) == "sum[t2 | t2 == t](softmax[t2 | t2 <= t](s[t,t2]))"


@pytest.mark.parametrize(
    ("coefficient", "text"),
    [
        (Coefficient(Fraction(1, 2)), "1/2 * u"),
        (Coefficient(Fraction(-1)), "-u"),
        (Coefficient(Fraction(44715, 1000000)), "0.044715 * u"),
        (Coefficient(Fraction(1, 100000)), "1e-5 * u"),
        (Coefficient(Fraction(1, 3)), "1/3 * u"),
        (Coefficient.symbol("c").scaled(Fraction(1, 2)), "c/2 * u"),
        (Coefficient.symbol("gamma", -1), "u / gamma"),
        (Coefficient.symbol("gamma", -1).scaled(-2), "-2/gamma * u"),
        (Coefficient.symbol("A", Fraction(-1, 2)), "u / sqrt(A)"),
        (Coefficient.symbol("A", Fraction(1, 2)), "sqrt(A) * u"),
        (Coefficient.symbol("T", -2).scaled(Fraction(3, 2)), "3/(2*T^2) * u"),
    ],
)
def test_coefficients(coefficient: Coefficient, text: str) -> None:
    g = Graph()
    assert written(g.scale(coefficient, g.input("u", "state"))) == text


def test_powers_slopes_and_brackets() -> None:
    g = Graph()
    u, v = g.input("u", "state"), g.input("v", "state")
    total = g.plus(u, v)
    assert written(g.power(total, 2)) == "(u + v)^2"
    assert written(g.power(u, -1)) == "1 / u"
    assert written(g.product(v, g.power(u, Fraction(-1, 2)))) == "v / sqrt(u)"
    assert written(g.product(v, g.power(u, -2), g.power(total, -1))) == "v / (u^2 * (u + v))"
    assert written(g.map("silu_slope", total)) == "silu'(u + v)"
    assert written(g.stop(g.map("relu", u), "frozen")) == "frozen(relu(u))"
    assert written(g.minus(u, total)) == "u - (u + v)"


@pytest.mark.parametrize("name", ["power", "gauss", "step"])
def test_a_potential_of_the_spec_is_written_by_its_own_name(name: str) -> None:
    g = Graph()
    z, u = g.input("z", "state", ("T",)), g.input("u", "argument")
    node = g.map(Function(name, slope=u, primitive=g.product(u, u)), z)
    assert written(node) == f"{name}(z[t])"
    assert f"operatorname{{{name}}}" in Notation({}).latex(node)


def test_repeated_pieces_get_names_that_are_defined_before_use() -> None:
    g = Graph()
    z = g.input("z", "state", ("T", "D"))
    level = g.logsumexp(g.product(z, z, coefficient=Coefficient.symbol("D", -1)), (1,))
    deep = g.map("tanh", g.plus(level, g.map("exp", level)))
    root = g.sum(g.product(deep, deep, g.map("silu", deep)), (0,))
    notation = Notation({}).sharing([root])
    pieces = notation.definitions([root])
    assert [piece.left for piece in pieces] == ["tanh1[t]"]
    assert notation.text(root) == "sum[t](tanh1[t]^2 * silu(tanh1[t]))"


def test_a_huge_formula_is_written_with_where() -> None:
    g = Graph()
    node: Node = g.input("z", "state", ("D",))
    for _ in range(60):
        node = g.plus(g.map("tanh", node), g.map("silu", node))
    text = Notation({}).text(node)
    assert ", where " in text
    assert len(text) < 10_000


def test_a_name_with_a_number_and_indices_has_one_group_of_them() -> None:
    """LaTeX refuses a second one: ``{W}_{1}_{i}`` is a double subscript."""
    element = Reference("W1", (IndexExpr("name", ("i",)),))
    assert latex.write(element) == r"\mathrm{W1}_{i}"
    assert latex.write(Reference("W1")) == "{W}_{1}"
    assert "<mi>W1</mi>" in mathml.write(element) and "<mn>1</mn>" in mathml.write(Reference("W1"))


def test_mathml_is_well_formed_whatever_a_name_is() -> None:
    reference = Reference("W_<q>&", (IndexExpr("name", ("i",)),))
    text = mathml.write(Reference("F"), Sum((reference, Product(Coefficient.symbol("gamma", -1), (reference,)))))
    ElementTree.fromstring(text)
    assert "γ" in text
