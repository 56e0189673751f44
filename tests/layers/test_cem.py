"""The shipped CEM beside a transcription, and beside what it is a form of: tied attention and a gated MLP."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import silu

import energyc
from tests.layers import cem
from tests.layers.judging import agree, drawn, randomised
from tests.quick import few

SPEC = Path(__file__).parents[2] / "specs" / "cem.energy"
TINY = {"J": 5, "D": 4, "K": 2, "R": 3, "M": 6, "Ra": 2, "Rm": 2, "L": 2}


def tiny(**settings: object) -> Any:
    net = energyc.load(SPEC, dims=TINY, settings=settings, dtype=torch.float64)
    randomised(net, 0.7)
    return net


@pytest.mark.slow
def test_the_gradient_through_all_steps_is_that_of_the_transcription() -> None:
    agree(tiny(), cem.costs)


@pytest.mark.parametrize("number", few([0, 1], [1]))
def test_the_flows_are_preconditioned_slopes_of_the_energies(number: int) -> None:
    net = tiny()
    clamps, _ = drawn(net)
    p = {name: param.detach() for name, param in net.params.items()}
    x = torch.randn(3, 5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    layer, inside = net.layer("attention", clamps, number)
    own, context = cem.of(p, "attention", number), inside["n1"]
    copies = cem.rms(x, own["g_u"])[:, None].expand(-1, 2, -1, -1).clone().requires_grad_()
    energy = cem.attention_energy(own, copies, context)
    (slope,) = torch.autograd.grad(energy.sum(), copies)
    metric = cem.preconditioner(own["P_p"], own["P_u"], own["P_v"])
    torch.testing.assert_close(layer.energy({"x": x}, inside), energy.detach(), rtol=0, atol=1e-12)
    flow = -torch.einsum("kde,bkie->bid", metric, slope)
    torch.testing.assert_close(layer.force({"x": x}, inside)["x"], flow, rtol=0, atol=1e-12)
    layer, inside = net.layer("mlp", clamps, number)
    own, context = cem.of(p, "mlp", number), inside["n2"]
    u = cem.rms(x, own["g_u"]).requires_grad_()
    energy = cem.mlp_energy(own, u, context)
    (slope,) = torch.autograd.grad(energy.sum(), u)
    flow = -slope @ cem.preconditioner(own["P_p"], own["P_u"], own["P_v"]).T
    torch.testing.assert_close(layer.force({"x": x}, inside)["x"], flow, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_one_step_without_preconditioner_is_tied_attention_and_a_gated_mlp() -> None:
    """With T = 1, P = 1 and d = 0: attention with V = K and O = Q, a gated MLP whose way down is its way up."""
    net = tiny(**{"attention.relax.steps": 1, "mlp.relax.steps": 1})
    with torch.no_grad():
        for layer in ("attention", "mlp"):
            net.params[f"{layer}.P_p"].fill_(math.log(math.e - 1) / 2)
            net.params[f"{layer}.P_v"].zero_()
        net.params["attention.diag"].zero_()
    clamps, _ = drawn(net)
    p = {name: param.detach() for name, param in net.params.items()}
    found = net.readout(net.relax(clamps).states, clamps)["logits"]
    torch.testing.assert_close(found, transformer(p, clamps["idx"]), rtol=0, atol=1e-12)


def transformer(p: dict[str, Tensor], idx: Tensor) -> Tensor:
    """The same as an ordinary transformer, by the formulas of attention and of a gated MLP."""
    here = torch.arange(idx.shape[1])
    behind = here[:, None] - here
    h = p["tok"][idx]
    for copy in range(2):
        own = cem.of(p, "attention", copy)
        n = cem.rms(h, p["g1"][copy])
        query = torch.einsum("krd,bid->bkir", own["W_q"], cem.rms(n, own["g_u"]))
        key = value = torch.einsum("krd,bjd->bkjr", own["W_k"], n)
        slopes = torch.tensor([1 / 2, 1 / 4], dtype=n.dtype)
        alibi = -slopes[:, None, None] * behind.abs()
        same = torch.eye(5, dtype=n.dtype)
        alibi = alibi + same * own["b_self"] + (1 - same) * own["b_other"]
        scores = (query @ key.transpose(2, 3)) / 2 + alibi  # the root of the model's width is 2
        weights = scores.masked_fill(behind < 0, -math.inf).softmax(3)
        x = n + torch.einsum("krd,bkir->bid", own["W_q"], weights @ value)
        own = cem.of(p, "mlp", copy)
        n = cem.rms(x, p["g2"][copy])
        up = cem.rms(n, own["g_u"]) @ own["V"].T
        h = n + (silu(up) * (n @ own["W"].T)) @ own["V"]
    return cem.rms(h, p["g_out"]) @ p["W_head"].T


@pytest.mark.slow
def test_a_later_character_changes_no_earlier_answer() -> None:
    net = tiny()
    idx = torch.randint(65, (2, 5), generator=torch.Generator().manual_seed(4))
    other = torch.cat([idx[:, :3], (idx[:, 3:] + 1) % 65], 1)
    first, second = (net.readout(net.relax({"idx": i}).states, {"idx": i})["logits"][:, :3] for i in (idx, other))
    torch.testing.assert_close(first, second, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_the_modules_at_the_papers_size_and_at_the_presets() -> None:
    small = energyc.check(SPEC, preset="small")
    whole = energyc.check(SPEC)
    assert small.ok and whole.ok
    assert (small.params, whole.params) == (72_900, 12_201_484)
