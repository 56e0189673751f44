"""Plain steps beside a recurrence written out: all states move at once."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import energyc
from energyc.runtime.tensors.states import unshared
from tests.emit.kernels import needs_compiler

#: Forces that are entries of a state as they are, of one that stands before and of one that stands behind.
LENT = """\
network lent
dim N = 4, M = 3
clamp x[N]
state u[N], v[N], w[M]
start u[i] = x[i]
energy well = 1/2 * sum[i](u[i]^2)
force all on v[i] = u[i]
force some on w[i] = u[i + 1]
relax { step = 1/4, steps = 5 }
readout o[i] = v[i]
target t[N]
cost c = 1/2 * sum[i]((o[i] - t[i])^2) + sum[i](w[i]^2)
train { rule = bptt }
"""


@pytest.mark.parametrize("target", ["torch", pytest.param("cpp", marks=needs_compiler)])
def test_a_force_that_is_a_state_is_that_before_the_step(target: str) -> None:
    net: Any = energyc.load(LENT, target=target, dtype=torch.float64)
    u = torch.arange(1.0, 9.0, dtype=torch.float64).reshape(2, 4)
    found = net.relax({"x": u}, steps=5).states
    v, w = torch.zeros_like(u), torch.zeros_like(u[:, 1:])
    for _ in range(5):
        u, v, w = u - u / 4, v + u / 4, w + u[:, 1:] / 4
    for name, expected in {"u": u, "v": v, "w": w}.items():
        torch.testing.assert_close(found[name], expected, rtol=1e-12, atol=1e-12)


def test_a_force_has_memory_of_its_own() -> None:
    """A copy of what is a state, or some of its entries; all else stays what it is."""
    u, v = torch.arange(4.0)[None], torch.ones(1, 3)
    own = 2 * v
    found = unshared([u, u[:, 1:], u.expand(2, 4), own], [u, v])
    for x in (u, v):
        x.add_(1)
    assert found[0].tolist() == [[0, 1, 2, 3]] and found[1].tolist() == [[1, 2, 3]]
    assert found[2].tolist() == [[0, 1, 2, 3]] * 2 and found[3] is own


@pytest.mark.parametrize("target", ["torch", pytest.param("cpp", marks=needs_compiler)])
def test_so_is_its_gradient(target: str) -> None:
    """Beside differences of the cost by the input."""
    net: Any = energyc.load(LENT, target=target, dtype=torch.float64)
    x, t = torch.full((1, 4), 0.3, dtype=torch.float64), torch.ones(1, 4, dtype=torch.float64)

    def cost(x: torch.Tensor) -> float:
        return float(net.gradients({"x": x}, {"t": t}, steps=5).cost.sum())

    given = x.clone().requires_grad_()
    out = net({"x": given}, rule="bptt")["o"]
    (0.5 * (out - t).square().sum()).backward()
    assert given.grad is not None
    for k in range(4):
        along = 1e-6 * torch.eye(4, dtype=torch.float64)[k]
        w = lambda x: float(net.relax({"x": x}, steps=5).states["w"].square().sum())  # noqa: E731
        apart = (cost(x + along) - w(x + along) - cost(x - along) + w(x - along)) / 2e-6
        assert abs(float(given.grad[0, k]) - apart) < 1e-7
