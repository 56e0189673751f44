"""Every function of the table in SymPy: its value, and its derivative as SymPy derives it."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest
import sympy

from energyc.mathematics.calculus.scalar import derivative
from energyc.mathematics.functions import FUNCTIONS
from energyc.mathematics.ir import Function, Graph
from energyc.studies.symbolic.elements import Elements
from energyc.studies.symbolic.functions import applied, repeats
from energyc.studies.symbolic.ranges import Written
from tests.symbolic.judge import Judge
from tests.symbolic.numbers import Numbers
from tests.symbolic.small import small

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
