"""The text form of a graph: how it looks, that it reads back, and how it refuses what it cannot read."""

from __future__ import annotations

from fractions import Fraction

import pytest

from energyc.mathematics.ir import ONE, TRUTHS, Coefficient, Function, Graph, Guard, IndexExpr, Node
from energyc.mathematics.ir.indexing import axis, integer
from energyc.mathematics.ir.text import format_graph
from tests.ir.text_parser import parse_graph

CAUSAL = """\
%0[N, D] = input state z
%1[N, N] = indicator(n, n2) (n2 <= n)
%a[N, N] = einsum 1*D^(-1/2) sum(d) %0[n,d] %0[n2,d] -> [n,n2]
%3[N] = logsumexp(1) %a if %1(0, 1)
%4[] = einsum -1 sum(n) %3[n] -> []
att = %4
# 5 nodes: 2 einsum, 1 indicator, 1 input, 1 logsumexp
"""


def causal(graph: Graph) -> tuple[Node, Node]:
    z = graph.input("z", "state", ("N", "D"))
    below = graph.indicator(("N", "N"), IndexExpr("<=", (axis(1), axis(0))))
    scale = Coefficient.symbol("D", Fraction(-1, 2))
    labels = {0: "N", 1: "N", 2: "D"}
    scores = graph.einsum(scale, [(z, (0, 2)), (z, (1, 2))], labels, (0, 1))
    attention = graph.logsumexp(scores, (1,), Guard(below, (0, 1)))
    return graph.einsum(-ONE, [(attention, (0,))], {0: "N"}, ()), scores


def test_a_graph_reads_like_its_formulas() -> None:
    energy, scores = causal(Graph())
    assert format_graph({"att": energy}, {scores: "a"}) == CAUSAL


def test_indices_are_called_as_asked() -> None:
    energy, _ = causal(Graph())
    text = format_graph({"att": energy}, index_names={"N": "t", "D": "channel"})
    assert "sum(channel) %0[t,channel] %0[t2,channel] -> [t,t2]" in text


def test_text_reads_back_to_the_same_text() -> None:
    _, roots = parse_graph(CAUSAL)
    assert format_graph(roots, {roots["att"].children[0].children[0]: "a"}) == CAUSAL


def test_a_graph_that_is_read_shares_and_simplifies_as_any() -> None:
    graph, roots = parse_graph(CAUSAL)
    assert causal(graph)[0] is roots["att"]


def everything(graph: Graph) -> dict[str, Node]:
    """A node of each kind with every option it has, and names that are not words."""
    z = graph.input("layer.z'", "state", ("N", "my dim"))
    idx = graph.input('a "b"\n', "clamp", ("N",), "my dim")
    adj = graph.input("adj", "clamp", ("N", "N"), TRUTHS)
    u = graph.input("u", "argument")
    phi = Function("phi'", slope=graph.map("tanh", u), primitive=graph.power(u, Fraction(-5, 3)))
    far = IndexExpr("abs", (IndexExpr("neg", (IndexExpr("-", (axis(0), integer(-3))),)),))
    odd = IndexExpr("==", (IndexExpr("mod", (axis(0), integer(2))), IndexExpr("floor_div", (axis(1), integer(2)))))
    near = IndexExpr("related", (adj, axis(0), IndexExpr("+", (axis(1), integer(1)))))
    truth = IndexExpr("or", (near, IndexExpr("and", (odd, IndexExpr("true", ()), IndexExpr("not", (odd,))))))
    single = IndexExpr("and", (odd,))
    read = IndexExpr("<", (IndexExpr("read", (idx, axis(0))), IndexExpr("size", ("my dim",))))
    coefficient = Coefficient.symbol("my dim", -2) * Coefficient.symbol("gamma", 3).scaled(Fraction(-7, 2))
    return {
        "potential": graph.map(phi, z),
        "a root": graph.position(("N",), far),
        "guard": graph.argmax(z, (0, 1), Guard(graph.indicator(("N",), read), (0,))),
        "truth": graph.indicator(("N", "N"), truth),
        "single": graph.indicator(("N", "N"), single),
        "sum": graph.add([(coefficient, z), (ONE, graph.stop(z, "frozen")), (-ONE, graph.stop(z, "detach"))], z.dims),
        "constant": graph.constant(coefficient, ("N", "my dim")),
        "max": graph.max(graph.softmax(z, (1,)), (0,)),
    }


def test_every_kind_of_node_reads_back() -> None:
    roots = everything(Graph())
    text = format_graph(roots)
    _, again = parse_graph(text)
    assert list(again) == list(roots)
    assert format_graph(again) == text


def test_names_that_would_not_read_back_are_numbers() -> None:
    energy, scores = causal(Graph())
    for name in ("a b", "", "3x", "%"):
        assert format_graph({"att": energy}, {scores: name}) == CAUSAL.replace("%a", "%2")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%0[N = input state z", "expected ']' before '='"),
        ("%0[N] = wave z", "unknown kind of node: wave"),
        ("%0[N] = map exp %7", "%7"),
        ("%0[N] = input state z\n%1[M] = map exp %0", r"%1 has the dims \('N',\)"),
        ("%0[N] = input state z z", "unexpected 'z' at the end"),
        ("%0[N] = input state !", "no token: '!'"),
        ("%0[N] = input state", "expected a name before 'the end'"),
        ("%0[N] = indicator(n) (n < m)", "m"),
    ],
)
def test_other_text_is_refused_with_the_line(line: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        parse_graph(line)
    assert f"line {1 + line.count(chr(10))} of the graph" in str(caught.value)
