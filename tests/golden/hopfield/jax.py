"""hopfield: Continuous Hopfield network on digits, one hidden layer (Scellier and Bengio 2017).

Made by energyc 0.3.0 from hopfield.energy
SHA-256 of the spec: 323c6418a5bb33e7a2802e4db5ebed468a0bbbd69a39bb78f2686c33cc564fd3
Rules: centered-ep, implicit
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from energyc import jax as ej

ej.require_contract(1)

I, J, K = 784, 512, 10


class Params(NamedTuple):
    W1: Array  # [I, J]
    b1: Array  # [J]
    W2: Array  # [J, K]
    b2: Array  # [K]


class Clamps(NamedTuple):
    x: Array  # [batch, I]


class Targets(NamedTuple):
    label: Array  # [batch]


class States(NamedTuple):
    s: Array  # [batch, J]
    y: Array  # [batch, K]


class Fixed(NamedTuple):
    x: Array  # [batch, I]
    drive: Array  # [batch, J]


class Readouts(NamedTuple):
    scores: Array  # [batch, K]


def init(key: Array, dtype: ej.DTypeLike = float) -> Params:
    """Draw params by the initializers of the spec."""
    keys = jax.random.split(key, 2)
    return Params(
        W1=jax.nn.initializers.glorot_uniform(in_axis=1, out_axis=0)(keys[0], (I, J), dtype),
        b1=jnp.full((J,), 0, dtype),
        W2=0.011048543456039804 * jax.random.normal(keys[1], (J, K), dtype),
        b2=jnp.full((K,), 0.5, dtype),
    )


def prepare(params: Params, clamps: Clamps) -> Fixed:
    """The quantities that no step changes."""
    (x,) = clamps
    drive = x @ params.W1 + params.b1
    return Fixed(x, drive)


def terms(params: Params, states: States, fixed: Fixed) -> dict[str, Array]:
    """Each energy term of each sample.

    energy leak     = 1/2 * sum[j](s[j]^2) + 1/2 * sum[k](y[k]^2)
    energy synapses = -sum[i,j](x[i] * W1[i,j] * s[j]) - sum[j,k](s[j] * W2[j,k] * y[k])
    energy biases   = -sum[j](b1[j] * s[j]) - sum[k](b2[k] * y[k])
    """
    s, y = states
    energy_leak = 0.5 * (s * s).sum(1) + 0.5 * (y * y).sum(1)
    energy_synapses = -(s * (fixed.x @ params.W1)).sum(1) - (y * (s @ params.W2)).sum(1)
    energy_biases = -(s @ params.b1) - y @ params.b2
    return {"leak": energy_leak, "synapses": energy_synapses, "biases": energy_biases}


def force(params: Params, states: States, fixed: Fixed) -> States:
    """The force on each state.

    F_s[j] = b1[j] - s[j] + sum[k](W2[j,k] * y[k]) + sum[i](x[i] * W1[i,j])
    F_y[k] = b2[k] - y[k] + sum[j](W2[j,k] * s[j])
    """
    s, y = states
    force_s = y @ params.W2.T + fixed.drive - s
    force_y = s @ params.W2 - y + params.b2
    return States(force_s, force_y)


def readouts(params: Params, states: States, fixed: Fixed) -> Readouts:
    """The readouts: scores[k] = y[k]"""
    _, y = states
    return Readouts(y)


def cost(params: Params, states: States, fixed: Fixed, targets: Targets) -> Array:
    """The cost of each sample: mse = 1/2 * sum[k]((y[k] - where(k == label, 1, 0))^2)"""
    _, y = states
    (label,) = targets
    label_one_hot = 1.0 * (jnp.arange(K) == label[:, None])
    cost_part = y - label_one_hot
    cost = 0.5 * (cost_part * cost_part).sum(1)
    return cost


def metrics(params: Params, states: States, fixed: Fixed, targets: Targets) -> dict[str, Array]:
    """The metrics, which are only reported: accuracy = correct[k](y[k], label)"""
    _, y = states
    (label,) = targets
    accuracy_part = ej.first_largest(y, 1)
    accuracy = jnp.take_along_axis(accuracy_part, label[:, None], 1).squeeze(1)
    return {"accuracy": accuracy}


def energy_contrast(params: Params, plus: States, minus: States, fixed: Fixed) -> dict[str, Array]:
    """dE/dtheta at plus less that at minus, summed over the batch.

    c_W1[i,j] = x[i] * (minus_s[j] - plus_s[j])
    c_b1[j] = minus_s[j] - plus_s[j]
    c_W2[j,k] = minus_y[k] * (minus_s[j] - plus_s[j]) + plus_s[j] * (minus_y[k] - plus_y[k])
    c_b2[k] = minus_y[k] - plus_y[k]
    """
    plus_s, plus_y = plus
    minus_s, minus_y = minus
    grad_b1 = minus_s - plus_s
    return {
        "W1": fixed.x.T @ grad_b1,
        "b1": grad_b1.sum(0),
        "W2": grad_b1.T @ minus_y + plus_s.T @ (minus_y - plus_y),
        "b2": minus_y.sum(0) - plus_y.sum(0),
    }


MODEL = ej.Model(
    records=ej.Records(Params, Clamps, States, Targets),
    sets={"s": ej.Box((J,), 0, 1), "y": ej.Box((K,), -1, 2)},
    settings=ej.Settings(step=0.5, steps=20, tolerance=0.0001, max_steps=200, nudge_steps=8),
    init=init,
    prepare=prepare,
    terms=terms,
    force=force,
    readouts=readouts,
    cost=cost,
    contrast=energy_contrast,
)
relax, step, residual, answer = ej.bind(MODEL, ej.relax, ej.step, ej.residual, ej.answer)
centered_ep, implicit = ej.bind(MODEL, ej.centered_ep, ej.implicit)
energy, project = MODEL.energy, MODEL.project


class Hopfield(ej.Network):
    """The network as an object with params of its own."""

    model = MODEL
    rules = {"centered-ep": centered_ep, "implicit": implicit}
