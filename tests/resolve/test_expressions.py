"""The meaning of single expressions, against independent NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from tests.resolve.helpers import inputs, network, value

HEAD = """
dim N = 5, D = 3, K = 2
const half = 1/2, beta = 4
clamp x[N, D], y[N, D], pick[N] : D, which : D
param W[D, D], v[D] ~ normal(1)
param s = 2
state z[N, D]
energy keep = s * sum[n,d,e](W[d,e] * v[d] * (z[n,d] - x[n,d] - y[n,d]))
"""


def let(right: str, left: str = "") -> tuple[Any, dict[str, Any]]:
    """The value of a let, and the inputs."""
    net = network(f"{HEAD}\nlet a{left} = {right}")
    values = inputs(net)
    return value(net, net.lets["a"].node, values), values


def layernorm(u: Any, eps: float = 1e-5) -> Any:
    centred = u - u.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + eps)


def rmsnorm(u: Any) -> Any:
    return u / np.sqrt((u**2).mean(-1, keepdims=True) + 1e-5)


ROW = np.arange(5.0)
CASES = {
    "constants": ("1/beta * half * sqrt(N) * sum[n,d](z[n,d])", "", lambda v: np.sqrt(5) / 8 * v["z"].sum((1, 2))),
    "a sum over an index that does not occur": ("sum[k in K, n](z[n,0])", "", lambda v: 2 * v["z"][:, :, 0].sum(1)),
    "a diagonal": ("sum[d](W[d,d] * z[0,d])", "", lambda v: v["z"][:, 0] @ np.diag(v["W"])),
    "a trace alone": ("sum[d](W[d,d])", "", lambda v: np.trace(v["W"])),
    "a transposition": ("W[d,e]", "[e,d]", lambda v: v["W"].T),
    "a broadcast": ("v[d]", "[n in N,d]", lambda v: np.broadcast_to(v["v"], (5, 3))),
    "a sum of terms": ("sum[d](z[n,d] - v[d] + 2)", "[n]", lambda v: (v["z"] - v["v"] + 2).sum(-1)),
    "a window": ("x[i + 2, d]", "[i in D,d]", lambda v: v["x"][:, 2:5]),
    "a window backwards": ("x[N - 1 - i, d]", "[i in N,d]", lambda v: v["x"][:, ::-1]),
    "a fixed position": ("x[N - 1, 0] * z[0, d]", "[d]", lambda v: v["x"][:, 4, :1] * v["z"][:, 0]),
    "zero padding": (
        "sum[p in D](v[p] * where(0 <= i + p - 1 < N, x[i + p - 1, 0], 0))",
        "[i in N]",
        lambda v: sum(w * np.pad(v["x"][:, :, 0], ((0, 0), (1, 1)))[:, k : k + 5] for k, w in enumerate(v["v"])),
    ),
    "concatenation": (
        "where(n == 0, v[d], x[n - 1, d])",
        "[n in N,d]",
        lambda v: np.concatenate([np.broadcast_to(v["v"], (2, 1, 3)), v["x"][:, :-1]], 1),
    ),
    "a gather": ("W[pick[n], d] * z[n,d]", "[n,d]", lambda v: v["W"][v["pick"]] * v["z"]),
    "a row that a scalar picks": ("W[which, d] * z[n,d]", "[n,d]", lambda v: v["W"][v["which"]][:, None] * v["z"]),
    "a comparison with an integer": ("where(d == which, 1, 0)", "[d in D]", lambda v: np.eye(3)[v["which"]]),
    "arithmetic on indices": ("-v[d] * (n - 2*m) + abs(n - m)", "[n in N,m in N,d]", lambda v: distances(v["v"])),
    "a power of a number": ("2^(-d - 1)", "[d in D]", lambda v: 0.5 ** np.arange(1.0, 4)),
    "powers": ("(z[n,d]^2 + 1)^(-1/2) * (1/s)", "[n,d]", lambda v: (v["z"] ** 2 + 1) ** -0.5 / v["s"]),
    "power binds tighter than minus": ("-z[n,d]^2", "[n,d]", lambda v: -(v["z"] ** 2)),
    "power to the right": ("2^3^2 * s", "", lambda v: 512 * v["s"]),
    "mean": ("mean[n,d](z[n,d]^2)", "", lambda v: (v["z"] ** 2).mean((1, 2))),
    "a guarded mean": ("mean[m | m < n](z[m,0])", "[n in N]", lambda v: before(v["z"][:, :, 0])),
    "variance": ("variance[d](z[n,d])", "[n]", lambda v: v["z"].var(-1)),
    "max": ("max[d](z[n,d])", "[n]", lambda v: v["z"].max(-1)),
    "a guarded sum": ("sum[m | m <= n](z[m,d])", "[n in N,d]", lambda v: v["z"].cumsum(1)),
    "logsumexp": ("logsumexp[n](beta * z[n,d])", "[d]", lambda v: logsumexp(4 * v["z"], 1)),
    "an empty logsumexp": ("logsumexp[m | m < n](z[m,0])", "[n in N]", lambda v: logsumexp_before(v["z"][:, :, 0])),
    "softmax": ("softmax[n](z[n,d])", "[n,d]", lambda v: softmax(v["z"], 1)),
    "a softmax guarded by another index": (
        "softmax[m | m <= n](z[m,0])",
        "[n in N,m]",
        lambda v: softmax(np.where(ROW[None, None] <= ROW[None, :, None], v["z"][:, None, :, 0], -np.inf), -1),
    ),
    "layernorm": ("layernorm[d](z[n,d])", "[n,d]", lambda v: layernorm(v["z"])),
    "layernorm with its eps": ("layernorm[d](z[n,d], eps = 1/10)", "[n,d]", lambda v: layernorm(v["z"], 0.1)),
    "standardize": ("standardize[d](z[n,d])", "[n,d]", lambda v: layernorm(v["z"])),
    "rmsnorm": (
        "rmsnorm[d](z[n,d])",
        "[n,d]",
        lambda v: rmsnorm(v["z"]),
    ),
    "slopes": ("tanh'(z[n,d]) + relu'(z[n,d])", "[n,d]", lambda v: 1 - np.tanh(v["z"]) ** 2 + (v["z"] > 0)),
    "frozen and detached": ("frozen(z[n,d]) * detach(z[n,d])", "[n,d]", lambda v: v["z"] ** 2),
    "cross entropy": ("cross_entropy[d](z[0,d], which)", "", lambda v: entropy(v)),
    "a nested index of the same name": ("z[0,d] / sum[d](z[0,d]^2)", "[d]", lambda v: normed(v["z"][:, 0])),
}


def distances(v: Any) -> Any:
    n, m = ROW[:, None, None], ROW[None, :, None]
    return -v * (n - 2 * m) + np.abs(n - m)


def before(row: Any) -> Any:
    return np.stack([row[:, :n].mean(1) if n else np.zeros(2) for n in range(5)], 1)


def logsumexp_before(row: Any) -> Any:
    return np.stack([logsumexp(row[:, :n], 1) if n else np.zeros(2) for n in range(5)], 1)


def entropy(v: Any) -> Any:
    logits = v["z"][:, 0]
    return logsumexp(logits, 1) - logits[np.arange(2), v["which"]]


def normed(row: Any) -> Any:
    return row / (row**2).sum(-1, keepdims=True)


@pytest.mark.parametrize("name", CASES)
def test_meaning(name: str) -> None:
    right, left, expected = CASES[name]
    found, values = let(right, left)
    np.testing.assert_allclose(found, expected(values), rtol=1e-10, atol=1e-10)


def test_functions_of_the_file() -> None:
    net = network(
        HEAD
        + """
fn squash(u) = tanh(s * u) + u^2
fn norm[e](u) = v[e] * layernorm[e](u)
let a[n,d] = squash(z[n,d])
let b[n,d] = squash'(z[n,d])
let c[n,d] = norm[d](x[n,d])
fn two(u, w) = u * w
let f[n,d] = two(z[n,d], x[n,d])
"""
    )
    v = inputs(net)
    a, b, c, f = (value(net, net.lets[name].node, v) for name in "abcf")
    np.testing.assert_allclose(a, np.tanh(v["s"] * v["z"]) + v["z"] ** 2)
    np.testing.assert_allclose(b, v["s"] * (1 - np.tanh(v["s"] * v["z"]) ** 2) + 2 * v["z"])
    np.testing.assert_allclose(c, v["v"] * layernorm(v["x"]))
    np.testing.assert_allclose(f, v["z"] * v["x"])


def test_an_energy_with_indices_is_a_family() -> None:
    net = network(HEAD + "energy each[n] = sum[d](z[n,d] * x[n,d])")
    v = inputs(net)
    term = net.terms["each"]
    np.testing.assert_allclose(value(net, term.family, v), (v["z"] * v["x"]).sum(-1))
    np.testing.assert_allclose(value(net, term.node, v), (v["z"] * v["x"]).sum((1, 2)))
    assert term.indices == ("n",)


def test_a_product_with_its_sum_is_one_einsum_and_padding_leaves_no_condition() -> None:
    net = network(HEAD + "let a[i in N] = sum[p in D](v[p] * where(0 <= i + p - 1 < N, x[i + p - 1, 0], 0))")
    from energyc.mathematics.ir import Einsum, Indicator

    node = net.lets["a"].node
    assert isinstance(node, Einsum)
    assert sum(isinstance(o.node, Indicator) for o in node.operands) == 2  # the window and the fixed position


def test_a_sum_of_five_thousand_terms() -> None:
    from fractions import Fraction

    from energyc.language.diagnostics import Span
    from energyc.language.resolve.context import Scope
    from energyc.language.resolve.read import read_real
    from energyc.language.resolve.terms import Frame, Scalar
    from energyc.language.syntax import ast

    here = Span(0, 0)
    expr: ast.Expr = ast.Number(here, Fraction(1), "1")
    for _ in range(5000):
        expr = ast.Binary(here, "+", expr, ast.Number(here, Fraction(1), "1"))
    total = read_real(Scope(None, Frame("test", here)), expr)  # type: ignore[arg-type]
    assert isinstance(total, Scalar) and total.coefficient.value == 5001
