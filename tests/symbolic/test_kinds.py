"""Each kind of node as SymPy has it, written out and for all sizes, against the interpreter."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import mpmath
import numpy as np
import pytest
import sympy

from energyc.derivation.notation import of_network
from energyc.mathematics.calculus.scalar import derivative
from energyc.mathematics.functions import FUNCTIONS
from energyc.mathematics.ir import Function, Graph, Guard, Node, NoRule
from energyc.mathematics.ir.indexing import IndexExpr, axis, integer
from energyc.mathematics.ir.interpreter import evaluate
from energyc.pipeline import read, resolve
from energyc.studies.symbolic.elements import Elements
from energyc.studies.symbolic.functions import applied, repeats
from energyc.studies.symbolic.ranges import Symbolic, Written
from energyc.studies.symbolic.symbols import Symbols
from tests.ir.test_node_kinds import SAMPLES, Unheard, Z
from tests.symbolic.judge import Judge
from tests.symbolic.numbers import Numbers
from tests.symbolic.reading import Reader
from tests.symbolic.small import small

SIZES = {"N": 3, "M": 2}
SPEC = """
network kinds
dim N = 3, M = 2
param A[N, M] ~ normal(1)
state z[N]
energy e = sum[n](z[n]^2) + sum[n,m](A[n,m])
"""
NETWORK = resolve(read(SPEC))
GRAPH = Graph()
A = GRAPH.input("A", "param", ("N", "M"))
ARRAY = np.array([[0.5, 0.5], [-1.25, 2.0], [2.0, 0.75]])
POINT = np.array([0.3, -1.2, 2.0])


def guards() -> Iterator[Guard | None]:
    """None; one that leaves a row empty; one that lets nothing pass."""
    yield None
    yield Guard(GRAPH.indicator(("N", "M"), IndexExpr("<", (axis(1), axis(0)))), (0, 1))
    yield Guard(GRAPH.indicator(("N",), IndexExpr("<", (axis(0), integer(0)))), (0,))


def reductions() -> Iterator[Node]:
    for make in (GRAPH.softmax, GRAPH.argmax, GRAPH.logsumexp, GRAPH.max):
        for axes in ((0,), (1,), (0, 1)):
            for guard in guards():
                yield make(A, axes, guard)


NODES = [*SAMPLES.values(), *reductions()]


def expected(node: Node) -> np.ndarray:
    array = evaluate([node], {"A": ARRAY, "z": POINT[None]}, sizes=SIZES)[0]
    return np.asarray(array[0] if node.batched else array)


@pytest.mark.parametrize("node", NODES, ids=repr)
def test_written_out(node: Node) -> None:
    symbols = Symbols(NETWORK, frozenset())
    elements = Elements(Written(symbols, SIZES))
    point = {
        elements.element(own, places): mpmath.mpf(array[places])
        for own, array in ((A, ARRAY), (Z, POINT))
        for places in product(*map(range, array.shape))
    }
    array = expected(node)
    for places in product(*map(range, array.shape)):
        assert abs(Numbers(point)(elements.element(node, places)) - array[places]) < 1e-12


@pytest.mark.parametrize("node", NODES, ids=repr)
def test_for_all_sizes(node: Node) -> None:
    symbols = Symbols(NETWORK, frozenset())
    names = tuple(f"i{k}" for k in range(len(node.dims)))
    indices = tuple(map(symbols.index, names))
    ranges = Symbolic(symbols, of_network(NETWORK).free_indices, SIZES)
    expr = Elements(ranges).element(node, indices, frozenset(names))
    array = expected(node)
    found = Reader(SIZES, {"A": ARRAY, "z": POINT}).tensor(expr, indices, list(array.shape))
    assert np.allclose(found.astype(float), array, rtol=0, atol=1e-12)


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(NoRule, match="sympy: no rule for a node of kind Unheard"):
        Elements(Written(Symbols(NETWORK, frozenset()), SIZES)).element(GRAPH.share(Unheard, ("N",), True, Z), (0,))


# ------------------------------------------------------------------ functions of the table

U = sympy.Symbol("u", real=True)
#: Away from kinks; those of a domain are positive.
POINTS = (-1.75, -0.5, 0.25, 2.125)
EACH = pytest.mark.parametrize("name", sorted(FUNCTIONS))


def points(name: str) -> tuple[float, ...]:
    return tuple(u for u in POINTS if FUNCTIONS[name].domain is None or u > 0)


@EACH
def test_a_form_has_the_value_of_the_table(name: str) -> None:
    for u in points(name):
        value = Numbers({U: mpmath.mpf(u)})(applied(Function(name), U))
        assert abs(value - float(FUNCTIONS[name].value(np.asarray(u)))) < 1e-13


@pytest.mark.abridged(every=3)
@EACH
def test_the_derivative_of_the_table_is_that_of_sympy(name: str) -> None:
    graph = Graph()
    node = derivative(graph, Function(name), graph.input("u", "argument"))
    table = Elements(Written(Judge(small("hopfield")).written._ranges.symbols, {}), argument=U).element(node, ())
    derived = sympy.expand_func(sympy.diff(applied(Function(name), U), U))
    for u in points(name):
        numbers = Numbers({U: mpmath.mpf(u)})
        assert abs(numbers(table) - numbers(derived)) < 1e-25


def test_what_repeats_its_argument_is_known() -> None:
    """So that its argument gets a name."""
    argument = sympy.Symbol("a") * sympy.Symbol("b")
    repeated = {name for name in FUNCTIONS if str(applied(Function(name), argument)).count("a*b") > 1}
    assert repeated == {name for name in FUNCTIONS if repeats(Function(name))}
