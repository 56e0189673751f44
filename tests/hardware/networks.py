"""Networks for the exporters, at random weights and clamps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch

from energyc.pipeline import Choices, read, resolve
from energyc.studies.hardware.problem import Problem, problem

ROOT = Path(__file__).resolve().parents[2]

BOXES = """\
network boxes
dim I = 3, J = 4, K = 2
clamp x[I]
clamp pick[K] : J
param W[I, J], V[J, K], b[J] ~ normal(0.5)
param g[J] ~ uniform(0.1, 2)
state s[J] in [-1, 3]
state y[K] in [0.5, 2]
energy leak = 2 * sum[j](g[j] * s[j]^2) + 5/2 * sum[k]((y[k] - 1/3)^2)
energy synapses = -sum[i,j](x[i] * W[i,j] * s[j]) - sum[j,k](s[j] * V[j,k] * y[k])
energy squares = 1/2 * sum[j]((sum[i](W[i,j] * x[i]) - s[j])^2)
energy chosen = sum[k](y[k] * s[pick[k]] / 7)
energy bias = sum[j](b[j] * s[j])
readout out[k] = y[k]
cost c = 1/2 * sum[k](y[k]^2)
relax { step = 0.02, steps = 400 }
"""

#: Names that SPICE cannot tell apart, or that mean ground; several kinds of element.
ELEMENTS = """\
network elements
dim I = 2, J = 3
const Is = 1e-4, Vt = 0.1, lift = 0.7
clamp gnd[I]
clamp gain[J]
param w[I, J] ~ uniform(0.1, 1)
state V[J]
state v[J] in [0.2, 5]
state n in nonnegative
fn diode'(u) = Is * (exp(u / Vt) - 1)
fn curve'(u) = 2 * u + tanh(3 * u) - 1/4 * relu(u)
energy wires = 1/2 * sum[i,j](w[i,j] * (V[j] - gnd[i])^2) + 1/3 * sum[j]((V[j] - v[j])^2) + 1/2 * sum[j]((v[j] + n)^2)
energy gated = 1/2 * sum[j](exp(gain[j]) * V[j]^2)
energy junctions = sum[j](diode(V[j] - lift) + diode(V[j] - v[j]))
energy curves = sum[j](w[0, j] * curve(v[j] - 1/5)) - 1/10 * n
readout out[j] = v[j]
cost c = 1/2 * sum[j](v[j]^2)
relax { step = 0.05, steps = 400 }
"""


def drawn(spec: str | Path, seed: int | None = None, low: float = -0.5, high: float = 1.5, **over: object) -> Problem:
    """A network with random weights, inside their bounds, and one random sample of its clamps."""
    seed = seed if seed is not None else int(os.environ.get("ENERGYC_SEED", np.random.SeedSequence().entropy % 2**32))
    print(f"seed {seed}")
    random = np.random.default_rng(seed)
    network = resolve(read(spec), Choices(None, over))
    clamps: dict[str, Any] = {}
    for name, clamp in network.clamps.items():
        size = tuple(network.extents[dim] for dim in clamp.node.dims)
        over_dim = clamp.node.over
        clamps[name] = (
            random.integers(0, network.extents[over_dim], size) if over_dim else random.uniform(low, high, size)
        )
    return problem(spec, Choices(None, over), clamps=clamps, seed=int(random.integers(2**31)))


def batched(values: dict[str, np.ndarray]) -> dict[str, torch.Tensor]:
    """One sample as a batch."""
    return {name: torch.as_tensor(value)[None] for name, value in values.items()}


def random_states(given: Problem, seed: int, low: float = -0.6, high: float = 1.2) -> dict[str, np.ndarray]:
    """States anywhere."""
    random = np.random.default_rng(seed)
    extents = given.network.extents
    shapes = {name: [extents[dim] for dim in state.node.dims] for name, state in given.network.states.items()}
    return {name: random.uniform(low, high, shape) for name, shape in shapes.items()}
