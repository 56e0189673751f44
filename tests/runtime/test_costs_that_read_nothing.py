"""A cost that neither states nor params reach: every rule finds a gradient of zeros."""

from __future__ import annotations

import torch

import energyc


def test_a_cost_that_nothing_reaches() -> None:
    net = energyc.load(
        """
network apart
dim D = 3
clamp x[D]
target y[D]
param w[D] ~ normal(1)
state z[D]
energy e = 1/2 * sum[d]((z[d] - w[d] * x[d])^2)
readout o[d] = x[d]
cost c = sum[d]((o[d] - y[d])^2)
"""
    )
    for rule in net.rules:
        found = net.gradients({"x": torch.ones(4, 3)}, {"y": torch.zeros(4, 3)}, rule=rule)
        assert not found.params["w"].any() and found.cost.tolist() == [3.0] * 4, rule
