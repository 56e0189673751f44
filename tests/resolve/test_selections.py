"""Conditions on real values and what is made of them, against NumPy; functions that a spec may declare itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from scipy.special import erf

from tests.resolve.helpers import codes, findings, inputs, network, value

HEAD = """
dim D = 50
const lo = -1/2, hi = 3/4
clamp x[D], n
state z[D]
param w = 1
energy e = sum[d](z[d] * x[d]) * w * n
"""
Values = Mapping[str, Any]
VALUES: dict[str, Callable[[Values], Any]] = {
    "where(z[d] > 0, z[d]^2, x[d])": lambda v: np.where(v["z"] > 0, v["z"] ** 2, v["x"]),
    "where(z[d] < x[d], 1, x[d])": lambda v: np.where(v["z"] < v["x"], 1, v["x"]),
    "where(z[d] >= x[d] and x[d] > 0, z[d], 0)": lambda v: np.where((v["z"] >= v["x"]) & (v["x"] > 0), v["z"], 0),
    "where(z[d] > 0 or not x[d] > 0, z[d], 5)": lambda v: np.where((v["z"] > 0) | (v["x"] <= 0), v["z"], 5),
    "where(lo < z[d] <= hi, z[d], x[d])": lambda v: np.where((v["z"] > -0.5) & (v["z"] <= 0.75), v["z"], v["x"]),
    "where(d < 10 and z[d] > 0, z[d], 2)": lambda v: np.where((np.arange(50) < 10) & (v["z"] > 0), v["z"], 2),
    "where(d == 3 or z[d] > n[0], z[d], 2)".replace("[0]", ""): lambda v: np.where(
        (np.arange(50) == 3) | (v["z"] > v["n"][:, None]), v["z"], 2
    ),
    "where(sum[k](z[k]) > 0, z[d], -z[d])": lambda v: np.where(v["z"].sum(-1, keepdims=True) > 0, v["z"], -v["z"]),
    "where(z[d] > 0, log(z[d]), 1 / z[d])": lambda v: np.where(v["z"] > 0, np.log(np.abs(v["z"])), 1 / v["z"]),
    "where(z[d] > 0, where(x[d] > 0, sqrt(x[d] * z[d]), 1), z[d]^(-3))": lambda v: np.where(
        v["z"] > 0, np.where(v["x"] > 0, np.sqrt(np.abs(v["x"] * v["z"])), 1), v["z"] ** -3.0
    ),
    "where(1000 * z[d] < 1, exp(1000 * z[d]), 0)": lambda v: np.where(
        1000 * v["z"] < 1, np.exp(np.minimum(1000 * v["z"], 1)), 0
    ),
    "max(z[d], x[d], hi)": lambda v: np.maximum(np.maximum(v["z"], v["x"]), 0.75),
    "min(z[d], x[d])": lambda v: np.minimum(v["z"], v["x"]),
    "max(0, z[d]) + min(x[d], 0)": lambda v: np.maximum(v["z"], 0) + np.minimum(v["x"], 0),
    "max(z[d] * 1e300, 1e-300)": lambda v: np.maximum(v["z"] * 1e300, 1e-300),
    "min[k in D | k <= d](z[k]) + 0 * x[d]": lambda v: np.minimum.accumulate(v["z"], -1),
    "clip(z[d], lo, hi)": lambda v: np.clip(v["z"], -0.5, 0.75),
    "clip(z[d] * 1e-9, -1e9, 1e9)": lambda v: v["z"] * 1e-9,
    "leaky_relu(z[d])": lambda v: np.where(v["z"] > 0, v["z"], 0.01 * v["z"]),
    "leaky_relu(z[d], x[d])": lambda v: np.where(v["z"] > 0, v["z"], v["x"] * v["z"]),
    "leaky_relu'(z[d], 1/5)": lambda v: np.where(v["z"] > 0, 1, 0.2),
    "erf(z[d]) + pi": lambda v: erf(v["z"]) + np.pi,
    "erf'(z[d])": lambda v: 2 / np.sqrt(np.pi) * np.exp(-(v["z"] ** 2)),
    "sin(pi * z[d])": lambda v: np.sin(np.pi * v["z"]),
}


@pytest.mark.parametrize("expression", VALUES)
def test_a_value(expression: str) -> None:
    net = network(f"{HEAD}let u[d] = {expression}\nreadout o[d] = u[d]")
    values = inputs(net, seed=5)
    expected = VALUES[expression](values)
    np.testing.assert_allclose(value(net, net.lets["u"].node, values), expected, rtol=1e-12, atol=1e-14)


def test_both_sides_of_an_edge_are_told_apart() -> None:
    """Where the two values are equal one of the sides is selected, and never none or both."""
    tests = (">", ">=", "<", "<=")
    lets = "\n".join(f"let u{k}[d] = where(z[d] {test} x[d], 1, 10)" for k, test in enumerate(tests))
    net = network(f"{HEAD}{lets}\nreadout o[d] = u0[d] + u1[d] + u2[d] + u3[d]")
    values = inputs(net)
    values["x"] = values["z"].copy()
    assert [value(net, net.lets[f"u{k}"].node, values)[0, 0] for k in range(4)] == [10, 1, 10, 1]
    values["z"][:] = np.nan
    assert all(np.all(np.isin(value(net, net.lets[f"u{k}"].node, values), [1, 10])) for k in range(4))


DECLARED = {
    "fn clip(u) = 2 * u": ("clip(z[d])", 2.0),
    "fn erf(u) = 3 * u": ("erf(z[d])", 3.0),
    "fn leaky_relu(u) = 4 * u": ("leaky_relu(z[d])", 4.0),
    "fn min(u) = 5 * u": ("min(z[d])", 5.0),
    "const pi = 6": ("pi * z[d]", 6.0),
}


@pytest.mark.parametrize("declaration", DECLARED)
def test_a_declaration_takes_the_place_of_a_later_function(declaration: str) -> None:
    expression, factor = DECLARED[declaration]
    net = network(f"{HEAD}{declaration}\nlet u[d] = {expression}\nreadout o[d] = u[d]")
    values = inputs(net)
    np.testing.assert_allclose(value(net, net.lets["u"].node, values), factor * values["z"], rtol=1e-14)


def test_pi_in_consts_and_in_names() -> None:
    net = network(f"{HEAD}const turn = 2 * pi\nlet u = turn\nreadout o = u")
    assert value(net, net.lets["u"].node, inputs(net)) == 2 * np.pi
    assert "pi" not in network(HEAD).consts
    assert codes(f"{HEAD}let u[pi] = z[pi]\nreadout o[d] = u[d]") == ["W0201", "W0201"]  # lo and hi


MISTAKES = [
    ("where(z[d] == x[d], 1, 0)", "E0312", "write `abs(z[d] - x[d]) < 1e-3` for values that nearly are"),
    ("where(z[d] != x[d] + 1, 1, 0)", "E0312", "write `abs(z[d] - (x[d] + 1)) >= 1e-3` for values that nearly are"),
    ("where(d == 1 and z[d] == 0, 1, 0)", "E0312", "write `abs(z[d]) < 1e-3` for values that nearly are"),
    ("where(z[d] > nothing, 1, 0)", "E0201", None),
    ("where(z[d] > 0 and x[d], 1, 0)", "E0402", None),
    ("where(sum[k | z[k] > 0](1) > 0, 1, 0)", "E0404", None),
    ("mean[k | z[k] > 0](z[k])", "E0404", "select by it: `sum[k](where(z[k] > 0, ..., 0))`"),
    ("clip(z[d], 1, 0)", "E0410", "write `clip(u, lo, hi)` with `lo` below `hi`"),
    ("clip(z[d], hi, lo)", "E0410", None),
    ("clip(z[d])", "E0405", None),
    ("max(z[d])", "E0405", "write `max[k](z[d])`"),
    ("max'(z[d], 1)", "E0408", None),
    ("clip'(z[d], 0, 1)", "E0408", None),
    ("leaky_relu(z[d], 1, 2)", "E0405", None),
    ("max[k](z[k], x[k])", "E0405", None),
    ("where(z[d] > 0, 1 / 0, 1)", "E0701", None),
]


@pytest.mark.parametrize(("expression", "code", "help"), MISTAKES)
def test_a_mistake(expression: str, code: str, help: str | None) -> None:
    found = findings(f"{HEAD}let u[d] = {expression}\nreadout o[d] = u[d]")
    assert code in [d.code for d in found]
    if help is not None:
        assert help in [d.help for d in found if d.code == code]


def test_a_long_chain_of_conditions() -> None:
    tests = " and ".join(f"z[d] > {k}" for k in range(-60, -3))
    net = network(f"{HEAD}let u[d] = where({tests}, 1, 0)\nreadout o[d] = u[d]")
    assert np.all(value(net, net.lets["u"].node, inputs(net)) == 1)


@pytest.mark.parametrize("block", ["layer m {", "repeat L {\nlayer m {"])
def test_a_selection_in_a_layer_beside_an_error(block: str) -> None:
    """An index whose name is taken has no dim; the selection over it is not looked at."""
    text = f"""
dim N = 3, D = 2, L = 2
clamp x[N]
param P[D, N] ~ normal(1)
{block}
  state h[N]
  energy a[d] = where(sum[n](P[d,n] * h[n]) > 0, sum[n](P[d,n] * h[n])^2, 0)
  energy b = sum[n](h[n]^2 - x[n] * h[n])
{"}" * block.count("{")}
cost d = 1
"""
    assert "E0204" in codes(text)
