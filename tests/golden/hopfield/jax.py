"""hopfield: Continuous Hopfield network on digits, one hidden layer (Scellier and Bengio 2017).

Made by energyc 0.2.0 from hopfield.energy
SHA-256 of the spec: 323c6418a5bb33e7a2802e4db5ebed468a0bbbd69a39bb78f2686c33cc564fd3
Rules: centered-ep, implicit
Passes: hoist, share, separate, segments
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.custom_derivatives import linear_call
from jax.scipy.sparse.linalg import gmres
from jax.typing import DTypeLike

I, J, K = 784, 512, 10


class Params(NamedTuple):
    """The learned parameters."""

    W1: Array
    b1: Array
    W2: Array
    b2: Array


class Clamps(NamedTuple):
    """The inputs, a row for each sample."""

    x: Array


class Targets(NamedTuple):
    """The targets of the cost, a row for each sample."""

    label: Array


class States(NamedTuple):
    """s[J], y[K], a row for each sample."""

    s: Array
    y: Array


class Fixed(NamedTuple):
    """Clamps, and quantities that depend on clamps and params alone."""

    x: Array
    drive: Array


class Readouts(NamedTuple):
    """The readouts."""

    scores: Array


STEP = States(0.5, 0.5)
STEPS = 20
CHUNK = 25
MAX_STEPS = 200
TOLERANCE = 0.0001
NUDGE_STEPS = 8


def init(key: Array, dtype: DTypeLike = float) -> Params:
    """The first params, by the laws of the spec."""
    keys = jax.random.split(key, 2)
    return Params(
        W1=jax.random.uniform(keys[0], (I, J), dtype, -0.06804138174397717, 0.06804138174397717),
        b1=jnp.full((J,), 0, dtype),
        W2=0.011048543456039804 * jax.random.normal(keys[1], (J, K), dtype),
        b2=jnp.full((K,), 0.5, dtype),
    )


def prepare(params: Params, clamps: Clamps) -> Fixed:
    """The quantities that no step changes."""
    (x,) = clamps
    drive = x @ params.W1 + params.b1
    return Fixed(x, drive)


def start(params: Params, fixed: Fixed) -> States:
    """Zeros."""
    return States(
        jnp.zeros((len(fixed[0]), J), params.W1.dtype),
        jnp.zeros((len(fixed[0]), K), params.W1.dtype),
    )


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
    """The readouts.

    readout scores[k] = y[k]
    """
    _, y = states
    return Readouts(y)


def cost(params: Params, states: States, fixed: Fixed, targets: Targets) -> Array:
    """The cost of each sample.

    cost    mse       = 1/2 * sum[k]((y[k] - where(k == label, 1, 0))^2)
    """
    _, y = states
    (label,) = targets
    label_one_hot = 1.0 * (jnp.arange(K) == label[:, None])
    cost_part = y - label_one_hot
    cost = 0.5 * (cost_part * cost_part).sum(1)
    return cost


def metrics(params: Params, states: States, fixed: Fixed, targets: Targets) -> dict[str, Array]:
    """The metrics, which are only reported.

    metric  accuracy  = correct[k](y[k], label)
    """
    _, y = states
    (label,) = targets
    accuracy_part = first_largest(y, 1)
    accuracy = jnp.take_along_axis(accuracy_part, label[:, None], 1).squeeze(1)
    return {"accuracy": accuracy}


def cost_vjp(params: Params, states: States, fixed: Fixed, targets: Targets) -> tuple[States, Slopes]:
    """dC/dz of each sample; and the direct dC/dtheta.

    dC/dy[k] = y[k] - where(k == label, 1, 0)
    """
    _, y = states
    (label,) = targets
    label_one_hot = 1.0 * (jnp.arange(K) == label[:, None])
    slope_y = y - label_one_hot
    return States(jnp.zeros_like(states.s), slope_y), {}


def force_vjp(params: Params, states: States, fixed: Fixed, cotangents: States) -> tuple[States, Slopes]:
    """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
    s, y = states
    cot_s, cot_y = cotangents
    back_s = cot_y @ params.W2.T - cot_s
    back_y = cot_s @ params.W2 - cot_y
    return States(back_s, back_y), {
        "W1": fixed.x.T @ cot_s,
        "b1": cot_s.sum(0),
        "W2": s.T @ cot_y + cot_s.T @ y,
        "b2": cot_y.sum(0),
    }


def clamp_gradient(params: Params, states: States, fixed: Fixed, cotangents: States) -> Slopes:
    """<cotangents, dF/dx> for each real clamp."""
    cot_s, _ = cotangents
    grad_x = cot_s @ params.W1.T
    return {"x": grad_x}


def readout_vjp(params: Params, states: States, fixed: Fixed, cotangents: Readouts) -> tuple[States, Slopes]:
    """<cotangents, d readouts> by states, and by params and clamps."""
    (cot_scores,) = cotangents
    return States(jnp.zeros_like(states.s), cot_scores), {}


def energy_contrast(params: Params, plus: States, minus: States, fixed: Fixed) -> Slopes:
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


def project(states: States) -> States:
    """Each state onto its set."""
    return States(jnp.clip(states.s, 0, 1), jnp.clip(states.y, -1, 2))


def project_vjp(at: States, cotangents: States) -> States:
    """P^T cotangents, P the derivative of the projection at a point."""
    return States(
        jnp.where((at.s >= 0) & (at.s <= 1), cotangents.s, 0.0),
        jnp.where((at.y >= -1) & (at.y <= 2), cotangents.y, 0.0),
    )


def energy_slopes(params: Params, plus: States, minus: States, fixed: Fixed) -> list[Slopes]:
    """dE/dtheta at plus less that at minus."""
    return [energy_contrast(params, plus, minus, fixed)]


#: Slopes by the fields of params and clamps, those of params summed over the batch.
Slopes = dict[str, Array]


#: What a nudge subtracts from the force.
nudge = cost_force


#: The force that a nudge subtracts: ``drive(params, states, fixed, targets)``.
Drive = Callable[..., States]


#: Moves a pair of nudged phases by a step: ``advance(params, plus, minus, free, fixed, targets, beta)``.
Advance = Callable[..., tuple[States, States]]


answer.defvjp(answer_forward, answer_backward)


class Hopfield(Network):
    """The network with params of its own."""

    names = {"params": ("W1", "b1", "W2", "b2"), "states": ("s", "y"), "clamps": ("x",), "targets": ("label",)}
    rules = {"centered-ep": centered_ep, "implicit": implicit}


# Carried: Relaxed, Gradients, energy, step_sizes, moved, along, advanced, advanced_vjp, step, residual, change, length,
# chosen, settle, unsettled, free_phase, share, mean_cost_vjp, gradients, added, cotangent, cost_force, nudged_step,
# less, nudged, apart, phases, strength, rms, contrasted, contrast, relax, free_run, prepared, centered_ep, implicit,
# solved, norm, answer, answer_forward, answer_backward, first_largest, Rest, Network.
