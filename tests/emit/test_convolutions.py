"""Products of windows that are written as convolutions, against the interpreter."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import energyc
from tests.emit.judge import disagreements, judged, resolved

SPEC = """network conv
dim C = 2, S = {size}, P = {kernel}, O = 3, U = {count}
clamp x[C, S, S]
param W[{weights}] ~ normal(0.3)
param b[O] ~ normal(0.3)
state z[C, S, S], y[O, U, U]
let a[{out}] = sum[c,p in P,q in P](W[{weight}] * z[c, {row}, {column}]) + b[o]
energy rest = 1/2 * sum[c,i,j](z[c,i,j]^2) + 1/2 * sum[o,u,v](y[o,u,v]^2) - sum[c,i,j](x[c,i,j] * z[c,i,j])
energy conv = -sum[o,u,v](y[o,u,v] * tanh(a[{read}]))
readout answer[o,u,v] = y[o,u,v]
cost c0 = 1/2 * sum[o,u,v](y[o,u,v]^2)
"""
OIHW = {"weights": "O, C, P, P", "weight": "o,c,p,q"}
HWIO = {"weights": "P, P, C, O", "weight": "p,q,c,o"}
CHANNELS_FIRST = {"out": "o, u in U, v in U", "read": "o,u,v"}
CHANNELS_LAST = {"out": "u in U, v in U, o", "read": "u,v,o"}
UNIT = {"size": 7, "kernel": 3, "count": 5, "row": "u + p", "column": "v + q"}
DILATED = {"size": 9, "kernel": 3, "count": 5, "row": "u + 2*p", "column": "v + 2*q"}
STRIDED = {"size": 9, "kernel": 5, "count": 3, "row": "2*u + p", "column": "2*v + q"}
TURNED = {"size": 7, "kernel": 3, "count": 5, "row": "v + p", "column": "u + q"}
LOOSE = {"size": 9, "kernel": 2, "count": 3, "row": "2*u + p", "column": "2*v + q"}
SHORT = {"size": 8, "kernel": 3, "count": 5, "row": "u + p", "column": "v + q"}
SHIFTED = {"size": 8, "kernel": 3, "count": 5, "row": "u + p + 1", "column": "v + q + 1"}


@pytest.mark.abridged(every=10)
@pytest.mark.parametrize("layout", [CHANNELS_FIRST, CHANNELS_LAST])
@pytest.mark.parametrize("kernel", [OIHW, HWIO])
@pytest.mark.parametrize(
    ("windows", "forward", "backward"),
    [
        (UNIT, True, True),
        (DILATED, True, True),
        (STRIDED, True, False),
        (TURNED, True, True),
        (LOOSE, False, False),
        (SHORT, False, False),
        (SHIFTED, False, False),
    ],
    ids=["unit", "dilated", "strided", "turned", "loose", "short", "shifted"],
)
def test_convolution(
    layout: dict[str, str], kernel: dict[str, str], windows: dict[str, object], forward: bool, backward: bool
) -> None:
    network = resolved(SPEC.format(**windows, **layout, **kernel))
    j = judged(network, np.random.default_rng(0))
    force = j.module.source.split("def _force(")[1].split("def _readouts(")[0]
    assert ("functional.conv2d(" in force, "functional.conv_transpose2d(" in force) == (forward, backward)
    assert ("conv2d_weight(" in j.module.source) == forward
    assert disagreements(j) == {}


def test_one_dimension() -> None:
    text = """network line
dim C = 2, T = 12, P = 6, O = 3, U = T - P + 1
clamp x[C, T]
param W[O, C, P] ~ normal(0.3)
state z[C, T]
let a[o, u in U] = sum[c,p](W[o,c,p] * z[c, u + p])
energy fit = 1/2 * sum[c,t]((z[c,t] - x[c,t])^2) + sum[o,u](softplus(a[o,u]))
readout answer[c,t] = z[c,t]
cost c0 = 1/2 * sum[c,t](z[c,t]^2)
"""
    j = judged(resolved(text), np.random.default_rng(0))
    assert "functional.conv1d(" in j.module.source
    assert "functional.conv_transpose1d(" in j.module.source
    assert disagreements(j) == {}


def test_axes_with_strides_of_their_own() -> None:
    text = """network oblong
dim C = 2, S = 9, T = 7, P = 5, O = 3, U = 3
clamp x[C, S, T]
param W[O, C, P, P] ~ normal(0.3)
state z[C, S, T]
let a[o, u in U, v in U] = sum[c,p,q](W[o,c,p,q] * z[c, 2*u + p, v + q])
energy fit = 1/2 * sum[c,s,t]((z[c,s,t] - x[c,s,t])^2) + sum[o,u,v](softplus(a[o,u,v]))
readout answer[c,s,t] = z[c,s,t]
cost c0 = 1/2 * sum[c,s,t](z[c,s,t]^2)
"""
    j = judged(resolved(text), np.random.default_rng(0))
    assert "stride=(2, 1)" in j.module.source
    assert disagreements(j) == {}


def test_a_narrow_product_of_params_summed_over_their_first_axes() -> None:
    text = """network gram
dim N = 6, I = 40, J = 3
clamp x[I]
param A[N, I], B[N, J] ~ normal(0.3)
state z[I]
let g[i,j] = sum[n](A[n,i] * B[n,j])
energy fit = 1/2 * sum[i]((z[i] - x[i])^2) + sum[i,j](softplus(g[i,j] * z[i]))
readout answer[i] = z[i]
cost c0 = 1/2 * sum[i](z[i]^2)
"""
    j = judged(resolved(text), np.random.default_rng(0))
    assert "self.A.T @ self.B" in j.module.source
    assert disagreements(j) == {}


CUBES = """network cubes
dim G = 3, P = 2, S = 6
clamp x[G]
param W[P, P, P] ~ normal(1)
state z[G, G, G], y[S, S, S]
energy rest = 1/2 * sum[i,j,k](z[i,j,k]^2) + 1/2 * sum[u,v,w](y[u,v,w]^2)
energy seen = -sum[i,j,k,p,q,r](x[i] * z[i,j,k] * W[p,q,r] * y[P*i+p, P*j+q, P*k+r])
"""


def test_windows_of_several_axes_are_one_call_with_the_slopes_of_autograd() -> None:
    net = energyc.load(CUBES, target="torch", dtype=torch.float64, seed=0)
    assert "rt.ops.windows(y, (1, 2, 3), 0, (G, P), (P, 1))" in net.source and "(S, S), 0, (P, 1))" in net.source
    generator = torch.Generator().manual_seed(0)
    x, z, y = (torch.randn(2, *n, dtype=torch.float64, generator=generator) for n in ((3,), (3, 3, 3), (6, 6, 6)))
    found = net.force({"z": z, "y": y}, {"x": x})
    places = (z.requires_grad_(), y.requires_grad_())
    windows = y.unfold(1, 2, 2).unfold(2, 2, 2).unfold(3, 2, 2)
    seen = torch.einsum("bi,bijk,pqr,bijkpqr->", x, z, net.params["W"].detach(), windows)
    slopes = torch.autograd.grad(0.5 * z.square().sum() + 0.5 * y.square().sum() - seen, places)
    for name, slope in zip(("z", "y"), slopes, strict=True):
        assert torch.allclose(found[name], -slope, rtol=0, atol=1e-9), name
