"""Random energies on random sets: where a floor is claimed, no far point at random weights lies far below."""

from __future__ import annotations

import numpy as np
import pytest

from energyc.language.diagnostics import Source, SpecError
from energyc.language.network import Network
from energyc.mathematics.ir.interpreter import evaluate
from energyc.pipeline import Choices, resolve
from energyc.proofs.verdicts.in_notation import classes_of
from tests.drawing import SEED, draws

pytestmark = pytest.mark.slow

HEAD = """network n
dim D = 3, K = 2
const c = 1/2
param W[D, D], V[D, K] ~ normal(1)
param s[D] = 1 in [0, 2], p = 1 in [1/10, 3]
clamp b[D]
state x[D]{x}, y[K]{y}
energy e = {energy}
readout r = sum[d](b[d] * s[d]) + p + sum[d,e in D](W[d,e]) + sum[d,k](V[d,k])
"""
SETS = ("", "", " in [-1, 1]", " in nonnegative", " in sphere[{dim}]")
FACTORS = ("", "-", "2 * ", "-1/2 * ", "c * ", "-c * ")
TERMS = (
    "sum[d](x[d]^2)", "sum[k](y[k]^2)", "sum[d](s[d] * x[d]^2)", "p * sum[d](x[d]^2)", "p * sum[k](y[k]^2)",
    "sum[d](b[d] * x[d])", "sum[d,k](V[d,k] * x[d] * y[k])", "sum[k]((y[k] - sum[d](V[d,k] * x[d]))^2)",
    "p * sum[d]((x[d] - b[d])^2)", "sum[d,k](p * (x[d] - y[k])^2)", "sum[d](relu(x[d]))", "sum[d](relu(x[d])^2)",
    "sum[d](tanh(x[d]) * x[d])", "logsumexp[d](x[d])", "sum[k](softplus(sum[d](V[d,k] * x[d])))", "sum[d](exp(x[d]))",
    "sum[d](x[d]^4)", "sum[d,e in D](W[d,e] * x[d] * x[e])", "sum[d,e in D](W[d,e] * tanh(x[d]) * tanh(x[e]))",
    "sum[k](silu(y[k]))", "sum[d](x[d]^3)", "sum[d](log(1 + x[d]^2))", "sum[d](layernorm[d](x[d]) * b[d])",
    "sum[d](layernorm[d](x[d]) * x[d])", "sum[k](abs(y[k]))", "sum[d,k](V[d,k] * relu(x[d]) * y[k])",
    "sum[k](cos(y[k]))", "sum[d](gelu(x[d]) * x[d])", "sum[d](softmax[d](x[d]) * x[d])", "max[d](x[d])",
    "sum[d](sqrt(1 + x[d]^2))", "sum[d](x[d]^2) * sum[k](y[k]^2)", "sum[k](y[k]^2 * relu(-y[k]))",
    "sum[d](x[d] * abs(x[d]))", "(sum[d](x[d]))^2",
    "sum[d](where(x[d] > c, (x[d] - c)^2, 0))", "sum[d](where(abs(x[d]) < 1, x[d]^2 / 2, abs(x[d]) - 1/2))",
    "sum[d](where(x[d] > 0, -x[d]^2, x[d]))", "sum[d](where(x[d] > 0, x[d], x[d]^2))", "sum[k](max(y[k], -3, y[k]^2))",
    "sum[d](min(x[d]^2, 4))", "sum[d](clip(x[d], -1, 1) * x[d])", "sum[k](leaky_relu(y[k], -1/2))",
    "sum[d](where(x[d] > s[d], x[d]^3, 0))", "sum[k](min[d](x[d] * V[d,k]))",
)  # fmt: skip
DRAWS, POINTS = 300, 3000


def drawn(generator: np.random.Generator) -> tuple[str, tuple[str, str]]:
    """A spec, and the sets of its states."""
    x, y = (SETS[generator.integers(len(SETS))].format(dim=dim) for dim in "DK")
    parts = [
        FACTORS[generator.integers(len(FACTORS))] + TERMS[generator.integers(len(TERMS))]
        for _ in range(generator.integers(1, 5))
    ]
    spec = HEAD.format(x=x, y=y, energy=" + ".join(parts).replace("+ -", "- "))
    for state, index in (("x", "d"), ("y", "k")):
        if not any(f"{state}[" in part for part in parts):
            spec += f"force f_{state} on {state}[{index}] = -{state}[{index}]\n"
    return spec, (x, y)


def projected(states: np.ndarray, written: str) -> np.ndarray:
    """Points of a set."""
    if "sphere" in written:
        return states / np.linalg.norm(states, axis=1, keepdims=True)
    if "[-1, 1]" in written:
        return np.clip(states, -1, 1)
    return np.maximum(states, 0) if "nonnegative" in written else states


def least(network: Network, sets: tuple[str, str], radius: float, generator: np.random.Generator) -> float:
    """The least energy of many points up to a radius, some of them on axes, at one draw of weights."""
    weights = {
        ("param", "W"): 3 * generator.standard_normal((3, 3)),
        ("param", "V"): 3 * generator.standard_normal((3, 2)),
        ("param", "s"): generator.uniform(0, 2, 3),
        ("param", "p"): np.array(generator.uniform(0.1, 3)),
    }
    x, y = (radius * generator.uniform(0, 1, (POINTS, 1)) * generator.standard_normal((POINTS, n)) for n in (3, 2))
    x[::3] *= generator.uniform(size=x[::3].shape) < 0.5
    y[::4] *= generator.uniform(size=y[::4].shape) < 0.5
    states = {("state", "x"): projected(x + 1e-9, sets[0]), ("state", "y"): projected(y + 1e-9, sets[1])}
    clamps = {("clamp", "b"): np.repeat(generator.standard_normal((1, 3)), POINTS, 0)}
    inputs = {**weights, **states, **clamps}
    with np.errstate(all="ignore"):
        (energy,) = evaluate([network.terms["e"].node], inputs, sizes=network.extents, values=network.values)
    return float(np.nanmin(energy))


def test_no_floor_is_claimed_wrongly() -> None:
    print(f"ENERGYC_SEED={SEED}")
    generator = np.random.default_rng(SEED)
    proved = 0
    for _ in range(draws(DRAWS)):
        spec, sets = drawn(generator)
        try:
            network = resolve(Source("spec.energy", spec), Choices())
        except SpecError:
            continue
        (claim,) = [claim for claim in classes_of(network).claims if claim.claim == "bounded below"]
        if claim.verdict == "proved":
            proved += 1
            near, far = (min(least(network, sets, r, generator) for _ in range(3)) for r in (1e4, 1e6))
            assert not (far < -1e5 and far < 5 * near < 0), spec
    assert proved > draws(DRAWS) / 10
