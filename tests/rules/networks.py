"""Networks with a clamped state, and their data."""

from __future__ import annotations

import os
from typing import Any

import torch
from torch import Tensor

import energyc

#: Hidden and output units in boxes, and weights between them both ways.
HOPFIELD = """\
network little
dim I = 7, J = 6, K = 4
clamp x[I]
target label : K
param W1[I, J] ~ normal(0.4), b1[J] = 0.3
param W2[J, K] ~ uniform(0.2), b2[K] = 1/2
state s[J] in [0, 1], y[K] in [0, 1]
clamped y[k] = where(k == label, 1, 0)
energy leak = 1/2 * sum[j](s[j]^2) + 1/2 * sum[k](y[k]^2)
energy synapses = -sum[i,j](x[i] * W1[i,j] * s[j]) - sum[j,k](s[j] * W2[j,k] * y[k])
energy biases = -sum[j](b1[j] * s[j]) - sum[k](b2[k] * y[k])
readout scores[k] = y[k]
cost mse = 1/2 * sum[k]((y[k] - where(k == label, 1, 0))^2)
relax { step = 1/2, steps = 30, tolerance = 1e-4 }
"""

#: Three layers of predictions; ``v`` is the variance of the last one.
PREDICTIONS = """\
network coding
dim I = 6, J = 5, L = 4, K = 3
const v = 1
clamp x[I]
target t[K]
param W1[J, I], W2[L, J], W3[K, L] ~ uniform(0.6)
param b1[J], b2[L], b3[K] ~ normal(0.2)
state s1[J], s2[L], y[K]
clamped y[k] = t[k]
let m1[j] = sum[i](W1[j,i] * x[i]) + b1[j]
let m2[l] = sum[j](W2[l,j] * tanh(s1[j])) + b2[l]
let m3[k] = sum[l](W3[k,l] * tanh(s2[l])) + b3[k]
let p2[l] = sum[j](W2[l,j] * tanh(m1[j])) + b2[l]
start s1[j] = m1[j]
start s2[l] = p2[l]
start y[k] = sum[l](W3[k,l] * tanh(p2[l])) + b3[k]
energy first = 1/2 * sum[j]((s1[j] - m1[j])^2)
energy second = 1/2 * sum[l]((s2[l] - m2[l])^2)
energy third = 1/(2*v) * sum[k]((y[k] - m3[k])^2)
readout out[k] = y[k]
cost mse = 1/2 * sum[k]((y[k] - t[k])^2)
relax { step = 0.1, steps = 50 }
"""

#: A force that is not a gradient.
TURNED = """\
network turned
dim D = 5
clamp x[D]
target t[D]
param A[D, D] ~ uniform(0.35)
state z[D]
energy leak = 1/2 * sum[d]((z[d] - x[d])^2)
force swirl on z[d] = tanh(sum[e](A[d,e] * z[e]))
readout out[d] = z[d]
cost mse = 1/2 * sum[d]((z[d] - t[d])^2)
relax { step = 0.4, steps = 50 }
"""

SEED = int(os.environ["ENERGYC_SEED"])
STEPS = 3000
BATCH = 3

Tensors = dict[str, Tensor]


def loaded(spec: str, **settings: object) -> Any:
    """A network in float64, its params drawn by the seed of the run; dots in settings are underscores."""
    named = {name.replace("__", "."): value for name, value in settings.items()}
    consts = {name: named.pop(name) for name in list(named) if "." not in name}
    return energyc.load(spec, dtype=torch.float64, seed=SEED % 1000, consts=consts, settings=named)


def drawn(net: Any, scale: float = 1.0) -> tuple[Tensors, Tensors]:
    """Clamps and targets by the seed of the run."""
    random = torch.Generator().manual_seed(SEED)

    def draw(shape: tuple[int, ...], classes: int | None) -> Tensor:
        if classes is not None:
            return torch.randint(classes, (BATCH, *shape), generator=random)
        return scale * torch.randn((BATCH, *shape), generator=random, dtype=torch.float64)

    clamps = {name: draw(*kind) for name, kind in net.clamp_shapes.items()}
    return clamps, {name: draw(*kind) for name, kind in net.target_shapes.items()}


def gradient(net: Any, rule: str, data: tuple[Tensors, Tensors], **settings: Any) -> Tensors:
    """The gradients of a rule, all phases long enough to settle."""
    params: Tensors = net.gradients(*data, rule, **{"steps": STEPS, "allow_biased": True, **settings}).params
    return params


def distance(found: Tensors, expected: Tensors) -> float:
    """The difference of two gradients, relative to the second one."""
    apart = sum(float((found[name] - value).square().sum()) for name, value in expected.items())
    return (apart / sum(float(value.square().sum()) for value in expected.values())) ** 0.5


def scaled(gradients: Tensors, factor: float) -> Tensors:
    """A gradient times a number."""
    return {name: factor * value for name, value in gradients.items()}
