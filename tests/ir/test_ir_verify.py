"""Each rule of the graph, broken by hand."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import pytest

from energyc.mathematics.ir import (
    ONE,
    TRUTHS,
    Add,
    Coefficient,
    Einsum,
    Function,
    Graph,
    Guard,
    IndexExpr,
    Indicator,
    Input,
    LogSumExp,
    Map,
    Node,
    Operand,
    Position,
    Softmax,
    Stop,
)
from energyc.mathematics.ir.indexing import axis, equal, integer
from tests.ir.verify import IRError, verify

GRAPH = Graph()
A = GRAPH.input("a", "param", ("N", "M"))
B = GRAPH.input("b", "param", ("N",))
Z = GRAPH.input("z", "state", ("N",))
IDX = GRAPH.input("idx", "clamp", ("N",), "M")
ADJ = GRAPH.input("adj", "clamp", ("N", "N"), TRUTHS)
U = GRAPH.input("u", "argument")
EVEN = GRAPH.indicator(("N",), equal(axis(0), integer(0)))
ZERO = Coefficient(Fraction(0))
LOOSE = Coefficient(Fraction(1), (("N", Fraction(0)),))
N = 100


def einsum(operands: tuple[Operand, ...], labels: tuple[str, ...], out: tuple[int, ...], *dims: str, **other) -> Einsum:
    return Einsum(dims, N, False, other.get("coefficient", ONE), operands, labels, out)


def indicator(op: str, *args: object, dims: tuple[str, ...] = ("N",)) -> Indicator:
    return Indicator(dims, N, any(isinstance(a, Input) for a in args), IndexExpr(op, args))  # type: ignore[arg-type]


BROKEN: dict[str, Callable[[], Node]] = {
    "a label twice in the result": lambda: einsum((Operand(B, (0,)),), ("N",), (0, 0), "N", "N"),
    "an unbound label in the result": lambda: einsum((Operand(B, (0,)),), ("N",), (1,), "N"),
    "an unbound label on": lambda: einsum((Operand(B, (3,)),), ("N",), (0,), "N"),
    "is indexed over": lambda: einsum((Operand(A, (1, 0)),), ("N", "M"), (0, 1), "N", "M"),
    "its dims are not its labels'": lambda: einsum((Operand(B, (0,)),), ("N",), (0,), "M"),
    "labels without use": lambda: einsum((Operand(B, (0,)),), ("N", "M"), (0,), "N"),
    "a product with zero": lambda: einsum((Operand(B, (0,)),), ("N",), (0,), "N", coefficient=ZERO),
    "a zero power": lambda: einsum((Operand(B, (0,)),), ("N",), (0,), "N", coefficient=LOOSE),
    "a sum of fewer": lambda: Add(("N",), N, False, ((ONE, B),)),
    "a term times zero": lambda: Add(("N",), N, True, ((ONE, B), (ZERO, Z))),
    "a term twice": lambda: Add(("N",), N, False, ((ONE, B), (ONE, B))),
    "has other dims": lambda: Add(("N",), N, False, ((ONE, B), (ONE, A))),
    "batched is False": lambda: Map(("N",), N, False, Function("exp"), Z),
    "its dims are not its argument's": lambda: Map(("M",), N, False, Function("exp"), B),
    "is not in the table": lambda: Map(("N",), N, False, Function("mish"), B),
    "a power without": lambda: Map(("N",), N, False, Function("power"), B),
    "has dims": lambda: Map(("N",), N, False, Function("phi", slope=B), B),
    "an argument outside": lambda: Map((), N, False, Function("exp"), U),
    "older than a child": lambda: Map(("N",), 0, False, Function("exp"), B),
    "are not sorted": lambda: Softmax(("N", "M"), N, False, A, (1, 0), None),
    "axes (2,) of 2": lambda: Softmax(("N", "M"), N, False, A, (2,), None),
    "axes () of 2": lambda: Softmax(("N", "M"), N, False, A, (), None),
    "dims that do not fit": lambda: LogSumExp(("M",), N, False, A, (1,), None),
    "a guard over": lambda: Softmax(("N", "M"), N, False, A, (1,), Guard(EVEN, (1,))),
    "the guard's axes": lambda: Softmax(("N", "M"), N, False, A, (1,), Guard(EVEN, (0, 1))),
    "its condition is a number": lambda: indicator("axis", 0),
    "its value is a truth value": lambda: Position(("N",), N, False, IndexExpr("true", ())),
    "axis 1 of 1": lambda: indicator("==", axis(0), axis(1)),
    "the index operation floor": lambda: indicator("==", IndexExpr("floor", ()), axis(0)),
    "mixed operands": lambda: indicator("and", axis(0), axis(0)),
    "holds no integers": lambda: indicator("related", Z, axis(0)),
    "related of idx": lambda: indicator("related", IDX, axis(0)),
    "1 indices into adj": lambda: indicator("related", ADJ, axis(0)),
    "the mode never": lambda: Stop(("N",), N, False, B, "never"),
}


@pytest.mark.parametrize("problem", BROKEN)
def test_a_broken_rule_is_found(problem: str) -> None:
    with pytest.raises(IRError) as caught:
        verify([BROKEN[problem]()])
    assert problem in str(caught.value)


def test_a_broken_node_is_found_inside_a_body_and_below_others() -> None:
    inside = Map((), N, False, Function("phi", slope=Map((), N - 1, False, Function("mish"), U)), GRAPH.constant(1))
    below = Map(("M",), N + 1, False, Function("exp"), Map(("M",), N, False, Function("exp"), B))
    for node in (inside, below):
        with pytest.raises(IRError):
            verify([node])


def test_a_legal_graph_passes() -> None:
    u = GRAPH.input("u", "argument")
    roots = [
        GRAPH.map(Function("phi", slope=GRAPH.map("tanh", u)), Z),
        GRAPH.softmax(A, (1,), Guard(EVEN, (0,))),
        GRAPH.indicator(("N", "M"), equal(axis(1), IndexExpr("read", (IDX, axis(0))))),
        GRAPH.position(("N",), IndexExpr("*", (integer(2), axis(0)))),
    ]
    verify(roots)
