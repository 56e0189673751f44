"""A force that no state moves: its products by states are zero, and steps are taken back through it."""

from __future__ import annotations

import pytest
import torch

import energyc
from tests.emit.kernels import needs_compiler

TEXT = """network n
dim N = 3
clamp x[N]
target y[N]
param a[N] = 1
state z[N]
start z[n] = a[n]
energy e = sum[n](x[n] * z[n])
readout out[n] = z[n]
cost c = sum[n]((out[n] - y[n])^2)
relax { step = 0.1, steps = 3 }
train { rule = bptt }
"""


@pytest.mark.parametrize("target", ["torch", pytest.param("cpp", marks=(needs_compiler, pytest.mark.slow))])
def test_steps_of_a_constant_force_are_taken_back(target: str) -> None:
    net = energyc.load(TEXT, dtype=torch.float64, target=target)
    generator = torch.Generator().manual_seed(3)
    x, y = (torch.randn(4, 3, generator=generator, dtype=torch.float64) for _ in range(2))
    found = net.gradients({"x": x}, {"y": y}, rule="bptt")
    out = 1 - 0.3 * x  # three steps of 0.1 down the energy
    torch.testing.assert_close(found.params["a"], (2 * (out - y)).mean(0), rtol=1e-12, atol=1e-12)


def test_the_jacobian_of_a_constant_force_is_zero() -> None:
    net = energyc.load(TEXT.replace("bptt", "implicit"), dtype=torch.float64)
    ones = torch.ones(2, 3, dtype=torch.float64)
    found = net.relax({"x": ones})
    torch.testing.assert_close(found.states["z"], 1 - 0.3 * ones, rtol=1e-12, atol=1e-12)
