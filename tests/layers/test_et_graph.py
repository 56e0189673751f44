"""The Energy Transformer on graphs (Hoover et al. 2023, appendix F): stacked blocks, a weighted adjacency, noise."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

import energyc
from tests.layers.judging import Tensors, by_autograd, close, drawn, randomised

SPEC = Path(__file__).parents[2] / "specs" / "et_graph.energy"
TINY = {"M": 4, "F": 3, "D": 4, "H": 2, "Y": 3, "K": 5, "E": 2, "L": 2, "T": 3, "Z": 2}


def tiny() -> Any:
    net = energyc.load(SPEC, dims=TINY, settings={"block.relax.step": 0.3}, dtype=torch.float64)
    randomised(net, 0.6)
    return net


def energy(p: Tensors, g: Tensor, weight: Tensor, joined: Tensor) -> Tensor:
    query, key = (torch.einsum("yhd,bnd->bhny", p[name], g) for name in ("W_q", "W_k"))
    scores = p["beta"] * weight * (query @ key.transpose(2, 3))
    attention = torch.zeros((), dtype=g.dtype)
    for sample in range(len(g)):  # node by node: one without neighbours adds nothing
        for node in range(g.shape[1]):
            neighbours = [m for m in range(g.shape[1]) if m != node and bool(joined[sample, node, m])]
            if neighbours:
                attention = attention - scores[sample, :, node, neighbours].logsumexp(1).sum() / p["beta"]
    return attention - 0.5 * F.relu(g @ p["xi"].T).square().sum()


def transcribed(p: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
    embedded = clamps["feature"] @ p["W_in"] + p["b_in"]
    cls = p["CLS"].expand(len(embedded), 1, -1)
    x = torch.cat([cls, embedded], 1) + clamps["eig"] @ p["W_pos"] + p["b_pos"]
    weight = F.conv2d((x @ x.transpose(1, 2))[:, None], p["conv"][:, None], padding=1)
    for copy in range(2):
        own = {name.partition(".")[2]: value[copy] for name, value in p.items() if name.startswith("block.")}
        for _ in range(3):
            g = own["gamma"] * F.layer_norm(x, x.shape[-1:]) + own["delta"]
            (slope,) = torch.autograd.grad(energy(own, g, weight, clamps["adj"] == 1), g, create_graph=True)
            x = x - 0.3 * slope
    logits = x[:, 0] @ p["W_out"] + p["b_out"]
    return F.cross_entropy(logits, targets["label"], reduction="none")


@pytest.mark.slow
def test_without_noise_it_is_the_transcription() -> None:
    net = tiny()
    assert net.rules == ("bptt",)  # where steps are numbered nothing rests
    net.eval()
    clamps, targets = drawn(net)
    costs, expected = by_autograd(net, transcribed, clamps, targets)
    found = net.gradients(clamps, targets)
    torch.testing.assert_close(found.cost, costs, rtol=0, atol=1e-9)
    close(found.params, expected, 1e-9)


def test_noise_is_drawn_while_training_from_torchs_seed() -> None:
    net = tiny()
    clamps, _ = drawn(net)
    quiet = net.eval().relax(clamps).states["block.x"]
    draws = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        draws.append(net.train().relax(clamps).states["block.x"])
    torch.testing.assert_close(draws[0], draws[1], rtol=0, atol=0)
    assert float((draws[0] - draws[2]).abs().max()) > 1e-3 < float((draws[0] - quiet).abs().max())
