"""The shipped spec of sparse coding beside ISTA as one would write it, and its gradient beside autograd of that."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from torch import Tensor

import energyc
from energyc.running.training.feeds import Batch
from energyc.studies.verify import random_probe
from tests.specs.judging import SPECS

SETTINGS = {"relax.tolerance": 1e-13, "relax.steps": 2000, "relax.max_steps": 20000, "nudge.steps": 4000}


def ista(params: Mapping[str, Tensor], probe: Batch, steps: int) -> Tensor:
    """The code after so many steps of 1/5."""
    hidden, x = probe.clamps["hidden"][:, None], probe.clamps["x"]
    level = x.sum((2, 3)) / (1 - probe.clamps["hidden"]).sum((1, 2))[:, None]
    code, weights = x.new_zeros(len(x), len(params["W"])), params["W"]
    for _ in range(steps):
        drawn = level[:, :, None, None] + torch.einsum("ncij,bn->bcij", weights, code)
        moved = code + 1 / 5 * torch.einsum("ncij,bcij->bn", weights, (1 - hidden) ** 2 * (x - drawn))
        code = torch.nn.functional.relu(moved.abs() - params["lambda"] / 5) * moved.sign()
    return code


@pytest.mark.slow
def test_it_rests_where_ista_does_and_learns_through_it() -> None:
    rules = ["centered-ep", "implicit"]
    path = SPECS / "sparse_coding.energy"
    net = energyc.load(path, preset="verify", settings=SETTINGS, rules=rules, dtype=torch.float64, seed=2).eval()
    probe = random_probe(net, batch=3, seed=1)
    params = {name: value.detach().clone().requires_grad_() for name, value in net.params.items()}
    code, rest = ista(params, probe, 3000), net.relax(probe.clamps).states["s"]
    torch.testing.assert_close(rest, code.detach(), rtol=0, atol=1e-10)
    assert 0 < int((rest == 0).sum()) < rest.numel()
    level = probe.clamps["x"].sum((2, 3)) / (1 - probe.clamps["hidden"]).sum((1, 2))[:, None]
    drawn = level[:, :, None, None] + torch.einsum("ncij,bn->bcij", params["W"], code)
    (drawn - probe.targets["clean"]).square().mean((1, 2, 3)).mean().backward()
    for rule, tolerance in (("implicit", 1e-9), ("centered-ep", 1e-5)):
        found = net.gradients(probe.clamps, probe.targets, rule=rule, beta=1e-3 if rule == "centered-ep" else None)
        for name, value in params.items():
            assert value.grad is not None
            torch.testing.assert_close(found.params[name], value.grad, rtol=0, atol=tolerance)
