"""hopfield_conv: Deep convolutional Hopfield network: two convolutions with max pooling and a linear output
(Laborieux et al. 2021).

Made by energyc 0.2.0 from hopfield_conv.energy
SHA-256 of the spec: 63510006bdd74acd46b8903fc8d923e67a9f953038faa1734b67c5c9089bf253
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

C, S, P, R, C1, U, S1, C2 = 3, 32, 3, 2, 64, 30, 15, 128
V, Q, S2, K = 12, 4, 6, 10


class Params(NamedTuple):
    """The learned parameters."""

    W1: Array
    b1: Array
    W2: Array
    b2: Array
    W3: Array
    b3: Array


class Clamps(NamedTuple):
    """The inputs, a row for each sample."""

    x: Array


class Targets(NamedTuple):
    """The targets of the cost, a row for each sample."""

    label: Array


class States(NamedTuple):
    """s1[C1, S1, S1], s2[C2, S2, S2], y[K], a row for each sample."""

    s1: Array
    s2: Array
    y: Array


class Fixed(NamedTuple):
    """Clamps, and quantities that depend on clamps and params alone."""

    x: Array
    x_part: Array
    drive: Array
    drive_2: Array


class Readouts(NamedTuple):
    """The readouts."""

    scores: Array


STEP = States(0.5, 0.5, 0.5)
STEPS = 40
CHUNK = 25
MAX_STEPS = 400
TOLERANCE = 0.0001
NUDGE_STEPS = 12


def init(key: Array, dtype: DTypeLike = float) -> Params:
    """The first params, by the laws of the spec."""
    keys = jax.random.split(key, 3)
    return Params(
        W1=0.2721655269759087 * jax.random.normal(keys[0], (C1, C, P, P), dtype),
        b1=jnp.full((C1,), 0, dtype),
        W2=0.0078125 * jax.random.normal(keys[1], (C2, C1, Q, Q), dtype),
        b2=jnp.full((C2,), 0, dtype),
        W3=0.007365695637359871 * jax.random.normal(keys[2], (K, C2, S2, S2), dtype),
        b3=jnp.full((K,), 0.5, dtype),
    )


def prepare(params: Params, clamps: Clamps) -> Fixed:
    """The quantities that no step changes."""
    (x,) = clamps
    x_part = windows(windows(x, 2, 0, (U, P), (1, 1)), 4, 0, (U, P), (1, 1))
    a1 = jnp.einsum("Bcupaq,ocpq->Buao", x_part, params.W1).transpose(0, 3, 1, 2) + params.b1[:, None, None]
    product = windows(windows(a1, 2, 0, (S1, R), (R, 1)), 4, 0, (S1, R), (R, 1))
    drive = largest_entry(product, (3, 5))
    drive_2 = first_largest(product, (3, 5))
    return Fixed(x, x_part, drive, drive_2)


def start(params: Params, fixed: Fixed) -> States:
    """Zeros."""
    return States(
        jnp.zeros((len(fixed[0]), C1, S1, S1), params.W1.dtype),
        jnp.zeros((len(fixed[0]), C2, S2, S2), params.W1.dtype),
        jnp.zeros((len(fixed[0]), K), params.W1.dtype),
    )


def terms(params: Params, states: States, fixed: Fixed) -> dict[str, Array]:
    """Each energy term of each sample.

    energy leak  = 1/2 * sum[o,i,j](s1[o,i,j]^2) + 1/2 * sum[o,i,j](s2[o,i,j]^2) + 1/2 * sum[k](y[k]^2)
    energy conv1 = -sum[o,i,j](s1[o,i,j] * max[e in R, f in R](a1[o, R*i + e, R*j + f]))
    energy conv2 = -sum[o,i,j](s2[o,i,j] * max[e in R, f in R](a2[o, R*i + e, R*j + f]))
    energy full  = -sum[k](y[k] * (sum[o,i,j](W3[k,o,i,j] * s2[o,i,j]) + b3[k]))
    """
    s1, s2, y = states
    energy_leak = 0.5 * (s1 * s1).sum((1, 2, 3)) + 0.5 * (s2 * s2).sum((1, 2, 3)) + 0.5 * (y * y).sum(1)
    energy_conv1 = -(s1 * fixed.drive).sum((1, 2, 3))
    a2_part = jnp.einsum(
        "Bcvpaq,ocpq->Bvao",
        windows(windows(s1, 2, 0, (V, Q), (1, 1)), 4, 0, (V, Q), (1, 1)),
        params.W2,
    ).transpose(0, 3, 1, 2)
    a2 = a2_part + params.b2[:, None, None]
    energy_conv2_part = largest_entry(
        windows(windows(a2, 2, 0, (S2, R), (R, 1)), 4, 0, (S2, R), (R, 1)),
        (3, 5),
    )
    energy_conv2 = -(s2 * energy_conv2_part).sum((1, 2, 3))
    energy_full_part = jnp.einsum("Boij,koij->Bk", s2, params.W3) + params.b3
    energy_full = -(y * energy_full_part).sum(1)
    return {"leak": energy_leak, "conv1": energy_conv1, "conv2": energy_conv2, "full": energy_full}


def force(params: Params, states: States, fixed: Fixed) -> States:
    """The force on each state.

    F_s1[o,i,j] = max[r in R, r2 in R](a1[o, R*i + r, R*j + r2]) - s1[o,i,j] + sum[c2, p, q, u in V, v in V | i ==
        u + p and j == v + q](W2[c2,o,p,q] * sum[s22, r in R, s23, r2 in R | u == R*s22 + r and v == R*s23 +
        r2](s2[c2,s22,s23] * argmax[r in R, r2 in R](a2[c2, R*s22 + r, R*s23 + r2])))
    F_s2[o,i,j] = max[r in R, r2 in R](a2[o, R*i + r, R*j + r2]) - s2[o,i,j] + sum[k](W3[k,o,i,j] * y[k])
    F_y[k] = b3[k] - y[k] + sum[o,i,j](W3[k,o,i,j] * s2[o,i,j])
    """
    s1, s2, y = states
    a2_part = jnp.einsum(
        "Bcvpaq,ocpq->Bvao",
        windows(windows(s1, 2, 0, (V, Q), (1, 1)), 4, 0, (V, Q), (1, 1)),
        params.W2,
    ).transpose(0, 3, 1, 2)
    a2 = a2_part + params.b2[:, None, None]
    product = windows(windows(a2, 2, 0, (S2, R), (R, 1)), 4, 0, (S2, R), (R, 1))
    pull_a2_part = first_largest(product, (3, 5))
    pull_a2 = overlap_add(
        overlap_add(
            (pull_a2_part * s2[:, :, :, None, :, None]).transpose(0, 1, 4, 5, 2, 3),
            V,
            0,
            (R, 1),
        ).transpose(0, 1, 4, 2, 3),
        V,
        0,
        (R, 1),
    )
    force_s1 = (
        fixed.drive
        + overlap_add(
            overlap_add(
                jnp.einsum("Bcva,copq->Bvaopq", pull_a2, params.W2).transpose(0, 2, 3, 5, 1, 4),
                S1,
                0,
                (1, 1),
            ).transpose(0, 2, 4, 1, 3),
            S1,
            0,
            (1, 1),
        )
        - s1
    )
    force_s2_part = largest_entry(product, (3, 5))
    force_s2 = jnp.einsum("Bk,koij->Boij", y, params.W3) + force_s2_part - s2
    force_y = jnp.einsum("Boij,koij->Bk", s2, params.W3) - y + params.b3
    return States(force_s1, force_s2, force_y)


def readouts(params: Params, states: States, fixed: Fixed) -> Readouts:
    """The readouts.

    readout scores[k] = y[k]
    """
    _, _, y = states
    return Readouts(y)


def cost(params: Params, states: States, fixed: Fixed, targets: Targets) -> Array:
    """The cost of each sample.

    cost    mse       = 1/2 * sum[k]((y[k] - where(k == label, 1, 0))^2)
    """
    _, _, y = states
    (label,) = targets
    label_one_hot = 1.0 * (jnp.arange(K) == label[:, None])
    cost_part = y - label_one_hot
    cost = 0.5 * (cost_part * cost_part).sum(1)
    return cost


def metrics(params: Params, states: States, fixed: Fixed, targets: Targets) -> dict[str, Array]:
    """The metrics, which are only reported.

    metric  accuracy  = correct[k](y[k], label)
    """
    _, _, y = states
    (label,) = targets
    accuracy_part = first_largest(y, 1)
    accuracy = jnp.take_along_axis(accuracy_part, label[:, None], 1).squeeze(1)
    return {"accuracy": accuracy}


def cost_vjp(params: Params, states: States, fixed: Fixed, targets: Targets) -> tuple[States, Slopes]:
    """dC/dz of each sample; and the direct dC/dtheta.

    dC/dy[k] = y[k] - where(k == label, 1, 0)
    """
    _, _, y = states
    (label,) = targets
    label_one_hot = 1.0 * (jnp.arange(K) == label[:, None])
    slope_y = y - label_one_hot
    return States(jnp.zeros_like(states.s1), jnp.zeros_like(states.s2), slope_y), {}


def force_vjp(params: Params, states: States, fixed: Fixed, cotangents: States) -> tuple[States, Slopes]:
    """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
    s1, s2, y = states
    cot_s1, cot_s2, cot_y = cotangents
    product = windows(windows(s1, 2, 0, (V, Q), (1, 1)), 4, 0, (V, Q), (1, 1))
    a2 = jnp.einsum("Bcvpaq,ocpq->Bvao", product, params.W2).transpose(0, 3, 1, 2) + params.b2[:, None, None]
    part = first_largest(windows(windows(a2, 2, 0, (S2, R), (R, 1)), 4, 0, (S2, R), (R, 1)), (3, 5))
    pull_a2 = overlap_add(
        overlap_add(
            (part * cot_s2[:, :, :, None, :, None]).transpose(0, 1, 4, 5, 2, 3),
            V,
            0,
            (R, 1),
        ).transpose(0, 1, 4, 2, 3),
        V,
        0,
        (R, 1),
    )
    back_s1 = (
        overlap_add(
            overlap_add(
                jnp.einsum("Bcva,copq->Bvaopq", pull_a2, params.W2).transpose(0, 2, 3, 5, 1, 4),
                S1,
                0,
                (1, 1),
            ).transpose(0, 2, 4, 1, 3),
            S1,
            0,
            (1, 1),
        )
        - cot_s1
    )
    product_2 = windows(windows(cot_s1, 2, 0, (V, Q), (1, 1)), 4, 0, (V, Q), (1, 1))
    back_s2_part = windows(
        windows(jnp.einsum("Bcvpaq,ocpq->Bvao", product_2, params.W2), 1, 0, (S2, R), (R, 1)),
        3,
        0,
        (S2, R),
        (R, 1),
    )
    back_s2 = (
        jnp.einsum("Bk,koij->Boij", cot_y, params.W3)
        + (part * back_s2_part.transpose(0, 5, 1, 2, 3, 4)).sum((3, 5))
        - cot_s2
    )
    back_y = jnp.einsum("Boij,koij->Bk", cot_s2, params.W3) - cot_y
    pull_a1 = overlap_add(
        overlap_add(
            (fixed.drive_2 * cot_s1[:, :, :, None, :, None]).transpose(0, 1, 4, 5, 2, 3),
            U,
            0,
            (R, 1),
        ).transpose(0, 1, 4, 2, 3),
        U,
        0,
        (R, 1),
    )
    pull_a2_2 = overlap_add(
        overlap_add(
            (part * s2[:, :, :, None, :, None]).transpose(0, 1, 4, 5, 2, 3),
            V,
            0,
            (R, 1),
        ).transpose(0, 1, 4, 2, 3),
        V,
        0,
        (R, 1),
    )
    return States(back_s1, back_s2, back_y), {
        "W1": jnp.einsum("Bcupaq,Boua->ocpq", fixed.x_part, pull_a1),
        "b1": pull_a1.sum((0, 2, 3)),
        "W2": (
            jnp.einsum("Bcvpaq,Bova->ocpq", product_2, pull_a2_2)
            + jnp.einsum("Bcvpaq,Bova->ocpq", product, pull_a2)
        ),
        "b2": pull_a2.sum((0, 2, 3)),
        "W3": jnp.einsum("Boij,Bk->koij", s2, cot_y) + jnp.einsum("Boij,Bk->koij", cot_s2, y),
        "b3": cot_y.sum(0),
    }


def clamp_gradient(params: Params, states: States, fixed: Fixed, cotangents: States) -> Slopes:
    """<cotangents, dF/dx> for each real clamp."""
    cot_s1, _, _ = cotangents
    pull_a1 = overlap_add(
        overlap_add(
            (fixed.drive_2 * cot_s1[:, :, :, None, :, None]).transpose(0, 1, 4, 5, 2, 3),
            U,
            0,
            (R, 1),
        ).transpose(0, 1, 4, 2, 3),
        U,
        0,
        (R, 1),
    )
    grad_x = overlap_add(
        overlap_add(
            jnp.einsum("Boua,ocpq->Buacpq", pull_a1, params.W1).transpose(0, 2, 3, 5, 1, 4),
            S,
            0,
            (1, 1),
        ).transpose(0, 2, 4, 1, 3),
        S,
        0,
        (1, 1),
    )
    return {"x": grad_x}


def readout_vjp(params: Params, states: States, fixed: Fixed, cotangents: Readouts) -> tuple[States, Slopes]:
    """<cotangents, d readouts> by states, and by params and clamps."""
    (cot_scores,) = cotangents
    return States(jnp.zeros_like(states.s1), jnp.zeros_like(states.s2), cot_scores), {}


def energy_gradient(params: Params, states: States, fixed: Fixed) -> Slopes:
    """dE/dtheta, summed over the batch, of what no single product contrasts.

    dE/dW2[o,c,p,q] = -sum[u in V, v in V](s1[c, u + p, v + q] * sum[i, r in R, j, r2 in R | u == R*i + r and v ==
        R*j + r2](s2[o,i,j] * argmax[r in R, r2 in R](a2[o, R*i + r, R*j + r2])))
    dE/db2[o] = -sum[u in V, v in V](sum[i, r in R, j, r2 in R | u == R*i + r and v == R*j + r2](s2[o,i,j] *
        argmax[r in R, r2 in R](a2[o, R*i + r, R*j + r2])))
    """
    s1, s2, _ = states
    product = windows(windows(s1, 2, 0, (V, Q), (1, 1)), 4, 0, (V, Q), (1, 1))
    a2 = jnp.einsum("Bcvpaq,ocpq->Bvao", product, params.W2).transpose(0, 3, 1, 2) + params.b2[:, None, None]
    pull_a2_part = first_largest(windows(windows(a2, 2, 0, (S2, R), (R, 1)), 4, 0, (S2, R), (R, 1)), (3, 5))
    pull_a2 = overlap_add(
        overlap_add(
            (pull_a2_part * s2[:, :, :, None, :, None]).transpose(0, 1, 4, 5, 2, 3),
            V,
            0,
            (R, 1),
        ).transpose(0, 1, 4, 2, 3),
        V,
        0,
        (R, 1),
    )
    return {"W2": -jnp.einsum("Bcvpaq,Bova->ocpq", product, pull_a2), "b2": -pull_a2.sum((0, 2, 3))}


def energy_contrast(params: Params, plus: States, minus: States, fixed: Fixed) -> Slopes:
    """dE/dtheta at plus less that at minus, summed over the batch.

    c_W1[o,c,p,q] = sum[u in U, v in U](x[c, u + p, v + q] * sum[i, r in R, j, r2 in R | u == R*i + r and v == R*j
        + r2](argmax[r in R, r2 in R](a1[o, R*i + r, R*j + r2]) * (minus_s1[o,i,j] - plus_s1[o,i,j])))
    c_b1[o] = sum[u in U, v in U](sum[i, r in R, j, r2 in R | u == R*i + r and v == R*j + r2](argmax[r in R, r2 in
        R](a1[o, R*i + r, R*j + r2]) * (minus_s1[o,i,j] - plus_s1[o,i,j])))
    c_W3[k,o,i,j] = minus_y[k] * (minus_s2[o,i,j] - plus_s2[o,i,j]) + plus_s2[o,i,j] * (minus_y[k] - plus_y[k])
    c_b3[k] = minus_y[k] - plus_y[k]
    """
    plus_s1, plus_s2, plus_y = plus
    minus_s1, minus_s2, minus_y = minus
    total = minus_s1 - plus_s1
    product = overlap_add(
        overlap_add(
            (fixed.drive_2 * total[:, :, :, None, :, None]).transpose(0, 1, 4, 5, 2, 3),
            U,
            0,
            (R, 1),
        ).transpose(0, 1, 4, 2, 3),
        U,
        0,
        (R, 1),
    )
    grad_W3_part = minus_s2 - plus_s2
    return {
        "W1": jnp.einsum("Bcupaq,Boua->ocpq", fixed.x_part, product),
        "b1": product.sum((0, 2, 3)),
        "W3": (
            jnp.einsum("Boij,Bk->koij", grad_W3_part, minus_y)
            + jnp.einsum("Boij,Bk->koij", plus_s2, minus_y - plus_y)
        ),
        "b3": minus_y.sum(0) - plus_y.sum(0),
    }


def project(states: States) -> States:
    """Each state onto its set."""
    return States(jnp.clip(states.s1, 0, 1), jnp.clip(states.s2, 0, 1), jnp.clip(states.y, -1, 2))


def project_vjp(at: States, cotangents: States) -> States:
    """P^T cotangents, P the derivative of the projection at a point."""
    return States(
        jnp.where((at.s1 >= 0) & (at.s1 <= 1), cotangents.s1, 0.0),
        jnp.where((at.s2 >= 0) & (at.s2 <= 1), cotangents.s2, 0.0),
        jnp.where((at.y >= -1) & (at.y <= 2), cotangents.y, 0.0),
    )


def energy_slopes(params: Params, plus: States, minus: States, fixed: Fixed) -> list[Slopes]:
    """dE/dtheta at plus less that at minus."""
    return [
        energy_contrast(params, plus, minus, fixed),
        less(energy_gradient(params, plus, fixed), energy_gradient(params, minus, fixed)),
    ]


#: Slopes by the fields of params and clamps, those of params summed over the batch.
Slopes = dict[str, Array]


#: What a nudge subtracts from the force.
nudge = cost_force


#: The force that a nudge subtracts: ``drive(params, states, fixed, targets)``.
Drive = Callable[..., States]


#: Moves a pair of nudged phases by a step: ``advance(params, plus, minus, free, fixed, targets, beta)``.
Advance = Callable[..., tuple[States, States]]


answer.defvjp(answer_forward, answer_backward)


class HopfieldConv(Network):
    """The network with params of its own."""

    names = {
        "params": ("W1", "b1", "W2", "b2", "W3", "b3"),
        "states": ("s1", "s2", "y"),
        "clamps": ("x",),
        "targets": ("label",),
    }
    rules = {"centered-ep": centered_ep, "implicit": implicit}


# Carried: Relaxed, Gradients, energy, step_sizes, moved, along, advanced, advanced_vjp, step, residual, change, length,
# chosen, settle, unsettled, free_phase, share, mean_cost_vjp, gradients, added, cotangent, cost_force, nudged_step,
# less, nudged, apart, phases, strength, rms, contrasted, contrast, relax, free_run, prepared, centered_ep, implicit,
# solved, norm, answer, answer_forward, answer_backward, windows, overlap_add, window_places, largest_entry,
# first_largest, Rest, Network.
