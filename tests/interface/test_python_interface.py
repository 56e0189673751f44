"""The Python interface that outside programs rely on, member by member."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import torch

import energyc
from energyc.language.diagnostics import UserError
from tests.cli.run import in_python

DIMS = {"S": 12, "P": 4, "stride": 2, "D": 16, "H": 2, "A": 8, "M": 24}
BATCH = 3


@pytest.fixture(scope="module")
def net() -> Any:
    return energyc.load(
        "specs/cet.energy",
        dims=DIMS,
        consts={},
        preset=None,
        settings={"relax.step": 0.1},
        target="torch",
        device="cpu",
        dtype=torch.float64,
        seed=0,
    )


def batch(seed: int = 0) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    random = torch.Generator().manual_seed(seed)
    shape = (BATCH, 3, 12, 12)
    return (
        {"x": torch.rand(shape, generator=random, dtype=torch.float64)},
        {"t": torch.rand(shape, generator=random, dtype=torch.float64)},
    )


def test_a_network_is_a_module_with_params_as_in_the_spec(net: Any) -> None:
    assert isinstance(net, torch.nn.Module)
    assert net.params["W_enc"].shape == (16, 3, 4, 4)
    assert isinstance(net.params["W_enc"], torch.nn.Parameter)
    assert {id(p) for p in net.parameters()} == {id(p) for p in net.params.values()}


def test_the_source_is_the_text_of_a_module_that_imports_torch_and_the_runtime(net: Any) -> None:
    tree = ast.parse(net.source)
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    standard = {
        "__future__",
        "cmath",
        "collections",
        "contextlib",
        "itertools",
        "math",
        "inspect",
        "textwrap",
        "typing",
        "warnings",
    }
    assert imported <= standard | {"torch", "energyc"}
    assert "torch" in imported and "\nfrom energyc import runtime as rt\n" in net.source


def test_the_energy_is_the_sum_of_its_terms(net: Any) -> None:
    clamps, _ = batch()
    states = net.relax(clamps, steps=2).states
    terms = net.terms(states, clamps)
    assert set(terms) == {"enc", "dec", "pos", "mem", "att"}
    assert all(term.shape == (BATCH,) for term in terms.values())
    torch.testing.assert_close(net.energy(states, clamps), sum(terms.values()), rtol=1e-12, atol=0)


def test_the_force_is_minus_the_slope_of_the_energy(net: Any) -> None:
    clamps, _ = batch()
    states = {k: v + 0.1 for k, v in net.relax(clamps, steps=1).states.items()}
    force = net.force(states, clamps)
    h = 1e-6
    for name, value in states.items():
        way = torch.randn(value.shape, generator=torch.Generator().manual_seed(1), dtype=value.dtype)
        up = net.energy({**states, name: value + h * way}, clamps)
        down = net.energy({**states, name: value - h * way}, clamps)
        slope = -(up - down) / (2 * h)
        torch.testing.assert_close((force[name] * way).flatten(1).sum(1), slope, rtol=1e-6, atol=1e-6)


def test_relax_gives_states_residual_steps_and_what_was_recorded(net: Any) -> None:
    clamps, _ = batch()
    relaxed = net.relax(clamps, steps=7, record=("energy", "residual"))
    assert relaxed.residual.shape == relaxed.steps.shape == (BATCH,)
    assert relaxed.steps.tolist() == [7] * BATCH
    assert relaxed.trace["energy"].shape == relaxed.trace["residual"].shape == (8, BATCH)
    torch.testing.assert_close(relaxed.trace["energy"][-1], net.energy(relaxed.states, clamps))
    assert set(relaxed.states) == {"z", "y"}


def test_relaxing_on_from_states_is_relaxing_further(net: Any) -> None:
    clamps, _ = batch()
    half = net.relax(clamps, steps=5)
    on = net.relax(clamps, steps=5, states=half.states)
    whole = net.relax(clamps, steps=10)
    for name in whole.states:
        torch.testing.assert_close(on.states[name], whole.states[name], rtol=1e-9, atol=1e-12)


def test_a_sample_does_not_depend_on_its_batch(net: Any) -> None:
    clamps, _ = batch()
    whole = net.relax(clamps, tolerance=1e-8)
    for k in range(BATCH):
        alone = net.relax({name: value[k : k + 1] for name, value in clamps.items()}, tolerance=1e-8)
        assert int(alone.steps[0]) == int(whole.steps[k])
        torch.testing.assert_close(alone.states["z"][0], whole.states["z"][k], rtol=1e-9, atol=1e-12)


def test_gradients_are_of_the_cost_averaged_over_the_batch(net: Any) -> None:
    clamps, targets = batch()
    settings = {"steps": 50, "beta": 1.0, "nudge_steps": 10}
    whole = net.gradients(clamps, targets, rule="centered-ep", **settings)
    assert whole.cost.shape == whole.residual.shape == (BATCH,)
    assert set(whole.params) == {"W_enc", "W_dec", "b_enc", "b_dec", "b_pos", "W_q", "W_k", "W_mem"}
    parts = []
    for k in range(BATCH):
        one = ({n: v[k : k + 1] for n, v in given.items()} for given in (clamps, targets))
        parts.append(net.gradients(*one, rule="centered-ep", **settings).params)
    for name, gradient in whole.params.items():
        mean = sum(part[name] for part in parts) / BATCH
        torch.testing.assert_close(gradient, mean, rtol=1e-6, atol=1e-9)


def test_assign_writes_grads(net: Any) -> None:
    clamps, targets = batch()
    found = net.gradients(clamps, targets, rule="implicit", steps=400)
    found.assign()
    for name, gradient in found.params.items():
        assert net.params[name].grad is not None
        torch.testing.assert_close(net.params[name].grad, gradient)
    net.zero_grad()


def test_readouts_and_costs(net: Any) -> None:
    clamps, targets = batch()
    states = net.relax(clamps, steps=3).states
    torch.testing.assert_close(net.readout(states, clamps)["image"], states["y"])
    expected = (states["y"] - targets["t"]).square().flatten(1).mean(1)
    torch.testing.assert_close(net.cost(states, clamps, targets), expected)


def test_a_network_inside_a_host_is_differentiable(net: Any) -> None:
    clamps, targets = batch()
    x = clamps["x"].clone().requires_grad_()
    for p in net.params.values():
        p.grad = None
    image = net({"x": x})["image"]
    (image - targets["t"]).square().flatten(1).mean(1).mean().backward()
    exact = net.gradients(clamps, targets, rule="implicit")
    for name, gradient in exact.params.items():
        torch.testing.assert_close(net.params[name].grad, gradient, rtol=1e-6, atol=1e-9)
    assert x.grad is not None and float(x.grad.abs().max()) > 0
    net.zero_grad()


def test_the_correction_of_a_conservative_network_is_zero(net: Any) -> None:
    clamps, _ = batch()
    states = net.relax(clamps, steps=3).states
    for value in net.correction(states, states, clamps).values():
        assert float(value.abs().max()) == 0


TIED = """
# Two layers whose weights are one.
network tied
dim I = 3, J = 4
clamp x[I]
target t[I]
param W[I, J] ~ normal(0.3)
tie V[j,i] = W[i,j]
state s[J], y[I]
energy leak = 1/2 * sum[j](s[j]^2) + 1/2 * sum[i](y[i]^2)
energy up   = -sum[i,j](x[i] * W[i,j] * s[j])
energy down = -sum[i,j](s[j] * V[j,i] * y[i])
readout out[i] = y[i]
cost mse = 1/2 * sum[i]((y[i] - t[i])^2)
relax { step = 0.5, steps = 60 }
"""


def test_a_tie_is_a_view_and_its_gradient_goes_to_its_source() -> None:
    net = energyc.load(TIED, dtype=torch.float64)
    torch.testing.assert_close(net.params["V"], net.params["W"].T)
    assert not net.params["V"].requires_grad or not net.params["V"].is_leaf
    with torch.no_grad():
        net.params["W"][0, 0] = 7.0
    assert float(net.params["V"][0, 0]) == 7.0
    net = energyc.load(TIED, dtype=torch.float64)
    clamps, targets = {"x": torch.ones(2, 3)}, {"t": torch.ones(2, 3)}
    found = net.gradients(clamps, targets, rule="implicit", steps=500)
    assert set(found.params) == {"W"}
    h = 1e-6
    costs = []
    for sign in (1, -1):
        with torch.no_grad():
            net.params["W"][1, 2] += sign * h
        states = net.relax(clamps, steps=500).states
        costs.append(float(net.cost(states, clamps, targets).mean()))
        with torch.no_grad():
            net.params["W"][1, 2] -= sign * h
    assert float(found.params["W"][1, 2]) == pytest.approx((costs[0] - costs[1]) / (2 * h), rel=1e-6)


@pytest.mark.slow
def test_register_data_makes_a_binding_of_ones_own() -> None:
    text = TIED.replace("clamp x[I]", "data d = my_digits(side = 8)\nclamp x[I] = d.image").replace("I = 3", "I = 64")
    program = f"""
import energyc
from energyc.running.data import find_adapter

energyc.register_data("my_digits", find_adapter("digits"))
assert energyc.check({text!r}).to_json()["diagnostics"] == []
"""
    done = in_python(program)
    assert done.returncode == 0, done.stderr
    assert energyc.check(text).to_json()["diagnostics"][0]["code"] == "E0601"


def test_the_same_input_gives_the_same_bytes() -> None:
    assert energyc.load(TIED).source == energyc.load(TIED).source


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# a\0b\nnetwork n\n", "<text> is not a text: byte 0x00 at 1:4 is a NUL"),
        ("network n\n# \ud800\n", "<text> is not a text: byte 0xed at 2:3 is not UTF-8"),
        ("#" * 2_000_000 + "\nnetwork n\n", "<text> is larger than 2 MB and cannot be a spec"),
    ],
    ids=["NUL", "half of a pair", "huge"],
)
def test_text_is_judged_as_a_file_is(text: str, said: str) -> None:
    for takes in (energyc.load, energyc.check):
        with pytest.raises(UserError) as caught:
            takes(text)
        assert caught.value.message == said


def test_what_gradients_takes_is_documented(net: Any) -> None:
    page = Path("docs/interface.md").read_text()
    names = list(inspect.signature(net.gradients).parameters)
    assert names[:3] == ["clamps", "targets", "rule"]
    assert [name for name in names[2:] if f"`{name}`" not in page] == []


def test_the_page_about_the_interface_runs() -> None:
    """Its first lines as they stand, and every member of the network that it names."""
    block = Path("docs/interface.md").read_text().split("```py\n")[1].split("```")[0]
    made, named = block.split('net = energyc.load("runs')
    scope: dict[str, Any] = {}
    exec(made, scope)
    members = set(re.findall(r"^net\.(\w+)", named, re.MULTILINE))
    assert {"params", "energy", "relax", "gradients", "correction"} <= members
    assert [name for name in members if not hasattr(scope["net"], name)] == []


def test_without_an_energy_it_is_zero() -> None:
    net: Any = energyc.load(
        "network n\ndim N = 3\nclamp x[N]\nstate z[N]\nforce f on z[n] = x[n] - z[n]\n", dtype=torch.float64
    )
    clamps = {"x": torch.ones(2, 3)}
    found = net.relax(clamps, steps=2, record=("energy",))
    assert found.trace["energy"].tolist() == [[0.0, 0.0]] * 3
    assert net.energy(found.states, clamps).tolist() == [0.0, 0.0]
