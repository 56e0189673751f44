"""The rule of a call is the spec's, where autograd can go by it; noises of layers are given among the clamps."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import energyc
from energyc import pipeline
from energyc.language.diagnostics import Source
from tests.interface.test_calls import LAYERS, SPEC, inputs, loaded

FEW = "relax { step = 1/2, steps = 3 }"


def ruled(spec: str, rule: str, relax: str = FEW) -> str:
    """The spec with few steps, so that its rules give gradients that differ, and a rule of its own."""
    lines = [relax if line.strip().startswith("relax") else line for line in spec.splitlines()]
    return "\n".join([*lines, f"train {{ rule = {rule} }}", ""])


def slopes(net: Any, x: torch.Tensor, **call: object) -> list[torch.Tensor]:
    return list(torch.autograd.grad(net(x, **call)["out"].square().sum(), list(net.params.values())))


@pytest.mark.abridged(every=3)
@pytest.mark.filterwarnings("ignore::energyc.NotSettledWarning")
@pytest.mark.parametrize(
    ("spec", "rule", "taken"),
    [
        (SPEC, "bptt", "bptt"),
        (SPEC, "implicit", "implicit"),
        (SPEC, "centered-ep", "implicit"),  # its phases read the network's own cost, which a host does not have
        (LAYERS, "bptt", "bptt"),
        (LAYERS, "implicit", "implicit"),
        (LAYERS, "centered-ep", "centered-ep"),
        (LAYERS, "tracking-aep", "tracking-aep"),
    ],
)
def test_a_call_takes_the_rule_of_the_spec(spec: str, rule: str, taken: str) -> None:
    net, x = loaded(ruled(spec, rule)), inputs()
    assert net.rules[0] == rule
    found = {
        name: slopes(net, x, **({} if name is None else {"rule": name})) for name in (None, "bptt", "implicit", taken)
    }
    torch.testing.assert_close(found[None], found[taken], rtol=0, atol=0)
    other = "implicit" if taken == "bptt" else "bptt"
    assert any(float((a - b).abs().max()) > 1e-6 for a, b in zip(found[None], found[other], strict=True))


@pytest.mark.filterwarnings("ignore::energyc.NotSettledWarning")
def test_a_rule_that_is_biased_is_not_taken_by_itself() -> None:
    twist = "force twist on z[d] = -sum[e](V[d,e] * tanh(z[e]))\n  energy bend"
    spec = ruled(LAYERS.replace("energy bend", twist), "ep")
    net, x = loaded(spec), inputs()
    assert net.rules[:2] == ("ep", "bptt") and "ep" in net.biased
    torch.testing.assert_close(slopes(net, x), slopes(net, x, rule="bptt"), rtol=0, atol=0)


def test_slopes_by_clamps_do_not_hang_on_the_rules_that_a_module_is_made_for() -> None:
    network, found = pipeline.resolve(Source("spec.energy", SPEC)), []
    for rules in (["centered-ep"], ["bptt"], None):
        net = pipeline.instantiate(pipeline.emit(network, rules), "cpu", torch.float64, 0)
        x = inputs().double().requires_grad_()
        net({"x": x}, rule="bptt", steps=5)["out"].square().sum().backward()
        assert x.grad is not None
        found.append(x.grad)
    for other in found[1:]:
        torch.testing.assert_close(found[0], other, rtol=0, atol=1e-12)


@pytest.mark.parametrize("spec", [SPEC, LAYERS], ids=["plain", "layers"])
def test_no_steps_are_kept_where_nothing_goes_back(spec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    net, x = loaded(ruled(spec, "bptt"), target="torch"), inputs()
    through = net(x)["out"]
    with torch.no_grad():
        monkeypatch.setattr("energyc.runtime.adjoints.autograd.run_recorded", None)
        monkeypatch.setitem(vars(__import__("sys").modules[type(net).__module__]), "settle_recorded", None)
        torch.testing.assert_close(net(x)["out"], through, rtol=0, atol=0)


NOISY = """
network noisy
dim T = 2, L = 3, D = 4, I = 4
clamp x[I]
target goal[D]
param W[D] = 1
repeat L {
  state s[D]
  start s[d] = 0
  layer drift {
    noise eps[T, D] ~ normal(1)
    state z[D]
    start z[d] = s[d]
    flow z[d] = W[d] * eps[t,d]
    relax t in T { step = 1/2 }
  }
  next s[d] = drift.z[d]
}
readout out[d] = s[d]
cost mse = 1/2 * sum[d]((s[d] - goal[d])^2)
train { rule = bptt }
"""


def test_noise_of_layers_is_drawn_by_seeds_and_given_among_the_clamps() -> None:
    """In closed form: the end of the last copy is half the sum of all that was drawn."""
    net, x = energyc.load(NOISY, dtype="float64"), inputs(2)
    noise = net.draw_noise(seeds=[7, 8])
    assert noise["drift.eps"].shape == (2, 3, 2, 4)
    torch.testing.assert_close(net.draw_noise([8])["drift.eps"][0], noise["drift.eps"][1], rtol=0, atol=0)
    expected = noise["drift.eps"].sum((1, 2)) / 2
    given = {"x": x, **noise}
    for mode in (True, False):
        net.train(mode)
        torch.testing.assert_close(net(given)["out"], expected, rtol=0, atol=1e-12)
        torch.testing.assert_close(net.relax(given).states["drift.z"][:, -1], expected, rtol=0, atol=1e-12)
    gradient = net.gradients(given, {"goal": torch.zeros_like(x)}).params["W"]
    torch.testing.assert_close(gradient, (expected**2).mean(0), rtol=1e-12, atol=1e-12)
    layer, clamps = net.layer("drift", given, number=1)
    ends = noise["drift.eps"][:, :2].sum((1, 2)) / 2
    torch.testing.assert_close(layer.relax(clamps).states["z"], ends, rtol=0, atol=1e-12)


def test_noise_of_layers_that_does_not_fit_is_named() -> None:
    net, x = energyc.load(NOISY, dtype="float64"), inputs(2)
    with pytest.raises(ValueError, match=r"drift.eps has shape \(2, 2, 4\); it takes \[batch, 3, 2, 4\]"):
        net({"x": x, "drift.eps": torch.zeros(2, 2, 4)})
    with pytest.raises(ValueError, match=r"there is no clamp 'drift\.epz'"):
        net({"x": x, "drift.epz": torch.zeros(2, 3, 2, 4)})


def test_et_graph_takes_its_noise() -> None:
    dims = {"M": 3, "F": 2, "D": 4, "H": 1, "Y": 2, "K": 3, "E": 2}
    net = energyc.load("et_graph", dims=dims, dtype="float64", target="torch")
    noise = net.draw_noise([1, 2])
    sizes = {name: (2, *shape) for name, (shape, _) in net.clamp_shapes.items()}
    clamps = {n: torch.ones(size).long() if n == "adj" else torch.rand(size) for n, size in sizes.items()}
    first, again = (net({**clamps, **noise})["logits"] for _ in range(2))
    torch.testing.assert_close(first, again, rtol=0, atol=0)
    assert float((first - net(clamps)["logits"]).detach().abs().max()) > 0
