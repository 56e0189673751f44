"""`flow`, `next` and `grad`: what moves a state, and what is refused."""

from __future__ import annotations

import pytest
import torch

import energyc
from tests.resolve.helpers import findings

HEAD = "network n\ndim N = 3, D = 4\nclamp b[D]\nparam W[D, D] ~ normal(0.5)\nstate x[N, D], z[D]\n"
SPEC = (
    HEAD
    + "let g[n,d] = 2 * tanh(x[n,d])\nenergy e = sum[n,d](g[n,d]^2 * b[d])\n"
    + "energy rest = 1/2 * sum[d]((z[d] - b[d])^2) + sum[d,k](W[d,k] * z[d] * z[k])\n"
    + "flow x[n,d] = -1/3 * grad(e, g[n,d])\n"
)


def errors(text: str) -> list[tuple[str, str]]:
    return [(d.code, d.message) for d in findings(text) if d.severity == "error"]


def test_a_gradient_by_a_let_is_taken_by_that_let() -> None:
    net = energyc.load(SPEC, dtype=torch.float64)
    x, b, z = (
        torch.randn(2, 3, 4, dtype=torch.float64),
        torch.randn(2, 4, dtype=torch.float64),
        torch.zeros(2, 4).double(),
    )
    force = net.force({"x": x, "z": z}, {"b": b})
    torch.testing.assert_close(force["x"], -1 / 3 * 2 * (2 * x.tanh()) * b[:, None], rtol=1e-12, atol=1e-12)


def test_energies_that_no_flow_names_move_the_other_states() -> None:
    net = energyc.load(SPEC, dtype=torch.float64)
    x, z, b = (torch.randn(2, *shape, dtype=torch.float64) for shape in ((3, 4), (4,), (4,)))
    W = net.params["W"]
    slope = z - b + z @ (W + W.T)
    torch.testing.assert_close(net.force({"x": x, "z": z}, {"b": b})["z"], -slope, rtol=1e-12, atol=1e-12)


def test_a_broadcast_let_keeps_its_copies_apart() -> None:
    """A copy for each head: the gradient by one is that head's alone."""
    text = (
        "network n\ndim H = 2, D = 3\nparam W[H, D] ~ normal(1)\nstate x[D]\nlet u[h in H, d] = x[d]\n"
        "energy e = sum[h,d](W[h,d] * u[h,d]^2)\nflow x[d] = -grad(e, u[1, d])\n"
    )
    net = energyc.load(text, dtype=torch.float64)
    x = torch.randn(2, 3, dtype=torch.float64)
    torch.testing.assert_close(net.force({"x": x}, {})["x"], -2 * net.params["W"][1] * x, rtol=1e-12, atol=1e-12)


def test_next_is_a_flow_with_a_step_of_1() -> None:
    text = "network n\ndim D = 3\nclamp b[D]\nstate z[D]\nnext z[d] = tanh(z[d]) + b[d]\n"
    net = energyc.load(text, dtype=torch.float64)
    b, z = torch.randn(2, 3, dtype=torch.float64), torch.randn(2, 3, dtype=torch.float64)
    moved = net.relax({"b": b}, steps=1, states={"z": z}).states["z"]
    torch.testing.assert_close(moved, z.tanh() + b, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("lines", "code", "says"),
    [
        ("flow x[n,d] = -x[n,d]\nflow x[n,d] = x[n,d]\nforce f on z[d] = b[d]", "E0437", "has a `flow` already"),
        ("flow x[n,d] = -x[n,d]\nforce f on x[n,d] = b[d]\nforce h on z[d] = b[d]", "E0437", "a force acts on `x`"),
        (
            "energy e = sum[n,d](x[n,d]^2) + sum[d](z[d]^2)\nlet v = grad(e, z[0])",
            "E0438",
            "stands in a `flow` or `next`",
        ),
        ("energy e = sum[d](z[d]^2)\nflow x[n,d] = grad(z, x[n,d])", "E0438", "`z` is a state, not an energy"),
        ("energy e = sum[d](z[d]^2)\nflow x[n,d] = grad(e, x[n,d])", "E0438", "does not depend on `x`"),
        ("energy e = sum[d](z[d]^2)\nflow z[d] = grad(e + e, z[d])\nflow x[n,d] = 1", "E0438", "stands twice"),
        (
            "energy e = sum[d](z[d]^2)\nflow z[d] = grad(2 * e, z[d])\nflow x[n,d] = 1",
            "E0438",
            "not the name of an energy",
        ),
        ("energy e = sum[d](z[d]^2)\nflow z[d] = grad(e, W[d,d])\nflow x[n,d] = 1", "E0438", "not a let or state"),
        ("energy e = sum[n,d](x[n,d]^2)\nflow x[n,d] = -x[n,d]\nforce f on z[d] = b[d]", "E0443", "moves nothing"),
        ("flow x[n,d] = -x[n,d]", "E0442", "nothing moves state `z`"),
        ("flow b[d] = 1\nflow x[n,d] = 1\nflow z[d] = 1", "E0435", "`b` is a clamp, not a state"),
        ("flow x[n] = 1\nflow z[d] = 1", "E0304", "the left side one index"),
    ],
)
def test_what_is_refused(lines: str, code: str, says: str) -> None:
    found = errors(HEAD + lines)
    assert any(c == code and says in message for c, message in found), found
