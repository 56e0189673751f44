"""thick: Equilibrium transformer block "thick": character language model, not conservative.

Made by energyc 0.2.0 from thick.energy
SHA-256 of the spec: 086b1a41b9986a36fdcd3ef5fad2c24d12b34101d23bb4c5e0ddb6e6783a878c
Rules: tracking-aep, implicit
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

T, D, H, A, F_2, V = 64, 128, 4, 32, 512, 65
scale = A ** -0.5
MASK = np.arange(T)[:, None] <= np.arange(T)[None, :]


class Params(NamedTuple):
    """The learned parameters."""

    tok: Array
    pos: Array
    g1: Array
    h1: Array
    g2: Array
    h2: Array
    W_q: Array
    W_k: Array
    W_v: Array
    W_o: Array
    W1: Array
    b1: Array
    W2: Array
    b2: Array
    W_head: Array


class Clamps(NamedTuple):
    """The inputs, a row for each sample."""

    idx: Array


class Targets(NamedTuple):
    """The targets of the cost, a row for each sample."""

    label: Array


class States(NamedTuple):
    """z[T, D], a row for each sample."""

    z: Array


class Fixed(NamedTuple):
    """Clamps, and quantities that depend on clamps and params alone."""

    idx: Array
    x: Array


class Readouts(NamedTuple):
    """The readouts."""

    logits: Array


STEP = States(0.1)
STEPS = 150
CHUNK = 25
MAX_STEPS = 600
TOLERANCE = 0.0001
EXPLOSION = 10000.0
NUDGE_STEPS = 20
SNAPSHOTS = 5
FORCE_PARAMS = ("g1", "h1", "g2", "h2", "W_q", "W_k", "W_v", "W_o", "W1", "b1", "W2", "b2")


def init(key: Array, dtype: DTypeLike = float) -> Params:
    """The first params, by the laws of the spec."""
    keys = jax.random.split(key, 9)
    return Params(
        tok=jax.random.normal(keys[0], (V, D), dtype),
        pos=0.1 * jax.random.normal(keys[1], (T, D), dtype),
        g1=jnp.full((D,), 1, dtype),
        h1=jnp.full((D,), 0, dtype),
        g2=jnp.full((D,), 1, dtype),
        h2=jnp.full((D,), 0, dtype),
        W_q=0.08838834764831843 * jax.random.normal(keys[2], (H, D, A), dtype),
        W_k=0.08838834764831843 * jax.random.normal(keys[3], (H, D, A), dtype),
        W_v=0.08838834764831843 * jax.random.normal(keys[4], (H, D, A), dtype),
        W_o=0.02 * jax.random.normal(keys[5], (H, A, D), dtype),
        W1=0.08838834764831843 * jax.random.normal(keys[6], (D, F_2), dtype),
        b1=jnp.full((F_2,), 0, dtype),
        W2=0.02 * jax.random.normal(keys[7], (F_2, D), dtype),
        b2=jnp.full((D,), 0, dtype),
        W_head=0.02 * jax.random.normal(keys[8], (D, V), dtype),
    )


def prepare(params: Params, clamps: Clamps) -> Fixed:
    """The quantities that no step changes."""
    (idx,) = clamps
    x = params.tok[idx] + params.pos
    return Fixed(idx, x)


def start(params: Params, fixed: Fixed) -> States:
    """Where the states start."""
    return States(fixed.x)


def terms(params: Params, states: States, fixed: Fixed) -> dict[str, Array]:
    """Each energy term of each sample.

    energy input   = 1/2 * sum[t,d]((z[t,d] - x[t,d])^2)
    energy damping = c/2 * sum[t,d](z[t,d]^2)
    """
    (z,) = states
    energy_input_part = z - fixed.x
    energy_input = 0.5 * (energy_input_part * energy_input_part).sum((1, 2))
    energy_damping = 0.5 * (z * z).sum((1, 2))
    return {"input": energy_input, "damping": energy_damping}


def force(params: Params, states: States, fixed: Fixed) -> States:
    """The force on each state.

    F_z[t,d] = sum[h,a](W_o[h,a,d] * sum[s](v[h,s,a] * p[h,t,s])) + sum[f](W2[f,d] * gelu_tanh(sum[e](W1[e,f] *
        n2[t,e]) + b1[f])) + b2[d] - c * z[t,d] - (z[t,d] - x[t,d])
    """
    (z,) = states
    z_centered = z - z.mean(2)[:, :, None]
    z_variance = (z_centered * z_centered).mean(2) + 1e-05
    z_normalized = z_centered * lax.rsqrt(z_variance)[:, :, None]
    n1 = z_normalized * params.g1 + params.h1
    v = jnp.einsum("Btd,hda->Bhta", n1, params.W_v)
    q = jnp.einsum("Btd,hda->Bhta", n1, params.W_q)
    k = jnp.einsum("Btd,hda->Bhta", n1, params.W_k)
    p = jax.nn.softmax(jnp.where(MASK.T, scale * jnp.einsum("Bhta,Bhsa->Bhts", q, k), -jnp.inf), 3)
    n2 = z_normalized * params.g2 + params.h2
    gelu_tanh_argument = n2 @ params.W1 + params.b1
    force_z = (
        fixed.x
        + jnp.einsum("Bhta,had->Btd", jnp.einsum("Bhsa,Bhts->Bhta", v, p), params.W_o)
        + jax.nn.gelu(gelu_tanh_argument) @ params.W2
        - 2 * z
        + params.b2
    )
    return States(force_z)


def readouts(params: Params, states: States, fixed: Fixed) -> Readouts:
    """The readouts.

    readout logits[t,w] = sum[d](z[t,d] * W_head[d,w])
    """
    (z,) = states
    logits = z @ params.W_head
    return Readouts(logits)


def cost(params: Params, states: States, fixed: Fixed, targets: Targets) -> Array:
    """The cost of each sample.

    cost ce = mean[t](cross_entropy[w](logits[t,w], label[t]))
    """
    (z,) = states
    (label,) = targets
    W_head_z = z @ params.W_head
    logsumexp = jax.nn.logsumexp(W_head_z, 2)
    cost_part = logsumexp.sum(1) - jnp.take_along_axis(W_head_z, label[:, :, None], 2).squeeze(2).sum(1)
    cost = 1 / T * cost_part
    return cost


def cost_vjp(params: Params, states: States, fixed: Fixed, targets: Targets) -> tuple[States, Slopes]:
    """dC/dz of each sample; and the direct dC/dtheta.

    dC/dz[t,d] = sum[w](W_head[d,w] * (1/T * softmax[w](sum[e](W_head[e,w] * z[t,e])) - 1/T * where(w == label[t],
        1, 0)))
    dC/dW_head[d,w] = sum[t](z[t,d] * (1/T * softmax[w](sum[e](W_head[e,w] * z[t,e])) - 1/T * where(w == label[t],
        1, 0)))
    """
    (z,) = states
    (label,) = targets
    label_one_hot = 1.0 * (jnp.arange(V)[:, None] == label[:, None, :])
    weights = jax.nn.softmax(z @ params.W_head, 2)
    total = 1 / T * weights - 1 / T * label_one_hot.swapaxes(1, 2)
    slope_z = total @ params.W_head.T
    return States(slope_z), {"W_head": jnp.einsum("Btd,Btw->dw", z, total)}


def force_vjp(params: Params, states: States, fixed: Fixed, cotangents: States) -> tuple[States, Slopes]:
    """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
    (z,) = states
    (cot_z,) = cotangents
    z_centered = z - z.mean(2)[:, :, None]
    z_variance = (z_centered * z_centered).mean(2) + 1e-05
    z_variance_rsqrt = lax.rsqrt(z_variance)
    z_normalized = z_centered * z_variance_rsqrt[:, :, None]
    n2 = z_normalized * params.g2 + params.h2
    gelu_tanh_argument = n2 @ params.W1 + params.b1
    product = cot_z @ params.W2.T * gelu_tanh_slope(gelu_tanh_argument)
    pull_n2 = product @ params.W1.T
    n1 = z_normalized * params.g1 + params.h1
    q = jnp.einsum("Btd,hda->Bhta", n1, params.W_q)
    k = jnp.einsum("Btd,hda->Bhta", n1, params.W_k)
    p = jax.nn.softmax(jnp.where(MASK.T, scale * jnp.einsum("Bhta,Bhsa->Bhts", q, k), -jnp.inf), 3)
    v = jnp.einsum("Btd,hda->Bhta", n1, params.W_v)
    W_o_cot_z = jnp.einsum("Btd,had->Btha", cot_z, params.W_o)
    pull_p = jnp.einsum("Bhsa,Btha->Bhts", v, W_o_cot_z)
    p_pull_p = p * pull_p
    pull_scores = p_pull_p - p * p_pull_p.sum(3)[:, :, :, None]
    product_2 = jnp.einsum("Bhsa,Bhst->Bhta", q, pull_scores)
    product_3 = jnp.einsum("Bhsa,Bhts->Bhta", k, pull_scores)
    pull_v = jnp.einsum("Bhst,Bsha->Bhta", p, W_o_cot_z)
    pull_n1 = (
        scale * jnp.einsum("Bhta,hda->Btd", product_2, params.W_k)
        + scale * jnp.einsum("Bhta,hda->Btd", product_3, params.W_q)
        + jnp.einsum("Bhta,hda->Btd", pull_v, params.W_v)
    )
    back_z_part = z_centered * pull_n2 @ params.g2 + z_centered * pull_n1 @ params.g1
    back_z_part_2 = (
        pull_n2 * z_variance_rsqrt[:, :, None] * params.g2
        + pull_n1 * z_variance_rsqrt[:, :, None] * params.g1
        - 1 / D * (z_centered * (z_variance ** -1.5 * back_z_part)[:, :, None])
    )
    back_z = back_z_part_2 - 2 * cot_z - back_z_part_2.mean(2)[:, :, None]
    return States(back_z), {
        "tok": scatter_add(cot_z, fixed.idx, V),
        "pos": cot_z.sum(0),
        "g1": (z_normalized * pull_n1).sum((0, 1)),
        "h1": pull_n1.sum((0, 1)),
        "g2": (z_normalized * pull_n2).sum((0, 1)),
        "h2": pull_n2.sum((0, 1)),
        "W_q": scale * jnp.einsum("Bhta,Btd->hda", product_3, n1),
        "W_k": scale * jnp.einsum("Bhta,Btd->hda", product_2, n1),
        "W_v": jnp.einsum("Bhta,Btd->hda", pull_v, n1),
        "W_o": jnp.einsum("Bhta,Btd->had", jnp.einsum("Bhsa,Bhts->Bhta", v, p), cot_z),
        "W1": jnp.einsum("Btd,Btf->df", n2, product),
        "b1": product.sum((0, 1)),
        "W2": jnp.einsum("Btd,Btf->fd", cot_z, jax.nn.gelu(gelu_tanh_argument)),
        "b2": cot_z.sum((0, 1)),
    }


def readout_vjp(params: Params, states: States, fixed: Fixed, cotangents: Readouts) -> tuple[States, Slopes]:
    """<cotangents, d readouts> by states, and by params and clamps."""
    (z,) = states
    (cot_logits,) = cotangents
    back_z = cot_logits @ params.W_head.T
    return States(back_z), {"W_head": jnp.einsum("Btd,Btw->dw", z, cot_logits)}


def energy_contrast(params: Params, plus: States, minus: States, fixed: Fixed) -> Slopes:
    """dE/dtheta at plus less that at minus, summed over the batch.

    c_tok[w,d] = sum[t | w == idx[t]](minus_z[t,d] - plus_z[t,d])
    c_pos[t,d] = minus_z[t,d] - plus_z[t,d]
    """
    (plus_z,) = plus
    (minus_z,) = minus
    grad_pos = minus_z - plus_z
    return {"tok": scatter_add(grad_pos, fixed.idx, V), "pos": grad_pos.sum(0)}


def correction(params: Params, states: States, fixed: Fixed, directions: States) -> States:
    """(J_nc - J_nc^T) directions; J_nc is dF/dz of attention + ffn."""
    (z,) = states
    (v_z,) = directions
    z_centered = z - z.mean(2)[:, :, None]
    z_variance = (z_centered * z_centered).mean(2) + 1e-05
    z_variance_rsqrt = lax.rsqrt(z_variance)
    z_normalized = z_centered * z_variance_rsqrt[:, :, None]
    n1 = z_normalized * params.g1 + params.h1
    q = jnp.einsum("Btd,hda->Bhta", n1, params.W_q)
    k = jnp.einsum("Btd,hda->Bhta", n1, params.W_k)
    p = jax.nn.softmax(jnp.where(MASK.T, scale * jnp.einsum("Bhta,Bhsa->Bhts", q, k), -jnp.inf), 3)
    v_z_centered = v_z - v_z.mean(2)[:, :, None]
    product = v_z_centered * z_variance_rsqrt[:, :, None]
    power = z_variance ** -1.5
    product_2 = z_centered * (power * (z_centered * v_z_centered).sum(2))[:, :, None]
    v_n1 = product * params.g1 - 1 / D * (product_2 * params.g1)
    v_v = jnp.einsum("Btd,hda->Bhta", v_n1, params.W_v)
    v = jnp.einsum("Btd,hda->Bhta", n1, params.W_v)
    v_q = jnp.einsum("Btd,hda->Bhta", v_n1, params.W_q)
    v_k = jnp.einsum("Btd,hda->Bhta", v_n1, params.W_k)
    v_p_part = jnp.einsum("Bhsa,Bhta->Bhts", k, v_q) + jnp.einsum("Bhta,Bhsa->Bhts", q, v_k)
    v_p_part_2 = p * v_p_part
    v_p = scale * v_p_part_2 - scale * (p * v_p_part_2.sum(3)[:, :, :, None])
    turn_z_part = jnp.einsum("Bhts,Bhsa->Bhta", p, v_v) + jnp.einsum("Bhsa,Bhts->Bhta", v, v_p)
    n2 = z_normalized * params.g2 + params.h2
    gelu_tanh_slope_argument = n2 @ params.W1 + params.b1
    gelu_tanh_slope_2 = gelu_tanh_slope(gelu_tanh_slope_argument)
    v_n2 = product * params.g2 - 1 / D * (product_2 * params.g2)
    pull_n2 = v_z @ params.W2.T * gelu_tanh_slope_2 @ params.W1.T
    W_o_v_z = jnp.einsum("Btd,had->Btha", v_z, params.W_o)
    pull_p = jnp.einsum("Bhsa,Btha->Bhts", v, W_o_v_z)
    p_pull_p = p * pull_p
    pull_scores = p_pull_p - p * p_pull_p.sum(3)[:, :, :, None]
    pull_v = jnp.einsum("Bhst,Bsha->Bhta", p, W_o_v_z)
    pull_n1 = (
        scale * jnp.einsum("Bhta,hda->Btd", jnp.einsum("Bhsa,Bhst->Bhta", q, pull_scores), params.W_k)
        + scale * jnp.einsum("Bhta,hda->Btd", jnp.einsum("Bhsa,Bhts->Bhta", k, pull_scores), params.W_q)
        + jnp.einsum("Bhta,hda->Btd", pull_v, params.W_v)
    )
    turn_z_part_2 = z_centered * pull_n2 @ params.g2 + z_centered * pull_n1 @ params.g1
    turn_z_part_3 = (
        pull_n2 * z_variance_rsqrt[:, :, None] * params.g2
        + pull_n1 * z_variance_rsqrt[:, :, None] * params.g1
        - 1 / D * (z_centered * (power * turn_z_part_2)[:, :, None])
    )
    turn_z = (
        jnp.einsum("Bhta,had->Btd", turn_z_part, params.W_o)
        + gelu_tanh_slope_2 * (v_n2 @ params.W1) @ params.W2
        - turn_z_part_3
        + turn_z_part_3.mean(2)[:, :, None]
    )
    return States(turn_z)


def energy_slopes(params: Params, plus: States, minus: States, fixed: Fixed) -> list[Slopes]:
    """dE/dtheta at plus less that at minus."""
    return [energy_contrast(params, plus, minus, fixed)]


#: Slopes by the fields of params and clamps, those of params summed over the batch.
Slopes = dict[str, Array]


#: The force that a nudge subtracts: ``drive(params, states, fixed, targets)``.
Drive = Callable[..., States]


#: Moves a pair of nudged phases by a step: ``advance(params, plus, minus, free, fixed, targets, beta)``.
Advance = Callable[..., tuple[States, States]]


answer.defvjp(answer_forward, answer_backward)


class Thick(Network):
    """The network with params of its own."""

    names = {
        "params": (
            "tok",
            "pos",
            "g1",
            "h1",
            "g2",
            "h2",
            "W_q",
            "W_k",
            "W_v",
            "W_o",
            "W1",
            "b1",
            "W2",
            "b2",
            "W_head",
        ),
        "states": ("z",),
        "clamps": ("idx",),
        "targets": ("label",),
    }
    rules = {"tracking-aep": tracking_aep, "implicit": implicit}


# Carried: Relaxed, Gradients, energy, step_sizes, moved, along, advanced, advanced_vjp, step, residual, change, length,
# chosen, settle, unsettled, free_phase, checked, immobile, shaken, share, mean_cost_vjp, gradients, added, cotangent,
# cost_force, nudged_step, less, nudged, tracking, corrected_step, phases, strength, rms, contrasted, contrast,
# user_force_gradient, relax, free_run, prepared, tracking_aep, implicit, solved, norm, answer, answer_forward,
# answer_backward, clamp_gradient, project, project_vjp, gelu_tanh_slope, scatter_add, Rest, Network.
