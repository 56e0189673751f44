"""cet: Convergent Energy Transformer: masked image completion (Hoier, Kerjan, Scellier 2026, appendix B).

Made by energyc 0.2.0 from cet.energy
SHA-256 of the spec: 70f0f3b377af54ac38aad54fc62218e90297c32762dc9a6c8b9f2b803c3f4a1d
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

C, S, P, stride, G, D, H, A = 3, 120, 20, 10, 11, 768, 12, 64
M = 3072


class Params(NamedTuple):
    """The learned parameters."""

    W_enc: Array
    b_enc: Array
    W_dec: Array
    b_dec: Array
    b_pos: Array
    W_q: Array
    W_k: Array
    W_mem: Array


class Clamps(NamedTuple):
    """The inputs, a row for each sample."""

    x: Array


class Targets(NamedTuple):
    """The targets of the cost, a row for each sample."""

    t: Array


class States(NamedTuple):
    """z[G, G, D], y[C, S, S], a row for each sample."""

    z: Array
    y: Array


class Fixed(NamedTuple):
    """Clamps, and quantities that depend on clamps and params alone."""

    x: Array
    x_part: Array
    drive: Array


class Readouts(NamedTuple):
    """The readouts."""

    image: Array


STEP = States(1, 1)
STEPS = 150
CHUNK = 25
MAX_STEPS = 150
TOLERANCE = 0.0001
EXPLOSION = 10000.0
NUDGE_STEPS = 5


def init(key: Array, dtype: DTypeLike = float) -> Params:
    """The first params, by the laws of the spec."""
    keys = jax.random.split(key, 6)
    return Params(
        W_enc=0.08660254037844385 * jax.random.normal(keys[0], (D, C, P, P), dtype),
        b_enc=jnp.full((D,), 0, dtype),
        W_dec=0.004510548978043952 * jax.random.normal(keys[1], (D, C, P, P), dtype),
        b_dec=jnp.full((C,), 0, dtype),
        b_pos=jax.random.normal(keys[2], (G, G, D), dtype),
        W_q=0.014433756729740645 * jax.random.normal(keys[3], (H, A, D), dtype),
        W_k=0.014433756729740645 * jax.random.normal(keys[4], (H, A, D), dtype),
        W_mem=0.009021097956087904 * jax.random.normal(keys[5], (D, M), dtype),
    )


def prepare(params: Params, clamps: Clamps) -> Fixed:
    """The quantities that no step changes."""
    (x,) = clamps
    x_part = windows(windows(x, 2, 0, (G, P), (stride, 1)), 4, 0, (G, P), (stride, 1))
    seen = jnp.einsum("Bcipjq,dcpq->Bijd", x_part, params.W_enc)
    drive = seen + params.b_pos + params.b_enc
    return Fixed(x, x_part, drive)


def start(params: Params, fixed: Fixed) -> States:
    """Where the states start."""
    return States(fixed.drive, jnp.full((len(fixed[0]), C, S, S), 0.0).astype(params.W_enc.dtype))


def terms(params: Params, states: States, fixed: Fixed) -> dict[str, Array]:
    """Each energy term of each sample.

    energy enc = 1/2 * sum[i,j,d](z[i,j,d]^2)
               - sum[i,j,d](z[i,j,d] * seen[i,j,d])
               - sum[i,j,d](z[i,j,d] * b_enc[d])
    energy dec = 1/2 * sum[c,u,v](y[c,u,v]^2)
               - sum[i,j,d](z[i,j,d] * sum[c,p,q](W_dec[d,c,p,q] * y[c, stride*i + p, stride*j + q]))
               - sum[c,u,v](y[c,u,v] * b_dec[c])
    energy pos = -sum[i,j,d](z[i,j,d] * b_pos[i,j,d])
    energy mem = -sum[i,j,m](relu(sum[d](W_mem[d,m] * z[i,j,d]))^2)
    energy att = -1/gamma * sum[h,i,j](logsumexp[k,l](gamma * sum[a](query[h,i,j,a] * key[h,k,l,a])))
    """
    z, y = states
    seen = jnp.einsum("Bcipjq,dcpq->Bijd", fixed.x_part, params.W_enc)
    energy_enc = 0.5 * (z * z).sum((1, 2, 3)) - z.sum((1, 2)) @ params.b_enc - (z * seen).sum((1, 2, 3))
    energy_dec_part = jnp.einsum(
        "Bcipjq,dcpq->Bijd",
        windows(windows(y, 2, 0, (G, P), (stride, 1)), 4, 0, (G, P), (stride, 1)),
        params.W_dec,
    )
    energy_dec = (
        0.5 * (y * y).sum((1, 2, 3))
        - y.sum((2, 3)) @ params.b_dec
        - (z * energy_dec_part).sum((1, 2, 3))
    )
    energy_pos = -jnp.einsum("Bijd,ijd->B", z, params.b_pos)
    relu = jax.nn.relu(z @ params.W_mem)
    energy_mem = -(relu * relu).sum((1, 2, 3))
    query = jnp.einsum("Bijd,had->Bhija", z, params.W_q)
    key = jnp.einsum("Bijd,had->Bhija", z, params.W_k)
    logsumexp = jax.nn.logsumexp(0.25 * jnp.einsum("Bhija,Bhkla->Bhijkl", query, key), (4, 5))
    energy_att = -4 * logsumexp.sum((1, 2, 3))
    return {"enc": energy_enc, "dec": energy_dec, "pos": energy_pos, "mem": energy_mem, "att": energy_att}


def force(params: Params, states: States, fixed: Fixed) -> States:
    """The force on each state.

    F_z[i,j,d] = b_pos[i,j,d] - z[i,j,d] + seen[i,j,d] + b_enc[d] + sum[h,a](W_k[h,a,d] * sum[k,l](query[h,k,l,a]
        * softmax[i,j](gamma * sum[a2](query[h,k,l,a2] * key[h,i,j,a2])))) + sum[h,a](W_q[h,a,d] *
        sum[k,l](key[h,k,l,a] * softmax[k,l](gamma * sum[a2](query[h,i,j,a2] * key[h,k,l,a2])))) + 2 *
        sum[m](W_mem[d,m] * relu(sum[d2](W_mem[d2,m] * z[i,j,d2]))) + sum[c,p,q](W_dec[d,c,p,q] * y[c, stride*i +
        p, stride*j + q])
    F_y[c,u,v] = b_dec[c] - y[c,u,v] + sum[d,p,q,i,j | u == stride*i + p and v == stride*j + q](W_dec[d,c,p,q] *
        z[i,j,d])
    """
    z, y = states
    query = jnp.einsum("Bijd,had->Bhija", z, params.W_q)
    key = jnp.einsum("Bijd,had->Bhija", z, params.W_k)
    weights = jax.nn.softmax(0.25 * jnp.einsum("Bhija,Bhkla->Bhijkl", query, key), (4, 5))
    pull_key = jnp.einsum("Bhklij,Bhkla->Bhija", weights, query)
    pull_query = jnp.einsum("Bhijkl,Bhkla->Bhija", weights, key)
    force_z = (
        jnp.einsum("Bhija,had->Bijd", pull_key, params.W_k)
        + jnp.einsum("Bhija,had->Bijd", pull_query, params.W_q)
        + fixed.drive
        + jnp.einsum(
            "Bcipjq,dcpq->Bijd",
            windows(windows(y, 2, 0, (G, P), (stride, 1)), 4, 0, (G, P), (stride, 1)),
            params.W_dec,
        )
        + 2 * (jax.nn.relu(z @ params.W_mem) @ params.W_mem.T)
        - z
    )
    force_y = (
        overlap_add(
            overlap_add(
                jnp.einsum("Bijd,dcpq->Bijcpq", z, params.W_dec).transpose(0, 2, 3, 5, 1, 4),
                S,
                0,
                (stride, 1),
            ).transpose(0, 2, 4, 1, 3),
            S,
            0,
            (stride, 1),
        )
        - y
        + params.b_dec[:, None, None]
    )
    return States(force_z, force_y)


def readouts(params: Params, states: States, fixed: Fixed) -> Readouts:
    """The readouts.

    readout image[c,u,v] = y[c,u,v]
    """
    _, y = states
    return Readouts(y)


def cost(params: Params, states: States, fixed: Fixed, targets: Targets) -> Array:
    """The cost of each sample.

    cost mse = mean[c,u,v]((y[c,u,v] - t[c,u,v])^2)
    """
    _, y = states
    (t,) = targets
    cost_part = y - t
    cost = (cost_part * cost_part).mean((1, 2, 3))
    return cost


def cost_vjp(params: Params, states: States, fixed: Fixed, targets: Targets) -> tuple[States, Slopes]:
    """dC/dz of each sample; and the direct dC/dtheta.

    dC/dy[c,u,v] = 2/(C*S^2) * (y[c,u,v] - t[c,u,v])
    """
    _, y = states
    (t,) = targets
    slope_y_part = y - t
    slope_y = 2 / (C * S * S) * slope_y_part
    return States(jnp.zeros_like(states.z), slope_y), {}


def force_vjp(params: Params, states: States, fixed: Fixed, cotangents: States) -> tuple[States, Slopes]:
    """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
    z, y = states
    cot_z, cot_y = cotangents
    product = windows(windows(cot_y, 2, 0, (G, P), (stride, 1)), 4, 0, (G, P), (stride, 1))
    W_mem_z = z @ params.W_mem
    product_2 = jnp.where(
        W_mem_z > 0,
        1.0,
        0.0,
    ).transpose(0, 3, 1, 2) * (cot_z @ params.W_mem).transpose(0, 3, 1, 2)
    query = jnp.einsum("Bijd,had->Bhija", z, params.W_q)
    key = jnp.einsum("Bijd,had->Bhija", z, params.W_k)
    weights = jax.nn.softmax(0.25 * jnp.einsum("Bhija,Bhkla->Bhijkl", query, key), (4, 5))
    W_q_cot_z = jnp.einsum("Bijd,had->Bijha", cot_z, params.W_q)
    W_k_cot_z = jnp.einsum("Bijd,had->Bijha", cot_z, params.W_k)
    total = (
        jnp.einsum("Bhkla,Bijha->Bhijkl", key, W_q_cot_z)
        + jnp.einsum("Bhija,Bklha->Bhijkl", query, W_k_cot_z)
    )
    product_3 = weights * total
    total_2 = product_3 - weights * product_3.sum((4, 5))[:, :, :, :, None, None]
    pull_key = (
        jnp.einsum("Bhklij,Bklha->Bhija", weights, W_q_cot_z)
        + 0.25 * jnp.einsum("Bhklij,Bhkla->Bhija", total_2, query)
    )
    pull_query = (
        jnp.einsum("Bhijkl,Bklha->Bhija", weights, W_k_cot_z)
        + 0.25 * jnp.einsum("Bhijkl,Bhkla->Bhija", total_2, key)
    )
    back_z = (
        jnp.einsum("Bcipjq,dcpq->Bijd", product, params.W_dec)
        + 2 * jnp.einsum("Bmij,dm->Bijd", product_2, params.W_mem)
        + jnp.einsum("Bhija,had->Bijd", pull_key, params.W_k)
        + jnp.einsum("Bhija,had->Bijd", pull_query, params.W_q)
        - cot_z
    )
    back_y = (
        overlap_add(
            overlap_add(
                jnp.einsum("Bijd,dcpq->Bijcpq", cot_z, params.W_dec).transpose(0, 2, 3, 5, 1, 4),
                S,
                0,
                (stride, 1),
            ).transpose(0, 2, 4, 1, 3),
            S,
            0,
            (stride, 1),
        )
        - cot_y
    )
    pull_query_2 = jnp.einsum("Bhijkl,Bhkla->Bhija", weights, key)
    pull_key_2 = jnp.einsum("Bhklij,Bhkla->Bhija", weights, query)
    return States(back_z, back_y), {
        "W_enc": jnp.einsum("Bcipjq,Bijd->dcpq", fixed.x_part, cot_z),
        "b_enc": cot_z.sum((0, 1, 2)),
        "W_dec": (
            jnp.einsum("Bcipjq,Bijd->dcpq", product, z)
            + jnp.einsum(
                "Bcipjq,Bijd->dcpq",
                windows(windows(y, 2, 0, (G, P), (stride, 1)), 4, 0, (G, P), (stride, 1)),
                cot_z,
            )
        ),
        "b_dec": cot_y.sum((0, 2, 3)),
        "b_pos": cot_z.sum(0),
        "W_q": (
            jnp.einsum("Bhija,Bijd->had", pull_query_2, cot_z)
            + jnp.einsum("Bhija,Bijd->had", pull_query, z)
        ),
        "W_k": jnp.einsum("Bhija,Bijd->had", pull_key_2, cot_z) + jnp.einsum("Bhija,Bijd->had", pull_key, z),
        "W_mem": (
            2 * jnp.einsum("Bijd,Bijm->dm", cot_z, jax.nn.relu(W_mem_z))
            + 2 * jnp.einsum("Bijd,Bmij->dm", z, product_2)
        ),
    }


def clamp_gradient(params: Params, states: States, fixed: Fixed, cotangents: States) -> Slopes:
    """<cotangents, dF/dx> for each real clamp."""
    cot_z, _ = cotangents
    grad_x = overlap_add(
        overlap_add(
            jnp.einsum("Bijd,dcpq->Bijcpq", cot_z, params.W_enc).transpose(0, 2, 3, 5, 1, 4),
            S,
            0,
            (stride, 1),
        ).transpose(0, 2, 4, 1, 3),
        S,
        0,
        (stride, 1),
    )
    return {"x": grad_x}


def readout_vjp(params: Params, states: States, fixed: Fixed, cotangents: Readouts) -> tuple[States, Slopes]:
    """<cotangents, d readouts> by states, and by params and clamps."""
    (cot_image,) = cotangents
    return States(jnp.zeros_like(states.z), cot_image), {}


def energy_gradient(params: Params, states: States, fixed: Fixed) -> Slopes:
    """dE/dtheta, summed over the batch, of what no single product contrasts.

    dE/dW_q[h,a,d] = -sum[i,j](z[i,j,d] * sum[k,l](key[h,k,l,a] * softmax[k,l](gamma * sum[a2](query[h,i,j,a2] *
        key[h,k,l,a2]))))
    dE/dW_k[h,a,d] = -sum[i,j](z[i,j,d] * sum[k,l](query[h,k,l,a] * softmax[i,j](gamma * sum[a2](query[h,k,l,a2] *
        key[h,i,j,a2]))))
    dE/dW_mem[d,m] = -2 * sum[i,j](z[i,j,d] * relu(sum[d2](W_mem[d2,m] * z[i,j,d2])))
    """
    z, _ = states
    key = jnp.einsum("Bijd,had->Bhija", z, params.W_k)
    query = jnp.einsum("Bijd,had->Bhija", z, params.W_q)
    weights = jax.nn.softmax(0.25 * jnp.einsum("Bhija,Bhkla->Bhijkl", query, key), (4, 5))
    pull_query = jnp.einsum("Bhijkl,Bhkla->Bhija", weights, key)
    pull_key = jnp.einsum("Bhklij,Bhkla->Bhija", weights, query)
    return {
        "W_q": -jnp.einsum("Bhija,Bijd->had", pull_query, z),
        "W_k": -jnp.einsum("Bhija,Bijd->had", pull_key, z),
        "W_mem": -2 * jnp.einsum("Bijd,Bijm->dm", z, jax.nn.relu(z @ params.W_mem)),
    }


def energy_contrast(params: Params, plus: States, minus: States, fixed: Fixed) -> Slopes:
    """dE/dtheta at plus less that at minus, summed over the batch.

    c_W_enc[d,c,p,q] = sum[i,j](x[c, stride*i + p, stride*j + q] * (minus_z[i,j,d] - plus_z[i,j,d]))
    c_b_enc[d] = sum[i,j](minus_z[i,j,d] - plus_z[i,j,d])
    c_W_dec[d,c,p,q] = sum[i,j](minus_y[c, stride*i + p, stride*j + q] * (minus_z[i,j,d] - plus_z[i,j,d])) +
        sum[i,j](plus_z[i,j,d] * (minus_y[c, stride*i + p, stride*j + q] - plus_y[c, stride*i + p, stride*j + q]))
    c_b_dec[c] = sum[u,v](minus_y[c,u,v] - plus_y[c,u,v])
    c_b_pos[i,j,d] = minus_z[i,j,d] - plus_z[i,j,d]
    """
    plus_z, plus_y = plus
    minus_z, minus_y = minus
    grad_b_pos = minus_z - plus_z
    total = minus_y - plus_y
    return {
        "W_enc": jnp.einsum("Bcipjq,Bijd->dcpq", fixed.x_part, grad_b_pos),
        "b_enc": grad_b_pos.sum((0, 1, 2)),
        "W_dec": (
            jnp.einsum(
                "Bcipjq,Bijd->dcpq",
                windows(windows(minus_y, 2, 0, (G, P), (stride, 1)), 4, 0, (G, P), (stride, 1)),
                grad_b_pos,
            )
            + jnp.einsum(
                "Bcipjq,Bijd->dcpq",
                windows(windows(total, 2, 0, (G, P), (stride, 1)), 4, 0, (G, P), (stride, 1)),
                plus_z,
            )
        ),
        "b_dec": total.sum((0, 2, 3)),
        "b_pos": grad_b_pos.sum(0),
    }


def project(states: States) -> States:
    """Each state onto its set."""
    return States(standardized(states.z, (3,)), states.y)


def project_vjp(at: States, cotangents: States) -> States:
    """P^T cotangents, P the derivative of the projection at a point."""
    return States(standardized_vjp(at.z, cotangents.z, (3,)), cotangents.y)


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


class Cet(Network):
    """The network with params of its own."""

    names = {
        "params": ("W_enc", "b_enc", "W_dec", "b_dec", "b_pos", "W_q", "W_k", "W_mem"),
        "states": ("z", "y"),
        "clamps": ("x",),
        "targets": ("t",),
    }
    rules = {"centered-ep": centered_ep, "implicit": implicit}


# Carried: Relaxed, Gradients, energy, step_sizes, moved, along, advanced, advanced_vjp, step, residual, change, length,
# chosen, settle, unsettled, free_phase, checked, immobile, shaken, share, mean_cost_vjp, gradients, added, cotangent,
# cost_force, nudged_step, less, nudged, apart, phases, strength, rms, contrasted, contrast, relax, free_run, prepared,
# centered_ep, implicit, solved, norm, answer, answer_forward, answer_backward, standardized, standardized_vjp,
# finite_length, windows, overlap_add, window_places, Rest, Network.
