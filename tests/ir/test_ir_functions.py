"""The table of scalar functions against definitions of its own in mpmath, on the whole line and off it."""

from __future__ import annotations

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest

from energyc.ir.functions import FUNCTIONS, value
from tests.ir.definitions import DEFINITIONS

LINE = np.array([-800.0, -200.0, -40.0, -30, -6, -3.5, -1, -0.3, -1e-9, 1e-9, 0.2, 1.1, 3.4, 6, 30, 200, 800])
GRID = np.sort([*np.linspace(-12.0, 12.0, 4801), 1e-6])
POSITIVE = {"log", "sqrt"}


def points(name: str) -> np.ndarray:
    return LINE[LINE > 0] if name in POSITIVE else LINE


def exact(name: str, u: complex) -> complex:
    with mp.workdps(700):
        return complex(DEFINITIONS[name](mp.mpmathify(u)))


def test_every_function_has_a_definition_here() -> None:
    assert set(FUNCTIONS) == set(DEFINITIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_exact_on_the_whole_line(name: str) -> None:
    for u in points(name):
        if name == "exp" and u > 700:
            continue
        expected = exact(name, float(u)).real
        tolerance = 1e-300 + 4e-14 * abs(expected)
        if abs(u) > 25:  # where the value is a difference of huge numbers, or underflows
            tolerance = 1e-12 * max(abs(expected), 1e-14)
        assert abs(value(name, None, np.array([u]))[0] - expected) <= tolerance, (u, expected)


@pytest.mark.parametrize("name", FUNCTIONS)
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
    assert values.min() >= function.low and values.max() <= function.high
    if np.isfinite(function.low):
        assert values.min() - function.low < 1e-2
    if np.isfinite(function.high):
        assert function.high - values.max() < 1e-2
    steps = np.diff(values)
    assert function.monotone == (1 if np.all(steps >= 0) else -1 if np.all(steps <= 0) else 0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_kinks_are_where_value_or_slope_jumps(name: str) -> None:
    function = FUNCTIONS[name]
    for place in (0.0, 1.5) if name not in POSITIVE else (1.5,):
        left2, left, right, right2 = value(name, None, place + 1e-6 * np.array([-2.0, -1.0, 1.0, 2.0]))
        jumps = abs(right - left) > 1e-3 or abs((right2 - right) - (left - left2)) > 1e-7
        assert jumps == (place in function.kinks)
    assert function.holomorphic == (not function.kinks)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_templates_take_one_argument(name: str) -> None:
    assert FUNCTIONS[name].text.format("u") == f"{name}(u)"
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
