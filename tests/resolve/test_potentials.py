"""Functions given by their slope: the closed form's slope is what was written, at every point tried."""

from __future__ import annotations

import numpy as np
import pytest

from tests.resolve.helpers import codes, network, value

SPEC = """
const a = 0.7, b = -1/3
state z
clamp p
fn phi'(w) = {slope}
energy e = phi(z)
let written = phi'(p)
fn same(w) = {slope}
let expected = same(p)
readout r = written + expected
"""
SLOPES = [
    "w",
    "3*w^2 - a*w + b",
    "(w - b)^3",
    "exp(w / a) - 1",
    "w^2 * exp(b * w + 1)",
    "tanh(w)",
    "tanh(2*w + a)",
    "1 - tanh(w)^2",
    "sigmoid(a*w)",
    "a * sigmoid(w)^2",
    "softplus(w - a)",
    "logsigmoid(2*w)",
    "relu(w - b)",
    "silu(w)",
    "silu(a*w) + w",
    "gelu(w)",
    "sin(a*w) - cos(w)",
    "abs(w)",
    "sign(w)",
    "sqrt(w + 9)",
    "log(w + 9)",
    "(w + 9)^(-1)",
    "(w + 9)^(-3/2)",
    "a",
    "silu'(w) + gelu'(w)",
    "relu'(w)",
]


@pytest.mark.parametrize("slope", SLOPES)
def test_the_closed_form_has_the_slope_written(slope: str) -> None:
    net = network(SPEC.format(slope=slope))
    points = np.array([-2.3, -1.1, -0.4, 0.3, 0.9, 2.7])

    def potential(at: np.ndarray) -> np.ndarray:
        return value(net, net.terms["e"].node, {"z": at, "p": at})

    step = 1e-3  # a stencil of eighth order: exact to rounding at this step
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    difference = (
        sum(w * (potential(points + k * step) - potential(points - k * step)) for k, w in weights.items()) / step
    )
    expected = value(net, net.lets["expected"].node, {"z": points, "p": points})
    np.testing.assert_allclose(difference, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(value(net, net.lets["written"].node, {"z": points, "p": points}), expected, rtol=1e-12)


@pytest.mark.parametrize("slope", ["gelu_tanh(w)", "exp(w^2)", "tanh(w) * sigmoid(w)", "tanh(w^2)"])
def test_what_has_no_rule_is_refused(slope: str) -> None:
    assert "E0703" in codes(SPEC.format(slope=slope))
