"""The reading of energies of squared errors, compared with their values at points drawn at random."""

from __future__ import annotations

import numpy as np
import pytest

from energyc.derivation.derive.predictions import predictions
from energyc.language.diagnostics import Source
from energyc.mathematics.ir.interpreter import evaluate
from energyc.pipeline import Choices, resolve

HEAD = """network squares
dim D = 3, K = 2
const c = 1/4
clamp x[D]
param W[K, D] ~ normal
state s[D], y[K]
"""
#: Energies of both states, however they are written; not all slopes are 1.
ENERGIES = {
    "plain": ("1/2 * sum[d]((s[d] - x[d])^2)", "c * sum[k]((y[k] - sum[d](W[k,d] * tanh(s[d])))^2)"),
    "with slopes": ("sum[d]((3*s[d] - x[d])^2)", "1/(2*c) * sum[k]((sum[d](W[k,d] * s[d]) - y[k]/c)^2)"),
    "as products": (
        "2 * sum[d]((s[d] + x[d]) * (s[d] + x[d]))",
        "sum[k](c * (y[k] - sum[d](W[k,d])) * (y[k] - sum[d](W[k,d])))",
    ),
    "with a factor inside": ("sum[d](5 * (s[d] - 2*x[d])^2)", "sum[k](c * (2*y[k] - sum[d](W[k,d] * s[d]^2))^2)"),
    "in one sum": ("3 * (sum[d]((s[d] - x[d])^2) + c * sum[k]((y[k] - sum[d](W[k,d] * s[d]))^2))",),
    "under one sum": (
        "sum[d]((s[d] - x[d])^2 + 1/2 * (2*r[d] - tanh(s[d]))^2)",
        "sum[k]((y[k] - sum[d](W[k,d] * x[d]))^2)",
    ),
}


@pytest.mark.parametrize("energies", ENERGIES.values(), ids=ENERGIES)
def test_the_energies_are_half_the_squared_errors_times_their_precisions(energies: tuple[str, ...]) -> None:
    head = HEAD.replace("K = 2", "K = 3").replace("y[K]", "y[K], r[D]") if "r[d]" in energies[0] else HEAD
    text = "".join(f"energy e{k} = {energy}\n" for k, energy in enumerate(energies))
    network = resolve(Source("squares.energy", head + text), Choices())
    found = predictions(network)
    assert {one.state for one in found} == set(network.states)
    sizes, rng = {name: size.value for name, size in network.sizes.items()}, np.random.default_rng(18)
    nodes = [thing.node for things in (network.params, network.clamps, network.states) for thing in things.values()]
    inputs = {n.name: rng.normal(size=[1] * n.batched + [sizes[dim] for dim in n.dims]) for n in nodes}
    roots = [*(one.node for one in found), *(term.node for term in network.energies.values())]
    values = evaluate(roots, inputs, sizes=sizes, values=network.values)
    squares = [one.precision / 2 * np.sum((inputs[one.state] - m) ** 2) for one, m in zip(found, values, strict=False)]
    assert sum(squares) == pytest.approx(sum(np.sum(value) for value in values[len(found) :]), rel=1e-12)
