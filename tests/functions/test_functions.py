"""The table of scalar functions against definitions of its own in mpmath, on the whole line and off it."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from energyc.mathematics.expressions import Argument, Call, Comparison, Constant, Expression, Power, Product, Sum, Where
from energyc.mathematics.functions import FUNCTIONS, RELATIONS, scalar_function
from tests.functions.definitions import DEFINITIONS, DIGITS
from tests.quick import few

LINE = np.array([-800.0, -200.0, -40.0, -30, -6, -3.5, -1, -0.3, -1e-9, 1e-9, 0.2, 1.1, 3.4, 6, 30, 200, 800])
GRID = np.sort([*np.linspace(-12.0, 12.0, 4801), 1e-6])
POSITIVE = {"log", "sqrt"}


def points(name: str) -> np.ndarray:
    return LINE[LINE > 0] if name in POSITIVE else LINE


def value(name: str, parameter: Fraction | None, u: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return scalar_function(name, parameter).value(u)


def in_mpmath(expression: Expression, u: mp.mpf) -> mp.mpf:
    match expression:
        case Argument():
            return u
        case Constant(name):
            return +getattr(mp, name)
        case Call(name, (argument,)):
            return DEFINITIONS[name](in_mpmath(argument, u))
        case Power(base, exponent):
            return in_mpmath(base, u) ** (mp.mpf(exponent.numerator) / exponent.denominator)
        case Product(coefficient, factors, divisors):
            over, under = (mp.fprod(in_mpmath(part, u) for part in parts) for parts in (factors, divisors))
            return mp.mpf(coefficient.numerator) / coefficient.denominator * over / under
        case Sum(terms):
            return mp.fsum(in_mpmath(term, u) for term in terms)
        case Comparison(relation, left, right):
            return mp.mpf(RELATIONS[relation](in_mpmath(left, u), in_mpmath(right, u)))
        case Where(condition, if_true, if_false):
            return in_mpmath(if_true if in_mpmath(condition, u) else if_false, u)
    raise TypeError(expression)


def exact(name: str, u: complex) -> complex:
    with mp.workdps(DIGITS[name]):
        return complex(DEFINITIONS[name](mp.mpmathify(u)))


def test_every_function_has_a_definition_here() -> None:
    assert set(FUNCTIONS) == set(DEFINITIONS)


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if function.monotone])
def test_monotone_functions_are_as_accurate_as_intervals_take_them_for(name: str) -> None:
    arguments = np.concatenate(
        [points(name), np.geomspace(1e-12, 400, 60), [] if name in POSITIVE else -np.geomspace(1e-12, 400, 60)]
    )
    off = [
        (u, abs(found - expected) / abs(expected))
        for u, found in zip(arguments, value(name, None, arguments), strict=True)
        if abs(expected := exact(name, float(u)).real) > 1e-290 and abs(expected) < 1e308
        if abs(found - expected) > 1e-13 * abs(expected)
    ]
    assert (not off) == FUNCTIONS[name].accurate, off


@pytest.mark.abridged(every=3)
@pytest.mark.parametrize("name", few(FUNCTIONS, lambda name: name != "silu_integral"))
def test_values_continue_off_the_line(name: str) -> None:
    for u in points(name)[np.abs(points(name)) < 40]:
        z = complex(u, 0.05)
        expected = exact(name, z)
        assert abs(value(name, None, np.array([z]))[0] - expected) <= 1e-11 * (1e-3 + abs(expected)), (z, expected)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_complex_steps_keep_the_value(name: str) -> None:
    real = value(name, None, points(name))
    tiny = value(name, None, points(name) + 1e-30j)
    np.testing.assert_allclose(tiny.real, real, rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_range_and_monotony_hold_and_are_tight(name: str) -> None:
    function = FUNCTIONS[name]
    grid = GRID[GRID > 0] if name in POSITIVE else GRID
    values = value(name, None, grid)
    ends = np.array([values.min(), values.max(), *value(name, None, points(name))])
    assert ends.min() >= function.low and ends.max() <= function.high
    if np.isfinite(function.low):
        assert ends.min() - function.low < 1e-2
    if np.isfinite(function.high):
        assert function.high - ends.max() < 1e-2
    steps = np.diff(values)
    assert function.monotone == (1 if np.all(steps >= 0) else -1 if np.all(steps <= 0) else 0)


FAR = np.geomspace(1, 1e5, 40)


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if function.asymptotes])
def test_asymptotes_are_within_a_bound(name: str) -> None:
    for (factor, power), far in zip(FUNCTIONS[name].asymptotes, (-FAR, FAR), strict=True):
        assert np.all(np.abs(value(name, None, far) - float(factor) * far**power) < 2)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_kinks_are_where_value_or_derivative_jumps(name: str) -> None:
    """Second derivatives stay below 25 on this grid, so that a second difference of 1e-4 is a jump of the first."""
    function = FUNCTIONS[name]
    grid = np.arange(300 if name in POSITIVE else -3000, 3000) / 1000 + 5e-4
    bends = np.abs(np.diff(value(name, None, grid), 2)) > 1e-4
    places = grid[1:-1][bends]
    assert all(np.abs(places - kink).min() < 1e-3 for kink in function.kinks)
    assert all(min(abs(place - kink) for kink in function.kinks) < 2e-3 for place in places)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_without_a_domain_are_defined_everywhere(name: str) -> None:
    domain = FUNCTIONS[name].domain
    assert np.all(np.isfinite(value(name, None, np.array([1e-300, 1.0, 100.0]))))
    assert np.isfinite(value(name, None, np.zeros(1))[0]) == (domain is None or domain.zero)
    assert np.all(np.isfinite(value(name, None, -GRID[GRID > 0]))) == (domain is None)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_continuity_holds_at_the_kinks(name: str) -> None:
    function = FUNCTIONS[name]
    jumps = [abs(np.diff(value(name, None, place + np.array([-1e-12, 1e-12])))[0]) > 0.5 for place in function.kinks]
    assert function.continuous == (not any(jumps))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parity_and_sign_are_those_of_the_values(name: str) -> None:
    function = FUNCTIONS[name]
    left, right = (value(name, None, sign * GRID[GRID > 0]) for sign in (-1, 1))
    assert (function.parity == 1) == np.allclose(left, right, rtol=1e-12)
    assert (function.parity == -1) == np.allclose(left, -right, rtol=1e-12)
    everywhere = np.all(left > 0) and np.all(right > 0) and value(name, None, np.zeros(1))[0] > 0
    assert function.positive == ("everywhere" if everywhere else "right" if np.all(right > 0) else None)


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if function.homogeneous])
def test_homogeneous_sides_are_the_values(name: str) -> None:
    sides = FUNCTIONS[name].homogeneous
    assert sides is not None
    expected = np.where(GRID > 0, float(sides.right), float(sides.left)) * GRID**sides.degree
    np.testing.assert_array_equal(value(name, None, GRID[GRID != 0]), expected[GRID != 0])


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if function.lipschitz])
def test_derivatives_stay_below_their_bound(name: str) -> None:
    derivatives = np.diff(value(name, None, GRID)) / np.diff(GRID)
    assert 0.99 < np.abs(derivatives).max() / FUNCTIONS[name].lipschitz < 1.0001


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if function.formula is not None])
def test_formulas_are_the_functions(name: str) -> None:
    function = FUNCTIONS[name]
    assert function.formula is not None
    with mp.workdps(60):
        for u in LINE[np.abs(LINE) < 10]:
            expected = DEFINITIONS[name](mp.mpf(u))
            assert abs(in_mpmath(function.formula, mp.mpf(u)) - expected) <= 1e-14 * (1 + abs(expected)), u


def test_formulas_come_to_an_end() -> None:
    def depth(name: str, above: tuple[str, ...] = ()) -> int:
        assert name not in above, (*above, name)
        formula = FUNCTIONS[name].formula
        calls = [part.function for part in formula.walk() if isinstance(part, Call)] if formula else []
        return 1 + max((depth(inner, (*above, name)) for inner in calls), default=0)

    assert max(map(depth, FUNCTIONS)) > 1


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_an_entry_names_exists(name: str) -> None:
    function = FUNCTIONS[name]
    named = [
        part.function
        for e in (function.derivative, function.antiderivative, function.formula)
        if e
        for part in e.walk()
        if isinstance(part, Call)
    ]
    assert {*named, *filter(None, [function.derivative_of, function.alternative])} <= set(FUNCTIONS)
    if function.derivative_of is not None:
        assert FUNCTIONS[function.derivative_of].derivative == Call(name, (Argument(),))
    assert function.form("torch").text
    with pytest.raises(NotImplementedError, match=f"{name}.*abacus"):
        function.form("abacus")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_templates_take_one_argument(name: str) -> None:
    latex = FUNCTIONS[name].latex.format("u_{i}")
    assert "u_{i}" in latex and latex.count("{") == latex.count("}")


@pytest.mark.parametrize("exponent", ["2", "5", "-1", "-2", "1/2", "-3/2", "7/3"])
def test_powers(exponent: str) -> None:
    u = np.array([0.3, 1.0, 2.5, 40.0])
    for argument in (u, u + 0.1j):
        expected = np.exp(float(Fraction(exponent)) * np.log(argument))
        np.testing.assert_allclose(value("power", Fraction(exponent), argument), expected, rtol=1e-13)


def test_powers_of_zero_and_of_negatives() -> None:
    u = np.array([-2.0, 0.0])
    np.testing.assert_array_equal(value("power", Fraction(-1), u), [-0.5, np.inf])
    np.testing.assert_array_equal(value("power", Fraction(5), u), [-32.0, 0.0])
    assert np.isnan(value("power", Fraction(1, 2), u)[0])


def test_an_unknown_name_is_an_error() -> None:
    with pytest.raises(KeyError):
        value("mish", None, LINE)
