"""The holomorphic extension of random networks against the interpreter at complex states."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import numpy as np
import pytest
import torch

from energyc.code.module.context import Options
from energyc.code.module.instantiate import instantiate
from energyc.code.module.names import class_name
from energyc.code.targets.torch.module import torch_module
from energyc.language.diagnostics import SpecError
from energyc.language.network import Network
from energyc.mathematics.ir import Node
from energyc.mathematics.ir.interpreter import evaluate
from tests.emit.judge import BATCH, Judged, Summed, distance, judged, resolved
from tests.emit.random_edges import edge_spec
from tests.emit.random_specs import random_spec
from tests.quick import few

RULES = ("centered-ep", "holomorphic-ep", "implicit")


def network_of(seed: int) -> Network:
    text = random_spec(seed, holomorphic=True)
    print(f"seed {seed}\n{text}")
    try:
        return resolved(text)
    except SpecError as error:
        pytest.skip(f"no spec: {sorted({d.code for d in error.diagnostics})}")


def extension(network: Network, j: Judged) -> tuple[object, object]:
    """The module with the params of a judged one, and its extension."""
    options = Options(rules=RULES, label="spec", version="test")
    net = instantiate(torch_module(options.plan(network), options).text, class_name(network.name), dtype=torch.float64)
    net.load_state_dict(j.module.state_dict())
    return net, sys.modules[type(net).__module__].Holomorphic(net)


@pytest.mark.abridged
@pytest.mark.parametrize("seed", few(range(25), (1, 4, 7, 18, 23)))
def test_every_routine_of_the_extension(seed: int) -> None:
    extended(network_of(seed), seed)


@pytest.mark.abridged
@pytest.mark.parametrize("seed", few(range(12), range(7, 11)))
def test_every_routine_of_the_extension_over_edges(seed: int) -> None:
    text = edge_spec(seed, holomorphic=True)
    print(f"seed {seed}\n{text}")
    extended(resolved(text), seed)


def extended(network: Network, seed: int) -> None:
    """Every routine of the extension of a network agrees with the interpreter at complex states."""
    random = np.random.default_rng(seed)
    j = judged(network, random)
    _, complex_net = extension(network, j)
    inputs = dict(j.inputs)
    for name in network.states:
        real = inputs["state", name]
        inputs["state", name] = real + 0.05j * random.normal(size=real.shape)
    states = [torch.from_numpy(inputs["state", name]) for name in network.states]
    clamps = [x if x.dtype == torch.int64 else x.to(torch.complex128) for x in j.clamps.values()]
    targets = j.tensors("target", list(j.network.targets))
    aims = [x if x.dtype == torch.int64 else x.to(torch.complex128) for x in targets]
    fixed = complex_net._prepare(*clamps)  # type: ignore[attr-defined]
    d = j.derivation
    with torch.no_grad():
        force = dict(zip(network.states, complex_net._force(states, fixed), strict=True))  # type: ignore[attr-defined]
        slopes = dict(zip(network.states, complex_net._cost_force(states, fixed, aims), strict=True))  # type: ignore[attr-defined]
        energy = complex_net._energy_gradient(states, fixed)  # type: ignore[attr-defined]
    agree(j, inputs, force, d.force)
    agree(j, inputs, {name: value for name, value in slopes.items() if value is not None}, d.cost_force)
    agree(j, inputs, energy, Summed(d.energy_gradient))


def agree(
    j: Judged, inputs: Mapping[tuple[str, str], np.ndarray], found: Mapping[str, torch.Tensor], nodes: dict[str, Node]
) -> None:
    arrays = evaluate(list(nodes.values()), inputs, sizes=j.network.extents, values=j.network.values)
    assert found.keys() == nodes.keys()
    for (name, node), array in zip(nodes.items(), arrays, strict=True):
        spread = array if node.batched else np.broadcast_to(array, (BATCH, *array.shape))
        expected = spread.sum(0) if isinstance(nodes, Summed) else spread
        assert distance(found[name].numpy(), expected) < 1e-9, name


STATIC = """network static
dim D = 4
clamp x[D]
param W[D, D] ~ normal(1), b[D] ~ normal(1)
state z[D]
let drive[d] = relu(sum[e](W[e,d] * x[e])) + abs(b[d]) * max[e](W[d,e])
energy rest = 1/2 * sum[d](z[d]^2) - sum[d](tanh(z[d]) * drive[d])
readout answer[d] = z[d]
cost c0 = 1/2 * sum[d](z[d]^2)
nudge { steps = 30 }
"""


def test_kinks_that_no_state_passes_are_no_obstacle() -> None:
    network = resolved(STATIC)
    j = judged(network, np.random.default_rng(0))
    net, _ = extension(network, j)
    gradients = [
        net.gradients(j.clamps, j.targets, rule=rule, step=0.3, steps=200).params  # type: ignore[attr-defined]
        for rule in ("holomorphic-ep", "implicit")
    ]
    for name, value in gradients[1].items():
        assert float((gradients[0][name] - value).abs().max()) < 1e-3 * (1 + float(value.abs().max())), name


RADIUS = """network circle
dim N = 3
clamp x[N]
target y[N]
state z[N]
param W[N, N] ~ normal(0.3)
energy pull = sum[n](z[n]^4/4 + z[n]^2/2 - z[n]*sum[m](W[n,m]*x[m]))
cost c = sum[n]((z[n] - y[n])^2)/2
relax { step = 1/4, steps = 100 }
nudge { beta = 1/16, radius = 1/8 }
"""


def test_the_radius_of_the_spec_is_that_of_the_circle_alone() -> None:
    network = resolved(RADIUS)
    options = Options(rules=RULES, label="spec", version="test")
    net = instantiate(torch_module(options.plan(network), options).text, class_name(network.name), dtype=torch.float64)
    x, y = torch.rand(2, 2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    def used(rule: str, **strength: float) -> float:
        return net.gradients({"x": x}, {"y": y}, rule=rule, **strength).beta

    assert used("holomorphic-ep") == 1 / 8 and used("centered-ep") == 1 / 16
    assert used("holomorphic-ep", radius=1 / 2) == 1 / 2 and used("holomorphic-ep", beta=1 / 4) == 1 / 4
