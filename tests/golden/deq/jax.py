"""deq: A deep equilibrium layer (Bai, Kolter, Koltun 2019): z = tanh(W z + U x + b).

Made by energyc 0.2.0 from deq.energy
SHA-256 of the spec: f9fde5a44b4ecebd6ed2de66abac423e06f92243b696dff29e80006611b5a637
Rules: implicit
Passes: hoist, share, separate, segments
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.custom_derivatives import linear_call
from jax.scipy.sparse.linalg import gmres
from jax.typing import DTypeLike

I, D, K = 64, 128, 10


class Params(NamedTuple):
    """The learned parameters."""

    W: Array
    U: Array
    b: Array
    W_out: Array
    b_out: Array


class Clamps(NamedTuple):
    """The inputs, a row for each sample."""

    x: Array


class Targets(NamedTuple):
    """The targets of the cost, a row for each sample."""

    label: Array


class States(NamedTuple):
    """z[D], a row for each sample."""

    z: Array


class Fixed(NamedTuple):
    """Clamps, and quantities that depend on clamps and params alone."""

    x: Array
    drive: Array


class Readouts(NamedTuple):
    """The readouts."""

    logits: Array


STEP = States(1)
STEPS = 50
CHUNK = 25
MAX_STEPS = 500
TOLERANCE = 1e-05
EXPLOSION = 10000.0


def init(key: Array, dtype: DTypeLike = float) -> Params:
    """The first params, by the laws of the spec."""
    keys = jax.random.split(key, 3)
    return Params(
        W=0.044194173824159216 * jax.random.normal(keys[0], (D, D), dtype),
        U=0.1767766952966369 * jax.random.normal(keys[1], (D, I), dtype),
        b=jnp.full((D,), 0, dtype),
        W_out=0.125 * jax.random.normal(keys[2], (K, D), dtype),
        b_out=jnp.full((K,), 0, dtype),
    )


def prepare(params: Params, clamps: Clamps) -> Fixed:
    """The quantities that no step changes."""
    (x,) = clamps
    drive = x @ params.U.T + params.b
    return Fixed(x, drive)


def start(params: Params, fixed: Fixed) -> States:
    """Zeros."""
    return States(jnp.zeros((len(fixed[0]), D), params.W.dtype))


def force(params: Params, states: States, fixed: Fixed) -> States:
    """The force on each state.

    next z[d] = tanh(sum[e](W[d,e] * z[e]) + sum[i](U[d,i] * x[i]) + b[d])
    F_z[d] = tanh(b[d] + sum[e](W[d,e] * z[e]) + sum[i](x[i] * U[d,i])) - z[d]
    """
    (z,) = states
    tanh_argument = z @ params.W.T + fixed.drive
    force_z = jnp.tanh(tanh_argument) - z
    return States(force_z)


def readouts(params: Params, states: States, fixed: Fixed) -> Readouts:
    """The readouts.

    readout logits[k] = sum[d](W_out[k,d] * z[d]) + b_out[k]
    """
    (z,) = states
    logits = z @ params.W_out.T + params.b_out
    return Readouts(logits)


def cost(params: Params, states: States, fixed: Fixed, targets: Targets) -> Array:
    """The cost of each sample.

    cost ce = cross_entropy[k](logits[k], label)
    """
    (z,) = states
    (label,) = targets
    scores = z @ params.W_out.T + params.b_out
    logsumexp = jax.nn.logsumexp(scores, 1)
    cost = logsumexp - jnp.take_along_axis(scores, label[:, None], 1).squeeze(1)
    return cost


def metrics(params: Params, states: States, fixed: Fixed, targets: Targets) -> dict[str, Array]:
    """The metrics, which are only reported.

    metric accuracy = correct[k](logits[k], label)
    """
    (z,) = states
    (label,) = targets
    accuracy_part = z @ params.W_out.T + params.b_out
    accuracy_part_2 = first_largest(accuracy_part, 1)
    accuracy = jnp.take_along_axis(accuracy_part_2, label[:, None], 1).squeeze(1)
    return {"accuracy": accuracy}


def cost_vjp(params: Params, states: States, fixed: Fixed, targets: Targets) -> tuple[States, Slopes]:
    """dC/dz of each sample; and the direct dC/dtheta.

    dC/dz[d] = sum[k](W_out[k,d] * (softmax[k](b_out[k] + sum[e](W_out[k,e] * z[e])) - where(k == label, 1, 0)))
    dC/dW_out[k,d] = z[d] * (softmax[k](b_out[k] + sum[e](W_out[k,e] * z[e])) - where(k == label, 1, 0))
    dC/db_out[k] = softmax[k](b_out[k] + sum[d](W_out[k,d] * z[d])) - where(k == label, 1, 0)
    """
    (z,) = states
    (label,) = targets
    label_one_hot = 1.0 * (jnp.arange(K) == label[:, None])
    scores = z @ params.W_out.T + params.b_out
    weights = jax.nn.softmax(scores, 1)
    grad_b_out = weights - label_one_hot
    slope_z = grad_b_out @ params.W_out
    return States(slope_z), {"W_out": grad_b_out.T @ z, "b_out": grad_b_out.sum(0)}


def force_vjp(params: Params, states: States, fixed: Fixed, cotangents: States) -> tuple[States, Slopes]:
    """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
    (z,) = states
    (cot_z,) = cotangents
    tanh_argument = z @ params.W.T + fixed.drive
    tanh = jnp.tanh(tanh_argument)
    grad_b_part = -(tanh * tanh) + 1
    grad_b = cot_z * grad_b_part
    back_z = grad_b @ params.W - cot_z
    return States(back_z), {"W": grad_b.T @ z, "U": grad_b.T @ fixed.x, "b": grad_b.sum(0)}


def clamp_gradient(params: Params, states: States, fixed: Fixed, cotangents: States) -> Slopes:
    """<cotangents, dF/dx> for each real clamp."""
    (z,) = states
    (cot_z,) = cotangents
    tanh_argument = z @ params.W.T + fixed.drive
    tanh = jnp.tanh(tanh_argument)
    grad_x_part = -(tanh * tanh) + 1
    grad_x = cot_z * grad_x_part @ params.U
    return {"x": grad_x}


def readout_vjp(params: Params, states: States, fixed: Fixed, cotangents: Readouts) -> tuple[States, Slopes]:
    """<cotangents, d readouts> by states, and by params and clamps."""
    (z,) = states
    (cot_logits,) = cotangents
    back_z = cot_logits @ params.W_out
    return States(back_z), {"W_out": cot_logits.T @ z, "b_out": cot_logits.sum(0)}


#: Slopes by the fields of params and clamps, those of params summed over the batch.
Slopes = dict[str, Array]


answer.defvjp(answer_forward, answer_backward)


class Deq(Network):
    """The network with params of its own."""

    names = {"params": ("W", "U", "b", "W_out", "b_out"), "states": ("z",), "clamps": ("x",), "targets": ("label",)}
    rules = {"implicit": implicit}


# Carried: Relaxed, Gradients, step_sizes, moved, along, advanced, advanced_vjp, step, residual, change, length, chosen,
# settle, unsettled, free_phase, checked, immobile, shaken, share, mean_cost_vjp, gradients, added, cotangent, relax,
# free_run, prepared, implicit, solved, norm, answer, answer_forward, answer_backward, project, project_vjp,
# first_largest, Rest, Network.
