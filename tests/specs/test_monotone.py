"""The shipped monotone network beside that of Winston and Kolter (2020) by hand, and its gradient by autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

import energyc
from energyc.studies.verify import random_probe
from tests.drawing import seeds
from tests.specs.judging import SPECS

PATH = SPECS / "monotone.energy"
SETTINGS = {"relax.tolerance": 1e-12, "relax.steps": 400, "relax.max_steps": 4000}


def solved(params: dict[str, Tensor], x: Tensor, start: Tensor, steps: int = 4000) -> Tensor:
    """z = relu(W z + U x + b), W = I - (m I + A^T A - B + B^T), by damped iteration from anywhere."""
    a, b = params["A"], params["B"]
    w = -(a.T @ a) + b - b.T  # m = 1
    z = start
    for _ in range(steps):
        z = (0.9 * z + 0.1 * torch.relu(z @ w.T + x @ params["U"].T + params["b"])).clone()
    return z


@pytest.mark.parametrize("seed", seeds(2))
def test_it_rests_where_the_published_layer_does(seed: int) -> None:
    """From three random starts each, with weights far out before they are put back on their sets."""
    print(f"seed {seed}")
    net = energyc.load(PATH, preset="verify", settings=SETTINGS, dtype=torch.float64, seed=seed % 2**31).eval()
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name in ("A", "B", "b"):
            net.params[name].copy_(2 * torch.randn(net.params[name].shape, generator=random, dtype=torch.float64))
        net.params["b"][:2] = torch.tensor([6.0, -6.0])  # on both sides of the kink
    net.project_params()
    params = {name: value.detach() for name, value in net.params.items()}
    assert np.linalg.norm(params["A"].numpy(), 2) <= 0.75 and np.linalg.norm(params["B"].numpy(), 2) <= 0.25
    probe = random_probe(net, batch=4, seed=1)
    rest = net.relax(probe.clamps).states["z"]
    assert 0 < int((rest == 0).sum()) < rest.numel()
    for _ in range(3):
        start = 5 * torch.rand(rest.shape, generator=random, dtype=torch.float64)
        torch.testing.assert_close(rest, solved(params, probe.clamps["x"], start), rtol=0, atol=1e-9)


def test_its_gradient_is_that_of_the_published_layer() -> None:
    """By autograd through the steps of the iteration."""
    net = energyc.load(PATH, preset="verify", settings=SETTINGS, dtype=torch.float64, rules=["implicit"]).eval()
    probe = random_probe(net, batch=4, seed=3)
    params = {name: value.detach().clone().requires_grad_() for name, value in net.params.items()}
    z = solved(params, probe.clamps["x"], torch.zeros(4, 6, dtype=torch.float64), 600)
    logits = z @ params["W_out"].T + params["b_out"]
    torch.nn.functional.cross_entropy(logits, probe.targets["label"]).backward()
    found = net.gradients(probe.clamps, probe.targets, rule="implicit")
    for name, value in params.items():
        assert value.grad is not None
        torch.testing.assert_close(found.params[name], value.grad, rtol=0, atol=1e-9)
