"""A function of the file that works along an index may reduce over it."""

from __future__ import annotations

import torch

import energyc

SPEC = """
network along
dim N = 3, D = 5
clamp x[N, D]
fn unit[d](u) = u / sqrt(mean[d](u^2) + 1/1000)
fn centred[d](u) = u - sum[d](u) / D
state z[N, D]
let n[i,d] = unit[d](centred[d](z[i,d]))
energy own = 1/2 * sum[i,d]((z[i,d] - x[i,d])^2)
energy shape = sum[i,d](n[i,d] * x[i,d])
readout out[i,d] = n[i,d]
"""


def test_reductions_in_a_body_run_over_the_arguments_index() -> None:
    net = energyc.load(SPEC, dtype=torch.float64, rules=["implicit"])
    random = torch.Generator().manual_seed(3)
    z = torch.randn(4, 3, 5, generator=random, dtype=torch.float64, requires_grad=True)
    x = torch.randn(4, 3, 5, generator=random, dtype=torch.float64)
    c = z - z.mean(-1, keepdim=True)
    n = c / (c.square().mean(-1, keepdim=True) + 1e-3).sqrt()
    energy = (z - x).square().sum((1, 2)) / 2 + (n * x).sum((1, 2))
    (slope,) = torch.autograd.grad(energy.sum(), z)
    torch.testing.assert_close(net.readout({"z": z.detach()}, {"x": x})["out"], n.detach(), rtol=1e-9, atol=1e-12)
    torch.testing.assert_close(net.force({"z": z.detach()}, {"x": x})["z"], -slope, rtol=1e-9, atol=1e-12)
