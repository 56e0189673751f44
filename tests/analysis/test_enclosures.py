"""Ranges with rims, the enclosures of nodes and expansions along rays, against numbers drawn inside of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from energyc.language.diagnostics import Source
from energyc.mathematics.ir.interpreter import evaluate
from energyc.pipeline import Choices, resolve
from energyc.proofs.claims.sets import enclosures_of
from energyc.proofs.conservativeness.forces import field_from
from energyc.proofs.enclosures.enclosure import Enclosure
from energyc.proofs.enclosures.ranges import Range
from energyc.proofs.enclosures.tails import Tail, line, number
from tests.drawing import SEED

HEAD = """network n
dim K = 3
param p[K] = 1 in [1/10, 2], W[K, K] ~ normal(1)
clamp b[K]
state z[K], y[K] in [0, 1]
"""


def enclosure(formula: str) -> Enclosure:
    """That of the let ``u[k] = formula``."""
    text = (
        f"{HEAD}let u[k] = {formula}\nenergy e = sum[k](z[k]^2 + y[k] + u[k] + b[k] + p[k]) + sum[k,l in K](W[k,l])\n"
    )
    network = resolve(Source("spec.energy", text), Choices())
    return enclosures_of(network, field_from(network)).of(network.lets["u"].node)


# -------------------------------------------------------------------- ranges


def test_a_product_takes_zero_where_a_factor_does() -> None:
    positive, unit = Range(0.0, math.inf, low_open=True), Range(0.0, 1.0)
    assert (positive * positive).positive
    assert not (positive * unit).positive
    assert (positive * unit).nonnegative
    assert (positive + unit).positive


@pytest.mark.parametrize(
    ("a", "b", "low", "high"),
    [
        (Range(-1, 2), Range(3, 4), -4, 8),
        (Range(-1, 2), Range(-3, 4), -6, 8),
        (Range(0, math.inf), Range(-1, 1), -math.inf, math.inf),
        (Range(0, 1), Range(0, math.inf), 0, math.inf),
    ],
)
def test_products_of_ranges(a: Range, b: Range, low: float, high: float) -> None:
    assert ((a * b).low, (a * b).high) == pytest.approx((low, high), rel=1e-9)


def test_what_is_in_two_ranges() -> None:
    both = Range(0, 2, low_open=True).within(Range(0, 2, high_open=True))
    assert (both.low_open, both.high_open) == (True, True)


# -------------------------------------------------------------------- enclosures


@pytest.mark.parametrize(
    ("formula", "bounded", "away", "continuous"),
    [
        ("z[k]^2", False, False, True),
        ("z[k]^3", False, False, True),
        ("sigmoid(z[k])", True, False, True),
        ("1/sigmoid(z[k])", False, True, True),
        ("log(sigmoid(z[k]))", False, False, True),
        ("1/(p[k] + z[k]^2)", True, False, True),
        ("sqrt(p[k] + z[k]^2)", False, True, True),
        ("log(y[k])", False, False, False),
        ("y[k]*log(y[k])", True, False, True),
        ("1/sqrt(y[k])", False, True, False),
        ("1/(1 + y[k])", True, True, True),
        ("exp(-z[k]^2)", True, False, True),
        ("exp(y[k])*p[k]", True, True, True),
        ("W[k,k]*z[k]", False, False, True),
        ("where(z[k] > 0, 1, -1)", True, False, False),
        ("sum[l in K](tanh(z[l])*W[k,l])", True, False, True),
        ("layernorm[k](z[k])*z[k]", False, False, True),
        ("1/b[k]", True, True, True),
    ],
)
def test_what_is_known_of_a_node(formula: str, bounded: bool, away: bool, continuous: bool) -> None:
    found = enclosure(formula)
    assert (found.bounded, found.away, found.continuous) == (bounded, away, continuous)


FORMULAS = (
    "sigmoid(z[k])*y[k]", "z[k]*z[k] - y[k]", "tanh(z[k]) + p[k]", "exp(-p[k]*z[k]^2)", "sin(z[k])/p[k]", "gelu(y[k])",
    "silu(y[k] - 2)", "softplus(z[k])*p[k]", "abs(y[k] - 1/2)", "(y[k] - 1/2)^3", "(y[k] + 1)^(-3/2)",
    "z[k]*0 + sum[l in K](p[l]*y[l])", "softmax[k](z[k])*3", "min(z[k], 1)*0 + y[k]", "log(p[k]) - 1/p[k]^2",
)  # fmt: skip


@pytest.mark.parametrize("formula", FORMULAS)
def test_numbers_lie_in_their_range(formula: str) -> None:
    print(f"ENERGYC_SEED={SEED}")
    generator = np.random.default_rng(SEED)
    text = (
        f"{HEAD}let u[k] = {formula}\nenergy e = sum[k](z[k]^2 + y[k] + u[k] + b[k] + p[k]) + sum[k,l in K](W[k,l])\n"
    )
    network = resolve(Source("spec.energy", text), Choices())
    found = enclosures_of(network, field_from(network)).of(network.lets["u"].node).range
    inputs = {
        ("param", "p"): generator.uniform(0.1, 2, 3),
        ("param", "W"): generator.standard_normal((3, 3)),
        ("clamp", "b"): generator.standard_normal((400, 3)),
        ("state", "z"): 10 ** generator.uniform(-2, 1, (400, 1)) * generator.standard_normal((400, 3)),
        ("state", "y"): generator.uniform(0, 1, (400, 3)),
    }
    (values,) = evaluate([network.lets["u"].node], inputs, sizes=network.extents, values=network.values)
    assert np.all((values >= found.low) & (values <= found.high))


@pytest.mark.parametrize(
    ("kept", "low", "high"),
    [
        ("sphere[K]", -1, 1),
        ("standardized[K]", -math.sqrt(2), math.sqrt(2)),
        ("simplex[K]", 0, 1),
        ("[-1/2, 3]", -0.5, 3),
        ("nonnegative", 0, math.inf),
    ],
)
def test_an_entry_ranges_as_far_as_its_set(kept: str, low: float, high: float) -> None:
    text = f"network n\ndim K = 3\nclamp b[K]\nstate z[K] in {kept}\nlet u[k] = 2*z[k]\nenergy e = sum[k](u[k]*b[k])\n"
    network = resolve(Source("spec.energy", text), Choices())
    found = enclosures_of(network, field_from(network)).of(network.lets["u"].node).range
    assert (found.low, found.high) == pytest.approx((2 * low, 2 * high), rel=1e-10)
    assert found.low <= 2 * low and found.high >= 2 * high


# -------------------------------------------------------------------- tails


def test_sums_cancel_to_what_is_left() -> None:
    t = line(0.0, 1.0)
    assert (t * t + -(t * t)).sign == 0
    assert (t * t + -(t * t) + t).terms == ((1.0, (1.0, 1.0)),)


def test_a_rest_swallows_what_is_smaller() -> None:
    t = line(2.0, 1.0)
    assert (t * t + Tail.bounded(1.0)).terms[0][0] == 2
    assert len((t * t + Tail.bounded(1.0)).terms) == 1
    assert (t + Tail.bounded(1.0)).terms == ()


def test_terms_enclose_the_numbers() -> None:
    t = line(1 / 3, -0.1)
    (power, (low, high)), *_ = (t * t * t * number(0.3)).terms
    assert power == 3
    assert low <= 0.3 * (-0.1) ** 3 <= high
    assert high - low < 1e-15
