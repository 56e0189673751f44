"""sets: Params on sets: a Hopfield network with symmetric weights, an orthonormal code and unit vectors.

Made by energyc 0.3.0 from sets.energy
SHA-256 of the spec: a85be1e73d2ad41a596ce80230e68a213184a84ed8e2ad893963252cf7d57cd4
Rules: centered-ep, implicit
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from energyc import jax as ej

ej.require_contract(1)

I, N, K = 6, 5, 3


class Params(NamedTuple):
    W: Array  # [N, N]
    Q: Array  # [N, I]
    P: Array  # [K, N]


class Clamps(NamedTuple):
    x: Array  # [batch, I]


class Targets(NamedTuple):
    y: Array  # [batch, K]


class States(NamedTuple):
    s: Array  # [batch, N]


class Fixed(NamedTuple):
    x: Array  # [batch, I]
    x_Q_part: Array  # [batch, N]


class Readouts(NamedTuple):
    answer: Array  # [batch, K]


def init(key: Array, dtype: ej.DTypeLike = float) -> Params:
    """Draw params by the initializers of the spec."""
    keys = jax.random.split(key, 3)
    return Params(
        W=jnp.clip(
            ej.zero_diagonal(ej.mirrored(0.1 * jax.random.normal(keys[0], (N, N), dtype), (0,), (1,)), (0,), (1,)),
            -1,
            1,
        ),
        Q=ej.orthogonal(jax.random.normal(keys[1], (N, I), dtype), (0,), (1,)),
        P=ej.unit(jax.random.normal(keys[2], (K, N), dtype), (1,)),
    )


def prepare(params: Params, clamps: Clamps) -> Fixed:
    """The quantities that no step changes."""
    (x,) = clamps
    x_Q_part = x @ params.Q.T
    return Fixed(x, x_Q_part)


def terms(params: Params, states: States, fixed: Fixed) -> dict[str, Array]:
    """Each energy term of each sample.

    energy leak = 1/2 * sum[n](s[n]^2)
    energy drive = -sum[n,i](Q[n,i] * x[i] * s[n])
    """
    (s,) = states
    energy_leak = 0.5 * (s * s).sum(1)
    energy_drive = -(s * fixed.x_Q_part).sum(1)
    return {"leak": energy_leak, "drive": energy_drive}


def force(params: Params, states: States, fixed: Fixed) -> States:
    """The force on each state: F_s[n] = sum[m](W[n,m] * s[m]) + sum[i](x[i] * Q[n,i]) - s[n]"""
    (s,) = states
    force_s = s @ params.W.T + fixed.x_Q_part - s
    return States(force_s)


def readouts(params: Params, states: States, fixed: Fixed) -> Readouts:
    """The readouts: answer[k] = sum[n](P[k,n] * s[n])"""
    (s,) = states
    answer = s @ params.P.T
    return Readouts(answer)


def cost(params: Params, states: States, fixed: Fixed, targets: Targets) -> Array:
    """The cost of each sample: mse = mean[k]((answer[k] - y[k])^2)"""
    (s,) = states
    (y,) = targets
    cost_part = s @ params.P.T - y
    cost = (cost_part * cost_part).mean(1)
    return cost


def energy_contrast(params: Params, plus: States, minus: States, fixed: Fixed) -> dict[str, Array]:
    """dE/dtheta at plus less that at minus, summed over the batch.

    c_Q[n,i] = x[i] * (minus_s[n] - plus_s[n])
    """
    (plus_s,) = plus
    (minus_s,) = minus
    grad_Q_part = minus_s - plus_s
    return {"Q": grad_Q_part.T @ fixed.x}


def project_params(params: Params) -> Params:
    """Each param put back on its set, as after an update."""
    return Params(
        jnp.clip(ej.zero_diagonal(ej.symmetric(params.W, (0,), (1,)), (0,), (1,)), -1, 1),
        ej.orthogonal(params.Q, (0,), (1,)),
        ej.unit(params.P, (1,)),
    )


def project_gradients(params: Params, gradients: Params) -> Params:
    """The parts of gradients along the sets of their params."""
    return Params(
        ej.zero_diagonal(ej.symmetric(gradients.W, (0,), (1,)), (0,), (1,)),
        ej.along_orthogonal(gradients.Q, params.Q, (0,), (1,)),
        ej.along_sphere(gradients.P, params.P, (1,)),
    )


MODEL = ej.Model(
    records=ej.Records(Params, Clamps, States, Targets),
    sets={"s": ej.Box((N,), -1, 1)},
    settings=ej.Settings(step=0.5, steps=30, beta=0.5, nudge_steps=10),
    init=init,
    prepare=prepare,
    terms=terms,
    force=force,
    readouts=readouts,
    cost=cost,
    contrast=energy_contrast,
    force_params=("W",),
)
relax, step, residual, answer = ej.bind(MODEL, ej.relax, ej.step, ej.residual, ej.answer)
centered_ep, implicit = ej.bind(MODEL, ej.centered_ep, ej.implicit)
energy, project = MODEL.energy, MODEL.project


class Sets(ej.Network):
    """The network as an object with params of its own."""

    model = MODEL
    rules = {"centered-ep": centered_ep, "implicit": implicit}
