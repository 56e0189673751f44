"""Interval arithmetic beside fractions and numbers of fifty digits."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from energyc.mathematics.expressions import Comparison, U, expression, where
from energyc.proofs.enclosures.intervals import (
    SLACK,
    Interval,
    NoEnclosure,
    enclosed,
    exp,
    log,
    number,
    power,
    rational,
    reciprocal,
)
from tests.drawing import SEED

COUNT = 400


@pytest.fixture
def random() -> np.random.Generator:
    return np.random.default_rng(SEED)


def drawn(random: np.random.Generator, lowest: float = -1.0) -> tuple[Interval, list[Fraction]]:
    """Intervals of all magnitudes, a third of them single numbers, and a number within each."""
    size = 10.0 ** random.uniform(-8, 8, COUNT)
    ends = np.sort(random.uniform(lowest, 1, (2, COUNT)) * size, axis=0)
    ends[1] = np.where(random.random(COUNT) < 0.3, ends[0], ends[1])
    shares = [Fraction(int(k), 7) for k in random.integers(0, 8, COUNT)]
    low, high = ([Fraction(float(x)) for x in end] for end in ends)
    return Interval(*ends), [a + (b - a) * s for a, b, s in zip(low, high, shares, strict=True)]


def holds(interval: Interval, numbers: list[Fraction]) -> bool:
    """Whether each number is enclosed; no rounding takes part."""
    ends = zip(np.ravel(interval.low), np.ravel(interval.high), numbers, strict=True)
    return all(
        (low == -math.inf or Fraction(float(low)) <= x) and (high == math.inf or x <= Fraction(float(high)))
        for low, high, x in ends
    )


def test_sums_differences_and_products(random: np.random.Generator) -> None:
    (a, x), (b, y) = drawn(random), drawn(random)
    assert holds(a + b, [p + q for p, q in zip(x, y, strict=True)])
    assert holds(a - b, [p - q for p, q in zip(x, y, strict=True)])
    assert holds(a * b, [p * q for p, q in zip(x, y, strict=True)])
    assert holds(-a, [-p for p in x])


def test_a_sum_along_axes_in_any_order(random: np.random.Generator) -> None:
    """Numbers that cancel, whose sum in floats depends on the order."""
    a, x = drawn(random)
    both = Interval(np.concatenate([a.low, -a.high]), np.concatenate([a.high, -a.low]))
    numbers = [*x, *(-p for p in x)]
    order = random.permutation(2 * COUNT)
    summed = Interval(both.low[order], both.high[order]).sum((0,))
    assert holds(summed, [sum((numbers[k] for k in order), Fraction(0))])
    widths = float(np.sum(both.high - both.low))
    assert summed.high - summed.low <= widths + 1e-10 * float(np.abs(both.high).sum() + np.abs(both.low).sum())
    inner = Interval(a.low.reshape(20, -1), a.high.reshape(20, -1)).sum((1,))
    assert holds(inner, [sum(x[k : k + COUNT // 20], Fraction(0)) for k in range(0, COUNT, COUNT // 20)])


@pytest.mark.parametrize("exponent", [Fraction(k) for k in (0, 1, 2, 3, -1, -2, -3)])
def test_whole_powers(random: np.random.Generator, exponent: Fraction) -> None:
    a, x = drawn(random)
    assert holds(power(a, exponent), [p**exponent.numerator if p or exponent >= 0 else p for p in x])


def test_a_quotient_is_the_whole_line_where_the_divisor_may_be_zero() -> None:
    one = Interval.exactly(np.ones(3))
    found = reciprocal(one, Interval(np.array([-1.0, 0.0, 2.0]), np.array([1.0, 2.0, 4.0])))
    assert found.low[0] == found.low[1] == -math.inf and found.high[0] == found.high[1] == math.inf
    assert 0.2499 < found.low[2] <= 0.25 and 0.5 <= found.high[2] < 0.5001


def test_quotients(random: np.random.Generator) -> None:
    (a, x), (b, y) = drawn(random), drawn(random, lowest=0.001)
    assert holds(reciprocal(a, b), [p / q for p, q in zip(x, y, strict=True)])


@pytest.mark.parametrize("value", [1e-12, 0.3, 1.0, 7.0, 1e9])
def test_a_number_that_a_float_approximates(value: float) -> None:
    """Hundreds of units in the last place to either side, and not many more."""
    for sign in (1, -1):
        found = number(sign * value)
        for share in (-0.9 * SLACK, 0.9 * SLACK):
            assert found.low <= sign * value * (1 + share) <= found.high
        assert found.high - found.low < 3 * SLACK * value


def test_fractions_are_exact_where_floats_are() -> None:
    half, third = rational(Fraction(1, 2)), rational(Fraction(1, 3))
    assert half.low == half.high == 0.5
    assert holds(third, [Fraction(1, 3)]) and third.low < third.high


@pytest.mark.parametrize("name", ["exp", "log", "root", "reciprocal root"])
def test_functions_beside_fifty_digits(random: np.random.Generator, name: str) -> None:
    """Whose error in NumPy is a few units, at any magnitude."""
    low = np.sort(10.0 ** random.uniform(-3, 2, COUNT))
    u = Interval(low, low * 1.001)
    ours = {
        "exp": exp,
        "log": log,
        "root": lambda u: power(u, Fraction(1, 2)),
        "reciprocal root": lambda u: power(u, Fraction(-1, 2)),
    }[name](u)
    theirs = {
        "exp": mpmath.exp,
        "log": mpmath.log,
        "root": mpmath.sqrt,
        "reciprocal root": lambda x: 1 / mpmath.sqrt(x),
    }[name]
    with mpmath.workdps(50):
        for end in (u.low, u.high):
            for k, x in enumerate(end):
                assert mpmath.mpf(float(ours.low[k])) <= theirs(mpmath.mpf(float(x))) <= mpmath.mpf(float(ours.high[k]))


def test_what_has_no_value_has_no_enclosure() -> None:
    below = Interval(np.array([-1.0]), np.array([1.0]))
    with pytest.raises(NoEnclosure), np.errstate(invalid="ignore"):
        log(below)
    with pytest.raises(NoEnclosure):
        power(below, Fraction(1, 2))


@pytest.mark.parametrize("relation", [">", ">=", "<", "<="])
def test_a_selection_has_both_sides_where_either_may_be_chosen(relation: str) -> None:
    """``where(u > 1, 3 u, u - 5)`` on intervals left of 1, right of it, around and up to it."""
    u = Interval(np.array([-1.0, 1.5, 0.5, 0.0, 1.0, 1.0]), np.array([0.5, 2.0, 2.0, 1.0, 2.0, 1.0]))
    found = enclosed(where(Comparison(relation, U, expression(1)), 3 * U, U - 5), u)
    chosen = {">": np.greater, ">=": np.greater_equal, "<": np.less, "<=": np.less_equal}[relation]
    for k, (low, high) in enumerate(zip(u.low, u.high, strict=True)):
        points = np.arange(low, high + 1 / 16, 1 / 8)
        values = np.where(chosen(points, 1), 3 * points, points - 5)
        assert found.low[k] <= values.min() and values.max() <= found.high[k]
        if not low <= 1 <= high:  # it is that of one side
            assert found.low[k] >= values.min() - 1e-9 and found.high[k] <= values.max() + 1e-9
