"""Several costs and families of energies: their members and their sums, against torch written out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import energyc
from energyc.surfaces.cli.main import main
from tests.resolve.helpers import codes

SPEC = """
network several
dim D = 4, K = 3, H = 40
clamp x[D]
target t[D]
param W[K, D, D] ~ normal(1), g[D] = 1/3
const weight = 1/10
state z[D]
energy leak = 1/2 * sum[d](z[d]^2) - sum[d](g[d] * x[d] * z[d])
energy att[k] = -1/K * sum[d,e](W[k,d,e] * tanh(z[d]) * tanh(z[e]))
energy pair[k in K, l in K] = (k + 2 * l) * (z[0] + z[1]) / 9
energy wide[h in H] = cos(h) * sum[d](x[d] * z[d]) / H
readout out[d] = z[d]
cost fit = 1/2 * sum[d]((z[d] - t[d])^2)
cost size = weight * sum[d](abs(z[d])) + 0.01 * sum[k,d,e](W[k,d,e]^2)
metric err = sum[d](abs(z[d] - t[d]))
relax { step = 1/4, steps = 30 }
"""


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = tmp_path_factory.mktemp("spec") / "several.energy"
    path.write_text(SPEC)
    return energyc.load(path, dtype=torch.float64, seed=3)


def drawn(seed: int = 0) -> tuple[dict[str, Tensor], dict[str, Tensor], dict[str, Tensor]]:
    random = torch.Generator().manual_seed(seed)
    z, x, t = torch.randn(3, 5, 4, generator=random, dtype=torch.float64)
    return {"z": z}, {"x": x}, {"t": t}


def attention(net: Any, z: Tensor) -> Tensor:
    return -torch.einsum("kde,bd,be->bk", net.params["W"].detach(), z.tanh(), z.tanh()) / 3


def test_members_of_a_family(net: Any) -> None:
    states, clamps, _ = drawn()
    terms, expected = net.terms(states, clamps), attention(net, states["z"])
    pairs = [f"pair[{k},{m}]" for k in range(3) for m in range(3)]
    assert list(terms) == ["leak", *(f"att[{k}]" for k in range(3)), *pairs, "wide"]
    for k in range(3):
        torch.testing.assert_close(terms[f"att[{k}]"], expected[:, k], rtol=0, atol=1e-12)
    torch.testing.assert_close(terms["pair[1,2]"], 5 * states["z"][:, :2].sum(1) / 9, rtol=0, atol=1e-12)
    torch.testing.assert_close(sum(terms.values()), net.energy(states, clamps), rtol=0, atol=1e-12)


def test_a_family_by_its_name(net: Any) -> None:
    states, clamps, _ = drawn()
    terms, families = net.terms(states, clamps), net.families(states, clamps)
    torch.testing.assert_close(terms["att"], attention(net, states["z"]).sum(1), rtol=0, atol=1e-12)
    assert {name: tuple(members.shape) for name, members in families.items()} == {
        "att": (5, 3),
        "pair": (5, 3, 3),
        "wide": (5, 40),
    }
    torch.testing.assert_close(families["wide"].sum(1), terms["wide"], rtol=0, atol=1e-12)
    with pytest.raises(KeyError):
        terms["nothing"]


def test_each_cost_and_their_sum(net: Any) -> None:
    at = drawn()
    z, t = at[0]["z"], at[2]["t"]
    fit = (z - t).square().sum(1) / 2
    size = 0.1 * z.abs().sum(1) + 0.01 * net.params["W"].detach().square().sum()
    costs = net.costs(*at)
    assert list(costs) == ["fit", "size"] and list(net.metrics(*at)) == ["fit", "size", "err"]
    torch.testing.assert_close(costs["fit"], fit, rtol=0, atol=1e-12)
    torch.testing.assert_close(costs["size"], size, rtol=0, atol=1e-12)
    torch.testing.assert_close(net.cost(*at), fit + size, rtol=0, atol=1e-12)
    answers = net.answers(*at)
    torch.testing.assert_close(answers.cost, answers.metrics["fit"] + answers.metrics["size"], rtol=0, atol=1e-12)


def test_training_lowers_the_sum(net: Any) -> None:
    """Backpropagation through the steps, written out, of the mean of both costs."""
    _, clamps, targets = drawn()
    W, g = (net.params[name].detach().clone().requires_grad_() for name in ("W", "g"))
    z = torch.zeros(5, 4, dtype=torch.float64, requires_grad=True)
    places = torch.arange(40, dtype=torch.float64)
    for _ in range(30):
        energy = (z.square() / 2 - g * clamps["x"] * z).sum() + places.cos().sum() / 40 * (clamps["x"] * z).sum()
        energy = energy - torch.einsum("kde,bd,be->", W, z.tanh(), z.tanh()) / 3 + 27 * z[:, :2].sum() / 9
        z = z - torch.autograd.grad(energy, z, create_graph=True)[0] / 4
    fit = (z - targets["t"]).square().sum(1) / 2
    cost = (fit + 0.1 * z.abs().sum(1) + 0.01 * W.square().sum()).mean()
    found = net.gradients(clamps, targets, rule="bptt").params
    for name, expected in zip(("W", "g"), torch.autograd.grad(cost, [W, g]), strict=True):
        torch.testing.assert_close(found[name], expected, rtol=0, atol=1e-9)


def test_one_cost_is_called_cost(tmp_path: Path) -> None:
    path = tmp_path / "one.energy"
    path.write_text(SPEC.replace("cost size", "metric size"))
    one, at = energyc.load(path, dtype=torch.float64, seed=3), drawn()
    assert list(one.costs(*at)) == ["cost"] and list(one.metrics(*at)) == ["size", "err"]


def test_check_reports_the_class_of_each_member() -> None:
    """One member jumps; the others are gradients by themselves."""
    spec = SPEC.replace("energy att[k] =", "energy att[k] = where(k == 1, sum[d](where(z[d] > 0, 1, 0)), 0)")
    terms = {term["name"]: term for term in energyc.check(spec).to_json()["terms"]}
    assert [member["class"] for member in terms["att"]["members"]] == ["conservative", "undecided", "conservative"]
    assert terms["att"]["class"] == "undecided" and len(terms["pair"]["members"]) == 9
    assert "members" not in terms["wide"] and "members" not in terms["leak"]


def test_a_family_of_costs_is_refused() -> None:
    assert codes(SPEC.replace("cost size =", "cost size[l in K] =")) == ["E0431"]


@pytest.mark.slow
def test_a_run_reports_each_cost(tmp_path: Path) -> None:
    digits = """
network two
dim I = 64, K = 10
data digits = digits(side = 8)
clamp x[I] = digits.image
target label : K = digits.label
param W[I, K] ~ glorot
state y[K] in [0, 1]
energy e = 1/2 * sum[k](y[k]^2) - sum[i,k](x[i] * W[i,k] * y[k])
readout scores[k] = y[k]
cost mse = 1/2 * sum[k]((y[k] - where(k == label, 1, 0))^2)
cost decay = 0.01 * sum[i,k](W[i,k]^2)
relax { steps = 2 }
train { rule = bptt, optimizer = sgd, lr = 0.1, batch = 8, best = decay, products = none }
"""
    (tmp_path / "two.energy").write_text(digits)
    run = tmp_path / "run"
    assert main(["train", str(tmp_path / "two.energy"), "--steps", "2", "--out", str(run), "--quiet"]) == 0
    rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    first, *_, last = [row for row in rows if row["kind"] == "eval"]
    assert last["decay"] < first["decay"]
    assert last["cost"] == pytest.approx(last["mse"] + last["decay"], rel=1e-5)
