"""Layers nudged one by one, beside autograd through every step of a transcription, in float64.

Phases settle to about 1e-8 in 400 steps; what a nudge of beta adds is of order beta^2, that of a circle of order r^4.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

import energyc
from energyc.language.diagnostics import Source, UserError
from energyc.pipeline import emit, resolve
from energyc.surfaces.report.check import check_source
from tests.layers.judging import Tensors, by_autograd, close, drawn, randomised
from tests.layers.test_one_layer import ONE
from tests.layers.test_one_layer import transcribed as of_one
from tests.layers.test_repeat import STREAM, streamed

#: S is read by both layers and by what is between them; a let of a layer is read outside, and reads a param there.
TURNED = """
dim I = 3, D = 4, K = 2, L = 2
clamp x[I]
target y[K]
param V[D, I], U[K, D], S[D, D] ~ normal(0.5)
layer first {
  param b[D] ~ normal(0.5)
  state z[D]
  energy well = 1/2 * sum[d]((z[d] - sum[i](V[d,i] * x[i]))^2)
  force turn on z[d] = tanh(sum[e](S[d,e] * z[e]) + b[d])
  relax { step = 0.3, steps = 400 }
  nudge { steps = 400 }
}
repeat L {
  param g[D] = 1
  state h[D]
  start h[d] = first.z[d] + sum[e](S[d,e] * first.z[e])
  layer cell {
    param W[D, D] ~ normal(0.5)
    state z[D], w[D]
    let n[d] = g[d] * rmsnorm[d](z[d])
    start z[d] = h[d]
    energy well = 1/2 * sum[d]((z[d] - h[d])^2) + 1/2 * sum[d]((w[d] - z[d])^2)
    force turn on z[d] = tanh(sum[e](W[d,e] * n[e])) + 0.3 * sum[e](S[e,d] * w[e])
    relax { step = 0.3, steps = 400 }
    nudge { steps = 400 }
  }
  next h[d] = h[d] + cell.n[d] + cell.w[d]
}
readout out[k] = sum[d](U[k,d] * h[d])
cost c = 1/2 * sum[k]((out[k] - y[k])^2)
"""
ANY = ("aep", "tracking-aep", "adjoint", "holomorphic-aep", "dyadic-ep")


def turned_out(p: Tensors, x: Tensor) -> Tensor:
    drive = x @ p["V"].T
    z = torch.zeros_like(drive)
    for _ in range(400):
        z = z + 0.3 * (drive - z + torch.tanh(z @ p["S"].T + p["first.b"]))
    h = z + z @ p["S"].T
    for g, weights in zip(p["g"], p["cell.W"], strict=True):

        def normed(z: Tensor, g: Tensor = g) -> Tensor:
            return g * z / (z.square().mean(1, keepdim=True) + 1e-5).sqrt()

        z, w = h, torch.zeros_like(h)
        for _ in range(400):
            pull = h - z + (w - z) + torch.tanh(normed(z) @ weights.T) + 0.3 * w @ p["S"]
            z, w = z + 0.3 * pull, w + 0.3 * (z - w)
        h = h + normed(z) + w
    return h @ p["U"].T


def turned(p: Tensors, clamps: Tensors, targets: Tensors) -> Tensor:
    return 0.5 * (turned_out(p, clamps["x"]) - targets["y"]).square().sum(1)


@cache
def network(target: str = "torch") -> Any:
    net = energyc.load("network test\n" + TURNED, dtype=torch.float64, rules=[*ANY, "centered-ep"], target=target)
    randomised(net)
    return net


def error(found: Tensors, expected: Tensors) -> float:
    """The error of all params together, relative to all slopes."""
    off = sum(float((found[name] - value).square().sum()) for name, value in expected.items())
    return (off / sum(float(value.square().sum()) for value in expected.values())) ** 0.5


@pytest.mark.abridged
@pytest.mark.parametrize("rule", ANY)
def test_a_rule_for_any_force_is_exact_in_the_stack(rule: str) -> None:
    net = network()
    clamps, targets = drawn(net)
    costs, expected = by_autograd(net, turned, clamps, targets)
    found = net.gradients(clamps, targets, rule)  # at the strength that each layer chooses
    assert bool(found.kept.all())
    torch.testing.assert_close(found.cost, costs, rtol=0, atol=1e-9)
    close(found.params, expected, 1e-7)


@pytest.mark.slow
@pytest.mark.parametrize(("rule", "order"), [("aep", 2), ("tracking-aep", 2), ("dyadic-ep", 2), ("holomorphic-aep", 4)])
def test_the_bias_is_of_the_order_of_the_rule(rule: str, order: int) -> None:
    net = network()
    clamps, targets = drawn(net)
    expected = net.gradients(clamps, targets, "implicit").params
    coarse, fine = (error(net.gradients(clamps, targets, rule, beta=b).params, expected) for b in (8e-3, 4e-3))
    assert 0.8 * 2**order < coarse / fine < 1.25 * 2**order


@pytest.mark.abridged
@pytest.mark.parametrize("rule", ["ep", "centered-ep", "vf", "holomorphic-ep", "tracking-aep"])
def test_a_rule_for_gradients_is_exact_where_each_layer_has_an_energy(rule: str) -> None:
    for text, transcription in ((ONE, of_one), (STREAM, lambda p, c, t: streamed(p, c, t, 300))):
        settings = {} if text is ONE else {"cell.relax.steps": 300}
        net = energyc.load("network test\n" + text, dtype=torch.float64, rules=[rule], settings=settings)
        randomised(net)
        clamps, targets = drawn(net)
        expected = by_autograd(net, transcription, clamps, targets)[1]
        found = net.gradients(clamps, targets, nudge_steps=300)
        close(found.params, expected, 1e-6 if rule == "ep" else 1e-9)


def test_a_rule_for_gradients_is_biased_where_one_layer_has_none() -> None:
    report = check_source(Source("spec.energy", "network test\n" + TURNED))
    rules = report.to_json()["rules"]
    assert rules["centered-ep"]["verdict"] == "biased" and "turn in first, cell" in rules["centered-ep"]["why"]
    assert rules["centered-ep"]["use_instead"] == "tracking-aep"
    assert {rules[rule]["verdict"] for rule in ANY} == {"exact"}
    net = network()
    clamps, targets = drawn(net)
    with pytest.raises(ValueError, match="biased on test: turn in first, cell"):
        net.gradients(clamps, targets, "centered-ep")
    with pytest.raises(ValueError, match="allow_biased=True insists"):
        net(clamps, rule="centered-ep")
    expected = net.gradients(clamps, targets, "implicit").params
    assert error(net.gradients(clamps, targets, "centered-ep", allow_biased=True).params, expected) > 0.1


@pytest.mark.abridged
@pytest.mark.parametrize("rule", ANY)
def test_inside_a_host_the_slopes_by_inputs_come_from_the_same_phases(rule: str) -> None:
    net = network()
    clamps, _ = drawn(net)
    x = clamps["x"].clone().requires_grad_()
    params = dict(net._owners())
    found = torch.autograd.grad(net({"x": x}, rule=rule)["out"].sin().sum(), [x, *params.values()])
    expected = torch.autograd.grad(turned_out(params, x).sin().sum(), [x, *params.values()])
    names = ["x", *params]
    close(dict(zip(names, found, strict=True)), dict(zip(names, expected, strict=True)), 1e-7)


def test_the_strength_follows_what_comes_back() -> None:
    """The slope of a loss times 1e8 is 1e8 times the slope: the nudge is as strong in both."""
    net = network()
    clamps, _ = drawn(net)
    params = list(net.parameters())

    def slopes(scale: float) -> Tensors:
        loss = scale * net(clamps, rule="tracking-aep")["out"].square().sum()
        return dict(zip(map(str, range(len(params))), torch.autograd.grad(loss, params), strict=True))

    plain = slopes(1.0)
    close({name: slope / 1e8 for name, slope in slopes(1e8).items()}, plain, 1e-7)


@pytest.mark.slow
def test_each_sample_is_nudged_by_its_own_cost() -> None:
    """A strength that is set does not depend on how many samples there are."""
    net = network()
    clamps, targets = drawn(net)
    whole = net.gradients(clamps, targets, "tracking-aep", beta=0.02).params
    parts = [
        net.gradients({"x": clamps["x"][[k]]}, {"y": targets["y"][[k]]}, "tracking-aep", beta=0.02).params
        for k in range(3)
    ]
    close(whole, {name: sum(part[name] for part in parts) / 3 for name in whole}, 1e-9)


def test_samples_whose_phases_diverge_take_no_part() -> None:
    text = ONE.replace("relax { step", "energy fourth = 1/4 * sum[d](z[d]^4)\n  relax { step")
    net = energyc.load("network test\n" + text, dtype=torch.float64, rules=["centered-ep"])
    randomised(net)
    clamps, targets = drawn(net)
    targets["y"][1] = 1e9
    found = net.gradients(clamps, targets, beta=1e-3, nudge_steps=50)
    kept = {"x": clamps["x"][[0, 2]]}, {"y": targets["y"][[0, 2]]}
    assert found.kept.tolist() == [True, False, True]
    close(found.params, net.gradients(*kept, beta=1e-3, nudge_steps=50).params, 1e-12)
    net.layers["settle"].beta = 1e-3
    with pytest.warns(RuntimeWarning, match="1 of 3 samples, which take no part"):
        (0.5 * (net(clamps, rule="centered-ep")["out"] - targets["y"]).square()).sum().backward()


@pytest.mark.slow
def test_kernels_nudge_the_layers_as_operations_of_torch_do() -> None:
    plain, net = network(), network("cpp")
    assert {"first_tracking", "cell_tracking", "first_nudged"} <= set(net.layers["first"].kernels.names)
    clamps, targets = drawn(net)
    for rule in ("tracking-aep", "dyadic-ep", "centered-ep"):
        expected, found = (
            n.gradients(clamps, targets, rule, beta=1e-3, allow_biased=True).params for n in (plain, net)
        )
        close(found, expected, 1e-9)


def test_a_layer_has_rules_where_its_network_asks_for_them() -> None:
    made = resolve(Source("spec.energy", "network test\n" + TURNED))
    nudged, plain = (emit(made, [rule]).text for rule in ("tracking-aep", "bptt"))
    for name in ("rt.tracking_aep", "def _correction"):
        assert name in nudged and name not in plain
    assert "def _held_correction" not in nudged and "Holomorphic" not in nudged


def test_a_rule_that_no_layer_can_run_is_refused_with_its_reason() -> None:
    bent = TURNED.replace("force turn on z[d] = tanh(sum[e](S", "force turn on z[d] = relu(sum[e](S")
    with pytest.raises(UserError, match=r"not holomorphic: .* in first") as raised:
        emit(resolve(Source("spec.energy", "network test\n" + bent)), ["holomorphic-aep"])
    assert raised.value.code == "E0920" and raised.value.help == "use tracking-aep"


STACK = Path(__file__).parents[2] / "benchmarks" / "thick_stack.energy"


def test_blocks_of_thick_are_nudged_one_by_one() -> None:
    """Attention and feed-forward that are no gradients, in a residual stream: cosine and error beside ``implicit``."""
    net = energyc.load(STACK, preset="verify", dtype=torch.float64, rules=["tracking-aep"])
    with torch.no_grad():
        for param in net.parameters():
            param.mul_(3)
    clamps, targets = drawn(net)
    rest: dict[str, Any] = {"steps": 100, "tolerance": 1e-12}
    expected = net.gradients(clamps, targets, "implicit", **rest).params
    close(net.gradients(clamps, targets, nudge_steps=100, **rest).params, expected, 1e-6)


def test_blocks_of_thick_rest_where_they_rest_as_one_state() -> None:
    """The same gradient of the same cost: what benchmarks/depth.py compares."""
    stack, joint = (
        energyc.load(spec, preset="verify", dtype=torch.float64, rules=["bptt"])
        for spec in (STACK, STACK.with_name("thick_joint.energy"))
    )
    with torch.no_grad():
        for param in stack.parameters():
            param.mul_(3)
        for name, param in joint.params.items():
            param.copy_(stack.params.get(f"block.{name}", stack.params.get(name)))
    clamps, targets = drawn(stack)
    expected = stack.gradients(clamps, targets, steps=200)
    found = joint.gradients(clamps, targets, steps=400)
    torch.testing.assert_close(found.cost, expected.cost, rtol=1e-12, atol=1e-12)
    near = {name: expected.params.get(f"block.{name}", expected.params.get(name)) for name in found.params}
    close(found.params, near, 1e-9)


@pytest.mark.slow
def test_a_stack_trains_by_the_rule_of_its_spec(tmp_path: Path) -> None:
    random = torch.Generator().manual_seed(3)
    x, y = torch.randn(48, 3, generator=random), torch.randn(48, 2, generator=random)
    spec = TURNED.replace("steps = 400", "steps = 150")
    text = f"network test\n{spec}train {{ rule = tracking-aep, lr = 1e-2 }}\n"
    options: dict[str, Any] = {"settings": {"train.steps": 25, "train.batch": 16}, "quiet": True, "target": "torch"}
    nudged, exact = (
        energyc.train(text, {"x": x, "y": y}, rule=rule, out=tmp_path / str(rule), **options)
        for rule in (None, "implicit")
    )
    assert json.loads((tmp_path / "None" / "run.json").read_text())["rule"] == "tracking-aep"
    assert nudged.final["cost"] != exact.final["cost"]
    assert abs(nudged.final["cost"] - exact.final["cost"]) < 1e-3 * exact.final["cost"]
