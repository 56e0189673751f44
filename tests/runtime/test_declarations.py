"""What a generated class declares, what becomes of it, and the pullbacks that it leaves to autograd."""

from __future__ import annotations

import math
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

import energyc
from energyc import runtime as rt
from energyc.runtime.equations.by_autograd import clamp_gradient, readout_vjp, start_vjp
from energyc.runtime.equations.equations import Equations
from energyc.runtime.equations.records import rows_of
from energyc.runtime.tensors.functions import silu_integral, softplus

SPEC = """
network small
dim I = 5
dim N = 4
dim K = 3
clamp x[I]
target y : K
param W[I, N] ~ normal(1/2 / sqrt(I)), V[N, K] ~ normal(1/sqrt(N)), b[N] ~ uniform(sqrt(1/N))
state s[N] in [0, 1]
start s[n] = 1/2 * b[n]
energy leak = 1/2 * sum[n](s[n]^2)
energy drive = -sum[i,n](x[i] * W[i,n] * s[n])
readout out[k] = sum[n](V[n,k] * s[n]) + sum[n,i](W[i,n] * V[n,k] * x[i])
cost ce = cross_entropy[k](out[k], y)
relax { step = 0.5, steps = 7, tolerance = 1e-3 }
nudge { beta = 0.1, steps = 4 }
train { rule = centered-ep }
"""


def small() -> energyc.EnergyNetwork:
    return energyc.load(SPEC, dtype=torch.float64)


def test_spaces_and_settings_are_attributes_of_a_network() -> None:
    net = small()
    assert net.state_shapes == {"s": (4,)}
    assert net.state_sets == {"s": rt.Box((4,), 0, 1)}
    assert net.clamp_shapes == {"x": ((5,), None)}
    assert net.target_shapes == {"y": ((), 3)}
    assert (net.relax_steps, net.relax_step, net.relax_tolerance) == (7, (0.5,), 1e-3)
    assert (net.beta, net.nudge_steps) == (0.1, 4)
    assert net.rules[0] == "centered-ep" and "implicit" in net.rules
    net.relax_steps = 3
    assert (net.relax_steps, type(net).relax_steps) == (3, 7)


def test_an_unknown_setting_is_an_error() -> None:
    with pytest.raises(TypeError, match="Relax has no setting 'stpes'"):
        rt.Relax(stpes=3)


def test_rows_of_what_is_fixed() -> None:
    class Fixed(NamedTuple):
        x: Tensor
        scale: Tensor
        _shared = ("scale",)

    fixed = Fixed(torch.arange(3.0), torch.arange(3.0))
    some = rows_of(fixed, torch.tensor([2, 0]))
    assert isinstance(some, Fixed)
    assert some.x.tolist() == [2, 0] and some.scale is fixed.scale


def test_laws_are_written_as_in_the_spec() -> None:
    text = small().source
    assert "rt.draws.normal(random, (I, N), 0.5 / math.sqrt(I))" in text
    assert "rt.draws.uniform(random, (N,), -math.sqrt(0.25), math.sqrt(0.25))" not in text
    assert "math.sqrt(1 / N)" in text


def test_one_hot() -> None:
    index = torch.tensor([[2, 0], [1, 1]])
    found = rt.ops.one_hot(index, 3, 1, torch.float64)
    assert torch.equal(found, torch.nn.functional.one_hot(index, 3).transpose(1, 2).double())


@pytest.mark.parametrize(("function", "slope"), [(softplus, 0.5), (silu_integral, 0.0)])
def test_slopes_at_the_seam_of_a_stable_form(function: object, slope: float) -> None:
    u = torch.zeros((), dtype=torch.float64, requires_grad=True)
    (found,) = torch.autograd.grad(function(u), u)  # type: ignore[operator]
    assert math.isclose(float(found), slope, abs_tol=1e-12)


def test_pullbacks_by_autograd_leave_params_and_clamps_alone() -> None:
    """Frozen params have slopes all the same, and nothing that a user holds is recorded."""
    net = small()
    x = {"x": torch.rand(2, 5, dtype=torch.float64)}
    for param in net.params.values():
        param.requires_grad_(False)
    fixed, states = net._prepare(x["x"]), [torch.rand(2, 4, dtype=torch.float64)]
    with torch.no_grad():
        back, slopes = readout_vjp(net, states, fixed, [torch.ones(2, 3, dtype=torch.float64)])
        start = start_vjp(net, fixed, [torch.ones(2, 4, dtype=torch.float64)])
        clamps = clamp_gradient(net, states, fixed, [torch.ones(2, 4, dtype=torch.float64)])
    ones = torch.ones(3, dtype=torch.float64)
    W, V = net.params["W"], net.params["V"]
    assert torch.allclose(back[0], (V @ ones).expand(2, 4))
    assert torch.allclose(slopes["x"], (W @ V @ ones).expand(2, 5))
    assert torch.allclose(slopes["V"], ((states[0] + x["x"] @ W).sum(0)[:, None]).expand(4, 3))
    assert set(start) == {"b"} and torch.allclose(start["b"], torch.full((4,), 1.0, dtype=torch.float64))
    assert torch.allclose(clamps["x"], (W @ torch.ones(4, dtype=torch.float64)).expand(2, 5))
    assert isinstance(net, Equations) and not any(p.requires_grad or p.grad is not None for p in net.parameters())
