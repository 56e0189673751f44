"""Specs whose states move along a flow, beside their equations in plain torch: flows, costs, gradients of unrolls."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

import energyc
from tests.independent import Random, Tensors
from tests.specs.judging import SPECS, assert_close

BATCH = 3
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Transcription:
    """A spec at a small size: its inputs, its start, its flow, its cost, as the paper has them."""

    name: str
    dims: dict[str, int]
    steps: int
    step: float
    inputs: Callable[[Random, dict[str, int]], tuple[Tensors, Tensors]]
    start: Callable[[Tensors, Tensors], Tensor]
    flow: Callable[[Tensors, Tensors, Tensor], Tensor]
    cost: Callable[[Tensors, Tensors, Tensors, Tensor], Tensor]


def layer_norm(x: Tensor) -> Tensor:
    """Along the last axis, with the biased variance and 1e-5 inside the root."""
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()


def rms_norm(x: Tensor, eps: float) -> Tensor:
    """Along the last axis."""
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt()


def slope(energy: Tensor, by: Tensor) -> Tensor:
    """The gradient of an energy, differentiable itself."""
    return torch.autograd.grad(energy, by, create_graph=True)[0]


# -------------------------------------------------------------------- Energy Transformer, images


def et_inputs(random: Random, d: dict[str, int]) -> tuple[Tensors, Tensors]:
    """Images, a mask of patches and those of which count, at least one of them."""
    drawn = random.uniform(BATCH, d["S"] // d["P"], d["S"] // d["P"])
    drawn[:, 0, 0] = 0
    hidden, counted = (
        (drawn < share).double().repeat_interleave(d["P"], 1).repeat_interleave(d["P"], 2) for share in (0.5, 0.7)
    )
    shape = (BATCH, d["C"], d["S"], d["S"])
    return {"img": random.normal(*shape), "hidden": hidden}, {"t": random.normal(*shape), "counted": counted}


def patches(image: Tensor, side: int) -> Tensor:
    """``[batch, i, j, c, p, r]``."""
    batch, channels, size, _ = image.shape
    grid = size // side
    return image.reshape(batch, channels, grid, side, grid, side).permute(0, 2, 4, 1, 3, 5)


def et_start(p: Tensors, clamps: Tensors) -> Tensor:
    side = p["W_enc"].shape[-1]
    hidden = clamps["hidden"][:, ::side, ::side, None]
    seen = torch.einsum("dcpr,bijcpr->bijd", p["W_enc"], patches(clamps["img"], side)) + p["b_enc"]
    return hidden * p["MASK"] + (1 - hidden) * seen + p["pos"]


def et_flow(p: Tensors, clamps: Tensors, x: Tensor) -> Tensor:
    g = p["gamma"] * layer_norm(x) + p["delta"]
    tokens = g.flatten(1, 2)
    query, key = (torch.einsum("yhd,bnd->bhny", p[name], tokens) for name in ("W_q", "W_k"))
    beta = 1 / math.sqrt(query.shape[-1])
    scores = beta * query @ key.transpose(-1, -2)
    scores = scores.masked_fill(torch.eye(scores.shape[-1], dtype=torch.bool), -torch.inf)
    attention = -1 / beta * torch.logsumexp(scores, -1).sum()
    memory = -0.5 * (tokens @ p["xi"].T).relu().square().sum()
    return -slope(attention + memory, g)


def et_cost(p: Tensors, clamps: Tensors, targets: Tensors, x: Tensor) -> Tensor:
    side = p["W_enc"].shape[-1]
    g = p["gamma"] * layer_norm(x) + p["delta"]
    out = torch.einsum("dcpr,bijd->bijcpr", p["W_dec"], g) + p["b_dec"]
    miss = (out - patches(targets["t"], side)).square().mean((3, 4, 5))
    counted = targets["counted"][:, ::side, ::side]
    return (counted * miss).sum((1, 2)) / counted.sum((1, 2))


# -------------------------------------------------------------------- Energy Transformer, anomalies


def graph_inputs(random: Random, d: dict[str, int]) -> tuple[Tensors, Tensors]:
    """Edge lists with repetitions and nodes that no edge enters; each part has both kinds of node."""
    edges = {name: random.integers(BATCH, d["E"], below=d["N"]) for name in ("src", "dst")}
    anomalous = random.integers(BATCH, d["N"], below=2).double()
    anomalous[:, 0], anomalous[:, 1] = 0, 1
    scored = (random.uniform(BATCH, d["N"]) < 0.6).double()
    scored[:, :2] = 1
    return {"feature": random.normal(BATCH, d["N"], d["F"]), **edges}, {"anomalous": anomalous, "scored": scored}


def graph_start(p: Tensors, clamps: Tensors) -> Tensor:
    return clamps["feature"] @ p["W_in"] + p["lambda"]


def graph_flow(p: Tensors, clamps: Tensors, x: Tensor) -> Tensor:
    """Attention over a dense count of the edges from m into n."""
    g = p["gamma"] * layer_norm(x) + p["delta"]
    query, key = (torch.einsum("yhd,bnd->bhny", p[name], g) for name in ("W_q", "W_k"))
    scores = p["beta"] * query @ key.transpose(-1, -2)
    nodes = x.shape[1]
    into, out_of = (torch.nn.functional.one_hot(clamps[name], nodes).double() for name in ("dst", "src"))
    count = torch.einsum("ben,bem->bnm", into, out_of)[:, None]
    weighted = (scores.exp() * count).sum(-1)
    levels = torch.where(count.sum(-1) > 0, weighted, torch.ones_like(weighted)).log()
    memory = -0.5 * (g @ p["xi"].T).relu().square().sum()
    return -slope(-levels.sum() / p["beta"] + memory, g)


def graph_cost(p: Tensors, clamps: Tensors, targets: Tensors, x: Tensor) -> Tensor:
    first = p["gamma"] * layer_norm(graph_start(p, clamps)) + p["delta"]
    last = p["gamma"] * layer_norm(x) + p["delta"]
    logit = (first @ p["U0"].T + last @ p["U1"].T + p["b_u"]).relu() @ p["w"] + p["b_w"]
    label, scored = targets["anomalous"], targets["scored"]
    balance = (scored * (1 - label)).sum(1, keepdim=True) / (scored * label).sum(1, keepdim=True)
    log = torch.nn.functional.logsigmoid
    return -(scored * (balance * label * log(logit) + (1 - label) * log(-logit))).sum(1) / scored.sum(1)


# -------------------------------------------------------------------- Causal Energy Minimization


def mlp_inputs(random: Random, d: dict[str, int]) -> tuple[Tensors, Tensors]:
    return {"input": random.normal(BATCH, d["I"])}, {"output": random.normal(BATCH)}


def mlp_start(p: Tensors, clamps: Tensors) -> Tensor:
    return p["g1"] * rms_norm(clamps["input"] @ p["W_in"] + p["b_in"], 1e-6)


def mlp_flow(p: Tensors, clamps: Tensors, x: Tensor) -> Tensor:
    """Of -sum (W h) phi(V u) with phi' = silu, written out."""
    gate = mlp_start(p, clamps) @ p["W"].T
    return (gate * torch.nn.functional.silu(rms_norm(x, 1e-6) @ p["V"].T)) @ p["V"]


def mlp_cost(p: Tensors, clamps: Tensors, targets: Tensors, x: Tensor) -> Tensor:
    return ((p["g2"] * rms_norm(x, 1e-6)) @ p["W_out"] + p["b_out"] - targets["output"]).square()


def literal_inputs(random: Random, d: dict[str, int]) -> tuple[Tensors, Tensors]:
    shape = (BATCH, d["J"], d["D"])
    return {"h": random.normal(*shape)}, {"t": random.normal(*shape)}


def literal_flow(p: Tensors, clamps: Tensors, x: Tensor) -> Tensor:
    """Causal attention whose logits have a diagonal term that its values lack."""
    u, c = rms_norm(x, 1e-6), rms_norm(clamps["h"], 1e-6)
    query, value = (torch.einsum("krd,bid->bkir", p[name], z) for name, z in (("W_q", u), ("W_k", c)))
    scores = (query @ value.transpose(-1, -2) + (p["diag"] * u @ c.transpose(-1, -2))[:, None]) / math.sqrt(x.shape[-1])
    causal = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    weights = scores.masked_fill(~causal, -torch.inf).softmax(-1)
    return torch.einsum("krd,bkir->bid", p["W_q"], weights @ value)


# -------------------------------------------------------------------- deep equilibrium


def deq_inputs(random: Random, d: dict[str, int]) -> tuple[Tensors, Tensors]:
    return {"x": random.normal(BATCH, d["I"])}, {"label": random.integers(BATCH, below=d["K"])}


def deq_flow(p: Tensors, clamps: Tensors, z: Tensor) -> Tensor:
    return torch.tanh(z @ p["W"].T + clamps["x"] @ p["U"].T + p["b"]) - z


def deq_cost(p: Tensors, clamps: Tensors, targets: Tensors, z: Tensor) -> Tensor:
    return torch.nn.functional.cross_entropy(z @ p["W_out"].T + p["b_out"], targets["label"], reduction="none")


SPECS_WITH_FLOWS = (
    Transcription(
        "et_image",
        {"C": 1, "S": 6, "P": 2, "D": 8, "H": 2, "Y": 4, "K": 5},
        6,
        0.1,
        et_inputs,
        et_start,
        et_flow,
        et_cost,
    ),
    Transcription(
        "et_anomaly",
        {"N": 7, "E": 20, "F": 3, "D": 6, "H": 2, "Y": 4, "K": 5, "U": 5},
        3,
        1.0,
        graph_inputs,
        graph_start,
        graph_flow,
        graph_cost,
    ),
    Transcription("cem_mlp", {"I": 3, "D": 6, "M": 7}, 2, 1.0, mlp_inputs, mlp_start, mlp_flow, mlp_cost),
    Transcription(
        "cem_literal",
        {"J": 5, "D": 6, "K": 2, "R": 3},
        2,
        1.0,
        literal_inputs,
        lambda p, clamps: rms_norm(clamps["h"], 1e-6),
        literal_flow,
        lambda p, clamps, targets, x: (x - targets["t"]).square().mean((1, 2)),
    ),
    Transcription(
        "deq",
        {"I": 5, "D": 6, "K": 4},
        7,
        1.0,
        deq_inputs,
        lambda p, clamps: torch.zeros(BATCH, len(p["b"]), dtype=torch.float64),
        deq_flow,
        deq_cost,
    ),
)
EACH = pytest.mark.parametrize("spec", SPECS_WITH_FLOWS, ids=lambda spec: spec.name)


def compiled(spec: Transcription, random: Random) -> tuple[Any, Tensors]:
    """The compiler's network with generic params, and those as leaves of autograd."""
    net = energyc.load(SPECS / f"{spec.name}.energy", dims=spec.dims, dtype=torch.float64)
    params: Tensors = {}
    for name, param in net.params.items():
        value = random.normal(*param.shape, std=0.4)
        with torch.no_grad():
            param.copy_(value)
        params[name] = value.requires_grad_()
    return net, params


@pytest.mark.abridged(every=8)
@EACH
@pytest.mark.parametrize("seed", range(3))
def test_the_flow_is_the_papers(spec: Transcription, seed: int) -> None:
    print(f"seed {seed}")
    random = Random(seed)
    net, params = compiled(spec, random)
    clamps, _ = spec.inputs(random, spec.dims)
    (name,) = net.state_names
    start = net.start(clamps)[name]
    assert_close({name: start}, {name: spec.start(params, clamps).detach()}, TOLERANCE)
    anywhere = (start + random.normal(*start.shape)).requires_grad_()
    assert_close(
        net.force({name: anywhere.detach()}, clamps), {name: spec.flow(params, clamps, anywhere).detach()}, TOLERANCE
    )


@pytest.mark.abridged(every=5)
@EACH
@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_of_the_unroll_is_autograds(spec: Transcription, seed: int) -> None:
    print(f"seed {seed}")
    random = Random(seed)
    net, params = compiled(spec, random)
    clamps, targets = spec.inputs(random, spec.dims)
    x = spec.start(params, clamps)
    for _ in range(spec.steps):
        x = x if x.requires_grad else x.requires_grad_()
        x = x + spec.step * spec.flow(params, clamps, x)
    cost = spec.cost(params, clamps, targets, x)
    expected = dict(zip(params, torch.autograd.grad(cost.mean(), list(params.values())), strict=True))
    found = net.gradients(clamps, targets, rule="bptt", steps=spec.steps)
    assert_close({"cost": found.cost}, {"cost": cost.detach()}, TOLERANCE)
    assert_close(found.params, expected, TOLERANCE)


def test_one_step_of_cem_is_a_gated_mlp_with_tied_weights() -> None:
    spec = next(spec for spec in SPECS_WITH_FLOWS if spec.name == "cem_mlp")
    random = Random(0)
    net, p = compiled(spec, random)
    clamps, _ = spec.inputs(random, spec.dims)
    h = mlp_start(p, clamps)
    u = rms_norm(h, 1e-6)
    gated = h + (torch.nn.functional.silu(u @ p["V"].T) * (h @ p["W"].T)) @ p["V"]
    assert_close(net.relax(clamps, steps=1).states, {"x": gated.detach()}, TOLERANCE)


def test_implicit_of_a_deep_equilibrium_layer_solves_its_linear_system() -> None:
    """dC/dtheta = <(I - dG/dz)^-T dC/dz, dG/dtheta>, with dense Jacobians (Bai, Kolter and Koltun 2019, theorem 1)."""
    spec = next(spec for spec in SPECS_WITH_FLOWS if spec.name == "deq")
    random = Random(1)
    net, params = compiled(spec, random)
    clamps, targets = spec.inputs(random, spec.dims)
    z = net.relax(clamps, steps=2000).states["z"].requires_grad_()
    cost = deq_cost(params, clamps, targets, z)
    (g,) = torch.autograd.grad(cost.sum(), z, retain_graph=True)
    solved = []
    for k in range(BATCH):
        one = {name: value[k : k + 1] for name, value in clamps.items()}
        jacobian = torch.autograd.functional.jacobian(
            lambda s, one=one: deq_flow(params, one, s[None])[0], z[k].detach()
        )
        solved.append(torch.linalg.solve(-jacobian.T, g[k]))
    total = (torch.stack(solved).detach() * deq_flow(params, clamps, z.detach())).sum() + deq_cost(
        params, clamps, targets, z.detach()
    ).sum()
    expected = torch.autograd.grad(total / BATCH, list(params.values()))
    found = net.gradients(clamps, targets, rule="implicit", steps=2000).params
    assert_close(found, dict(zip(params, expected, strict=True)), 1e-8)
