"""The text form of a graph: how it looks."""

from __future__ import annotations

from fractions import Fraction

from energyc.mathematics.ir import ONE, TRUTHS, Coefficient, Function, Graph, Guard, IndexExpr, Node
from energyc.mathematics.ir.indexing import axis, integer
from energyc.mathematics.ir.text import format_graph

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


def test_every_kind_of_node_has_a_text_of_its_own() -> None:
    lines = format_graph(everything(Graph())).splitlines()
    texts = [line.partition(" = ")[2] for line in lines if line.startswith("%")]
    assert len({*texts}) == len(texts)
    assert lines[-1].startswith(f"# {len(texts)} nodes: ")


def test_names_that_would_not_read_back_are_numbers() -> None:
    energy, scores = causal(Graph())
    for name in ("a b", "", "3x", "%"):
        assert format_graph({"att": energy}, {scores: name}) == CAUSAL.replace("%a", "%2")
