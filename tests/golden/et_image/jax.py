"""et_image: Energy Transformer, image completion (Hoover et al. 2023, appendix A, algorithm 1).

Made by energyc 0.2.0 from et_image.energy
SHA-256 of the spec: 1fa8d4395f443198b49503d20ee6fd1f2666affd5c25f7e83e0555fdddde5d76
Rules: bptt, implicit
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

C, S, P, G, D, H, Y, K = 3, 224, 16, 14, 768, 12, 64, 3072
MASK_3 = (
    np.arange(G)[:, None, None, None] != np.arange(G)[None, :, None, None]
) | (np.arange(G)[None, None, :, None] != np.arange(G)[None, None, None, :])


class Params(NamedTuple):
    """The learned parameters."""

    W_enc: Array
    W_dec: Array
    pos: Array
    MASK: Array
    b_enc: Array
    b_dec: Array
    W_q: Array
    W_k: Array
    xi: Array
    gamma: Array
    delta: Array


class Clamps(NamedTuple):
    """The inputs, a row for each sample."""

    img: Array
    hidden: Array


class Targets(NamedTuple):
    """The targets of the cost, a row for each sample."""

    t: Array
    counted: Array


class States(NamedTuple):
    """x[G, G, D], a row for each sample."""

    x: Array


class Fixed(NamedTuple):
    """Clamps, and quantities that depend on clamps and params alone."""

    img: Array
    hidden: Array


class Readouts(NamedTuple):
    """The readouts."""

    patches: Array


class Lets(NamedTuple):
    """The lets at some states, and parts of them."""

    x_centered: Array
    x_variance: Array
    x_variance_rsqrt: Array
    g_part: Array
    g: Array


STEP = States(0.1)
STEPS = 12
MAX_STEPS = 12
EXPLOSION = 10000.0


def init(key: Array, dtype: DTypeLike = float) -> Params:
    """The first params, by the laws of the spec."""
    keys = jax.random.split(key, 7)
    return Params(
        W_enc=0.036084391824351615 * jax.random.normal(keys[0], (D, C, P, P), dtype),
        W_dec=0.02 * jax.random.normal(keys[1], (D, C, P, P), dtype),
        pos=0.5 * jax.random.normal(keys[2], (G, G, D), dtype),
        MASK=0.5 * jax.random.normal(keys[3], (D,), dtype),
        b_enc=jnp.full((D,), 0, dtype),
        b_dec=jnp.full((C, P, P), 0, dtype),
        W_q=0.036084391824351615 * jax.random.normal(keys[4], (Y, H, D), dtype),
        W_k=0.036084391824351615 * jax.random.normal(keys[5], (Y, H, D), dtype),
        xi=0.036084391824351615 * jax.random.normal(keys[6], (K, D), dtype),
        gamma=jnp.full((), 1, dtype),
        delta=jnp.full((D,), 0, dtype),
    )


def prepare(params: Params, clamps: Clamps) -> Fixed:
    """The quantities that no step changes."""
    img, hidden = clamps
    return Fixed(img, hidden)


def lets_at(params: Params, states: States, fixed: Fixed) -> Lets:
    """The lets, and parts of them, that terms, force, readouts, cost, cost_vjp and force_vjp share."""
    (x,) = states
    x_centered = x - x.mean(3)[:, :, :, None]
    x_variance = (x_centered * x_centered).mean(3) + 1e-05
    x_variance_rsqrt = lax.rsqrt(x_variance)
    g_part = x_variance_rsqrt * params.gamma
    g = x_centered * g_part[:, :, :, None] + params.delta
    return Lets(x_centered, x_variance, x_variance_rsqrt, g_part, g)


def start(params: Params, fixed: Fixed) -> States:
    """Where the states start."""
    hid = fixed.hidden[:, 0:209:16][:, :, 0:209:16]
    seen = (
        jnp.einsum(
            "Bcipjr,dcpr->Bijd",
            windows(windows(fixed.img, 2, 0, (G, P), (P, 1)), 4, 0, (G, P), (P, 1)),
            params.W_enc,
        )
        + params.b_enc
    )
    start_x_part = -hid + 1
    start_x = hid[:, :, :, None] * params.MASK + seen * start_x_part[:, :, :, None] + params.pos
    return States(start_x)


def terms(params: Params, states: States, fixed: Fixed) -> dict[str, Array]:
    """Each energy term of each sample.

    energy att = -1/beta * sum[h,i,j](logsumexp[m,n | m != i or n != j](beta * sum[y](k[h,m,n,y] * q[h,i,j,y])))
    energy mem = -1/2 * sum[i,j,s](relu(sum[d](xi[s,d] * g[i,j,d]))^2)
    """
    lets = lets_at(params, states, fixed)
    q = jnp.einsum("Bijd,yhd->Bhijy", lets.g, params.W_q)
    k = jnp.einsum("Bijd,yhd->Bhijy", lets.g, params.W_k)
    logsumexp = jax.nn.logsumexp(
        jnp.where(MASK_3.swapaxes(1, 2), 0.125 * jnp.einsum("Bhmny,Bhijy->Bhijmn", q, k), -jnp.inf),
        (2, 3),
    )
    energy_att = -8 * logsumexp.sum((1, 2, 3))
    relu = jax.nn.relu(lets.g @ params.xi.T)
    energy_mem = -0.5 * (relu * relu).sum((1, 2, 3))
    return {"att": energy_att, "mem": energy_mem}


def force(params: Params, states: States, fixed: Fixed) -> States:
    """The force on each state.

    flow x[i,j,d] = -grad(att + mem, g[i,j,d])
    F_x[i,j,d] = sum[s](xi[s,d] * relu(sum[d2](xi[s,d2] * g[i,j,d2]))) + sum[y,h](W_k[y,h,d] * sum[m,n](q[h,m,n,y]
        * softmax[i,j | i != m or j != n](beta * sum[y2](q[h,m,n,y2] * k[h,i,j,y2])))) + sum[y,h](W_q[y,h,d] *
        sum[m,n](k[h,m,n,y] * softmax[m,n | m != i or n != j](beta * sum[y2](q[h,i,j,y2] * k[h,m,n,y2]))))
    """
    lets = lets_at(params, states, fixed)
    q = jnp.einsum("Bijd,yhd->Bhijy", lets.g, params.W_q)
    k = jnp.einsum("Bijd,yhd->Bhijy", lets.g, params.W_k)
    weights = jax.nn.softmax(
        jnp.where(MASK_3.swapaxes(1, 2), 0.125 * jnp.einsum("Bhmny,Bhijy->Bhijmn", q, k), -jnp.inf),
        (2, 3),
    )
    force_x = (
        jax.nn.relu(lets.g @ params.xi.T) @ params.xi
        + jnp.einsum("Bhijy,yhd->Bijd", jnp.einsum("Bhijmn,Bhmny->Bhijy", weights, q), params.W_k)
        + jnp.einsum("Bhijy,yhd->Bijd", jnp.einsum("Bhmnij,Bhmny->Bhijy", weights, k), params.W_q)
    )
    return States(force_x)


def readouts(params: Params, states: States, fixed: Fixed) -> Readouts:
    """The readouts.

    readout patches[i,j,c,p,r] = out[i,j,c,p,r]
    """
    lets = lets_at(params, states, fixed)
    out = jnp.einsum("Bijd,dcpr->Bijcpr", lets.g, params.W_dec) + params.b_dec
    return Readouts(out)


def cost(params: Params, states: States, fixed: Fixed, targets: Targets) -> Array:
    """The cost of each sample.

    cost mse = sum[i,j](sco[i,j] * miss[i,j]) / sum[i,j](sco[i,j])
    """
    t, counted = targets
    lets = lets_at(params, states, fixed)
    out = jnp.einsum("Bijd,dcpr->Bijcpr", lets.g, params.W_dec) + params.b_dec
    cost_part = -windows(windows(t, 2, 0, (G, P), (P, 1)), 4, 0, (G, P), (P, 1)).transpose(0, 2, 4, 1, 3, 5)
    cost_part_2 = out + cost_part
    sco = counted[:, 0:209:16][:, :, 0:209:16]
    cost = 1 / (C * P * P) * (
        ((cost_part_2 * cost_part_2).sum((3, 4, 5)) * sco).sum((1, 2)) * (1 / sco.sum((1, 2)))
    )
    return cost


def cost_vjp(params: Params, states: States, fixed: Fixed, targets: Targets) -> tuple[States, Slopes]:
    """dC/dz of each sample; and the direct dC/dtheta.

    dC/dx[i,j,d] = 2 * gamma * mean[c,p,r](W_dec[d,c,p,r] * (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * sco[i,j] /
        sum[m,n](sco[m,n])) / sqrt(mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3]))^2) + 1e-5) - 2 * (x[i,j,d] -
        mean[d2](x[i,j,d2])) * gamma * mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3])) * mean[c,p,r](W_dec[d2,c,p,r] *
        (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * sco[i,j] / sum[m,n](sco[m,n]))) / (mean[d2]((x[i,j,d2] -
        mean[d3](x[i,j,d3]))^2) + 1e-5)^(3/2) - mean[d2](2 * gamma * mean[c,p,r](W_dec[d2,c,p,r] * (out[i,j,c,p,r]
        - t[c, P*i + p, P*j + r]) * sco[i,j] / sum[m,n](sco[m,n])) / sqrt(mean[d3]((x[i,j,d3] -
        mean[d4](x[i,j,d4]))^2) + 1e-5) - 2 * (x[i,j,d2] - mean[d3](x[i,j,d3])) * gamma * mean[d3]((x[i,j,d3] -
        mean[d4](x[i,j,d4])) * mean[c,p,r](W_dec[d3,c,p,r] * (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * sco[i,j]
        / sum[m,n](sco[m,n]))) / (mean[d3]((x[i,j,d3] - mean[d4](x[i,j,d4]))^2) + 1e-5)^(3/2))
    dC/dW_dec[d,c,p,r] = 2/(C*P^2) * sum[i,j](g[i,j,d] * (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * sco[i,j] /
        sum[m,n](sco[m,n]))
    dC/db_dec[c,p,r] = 2/(C*P^2) * sum[i,j]((out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * sco[i,j] /
        sum[m,n](sco[m,n]))
    dC/dgamma = 2 * sum[i,j,d](layernorm[d](x[i,j,d]) * mean[c,p,r](W_dec[d,c,p,r] * (out[i,j,c,p,r] - t[c, P*i +
        p, P*j + r]) * sco[i,j] / sum[m,n](sco[m,n])))
    dC/ddelta[d] = 2 * sum[i,j](mean[c,p,r](W_dec[d,c,p,r] * (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * sco[i,j]
        / sum[m,n](sco[m,n])))
    """
    t, counted = targets
    lets = lets_at(params, states, fixed)
    out = jnp.einsum("Bijd,dcpr->Bijcpr", lets.g, params.W_dec) + params.b_dec
    part = -windows(windows(t, 2, 0, (G, P), (P, 1)), 4, 0, (G, P), (P, 1)).transpose(0, 2, 4, 1, 3, 5)
    total = out + part
    sco = counted[:, 0:209:16][:, :, 0:209:16]
    product = total * (sco * (1 / sco.sum((1, 2)))[:, None, None])[:, :, :, None, None, None]
    product_2 = jnp.einsum("Bijcpr,dcpr->Bijd", product, params.W_dec)
    product_3 = (lets.x_centered * product_2).sum(3)
    slope_x_part = (
        2 / (C * P * P) * (product_2 * lets.g_part[:, :, :, None])
        - 2 / (C * D * P * P) * (
            lets.x_centered * (lets.x_variance ** -1.5 * (product_3 * params.gamma))[:, :, :, None]
        )
    )
    slope_x = slope_x_part - slope_x_part.mean(3)[:, :, :, None]
    return States(slope_x), {
        "W_dec": 2 / (C * P * P) * jnp.einsum("Bijcpr,Bijd->dcpr", product, lets.g),
        "b_dec": 2 / (C * P * P) * product.sum((0, 1, 2)),
        "gamma": 2 / (C * P * P) * (lets.x_variance_rsqrt * product_3).sum(),
        "delta": 2 / (C * P * P) * product_2.sum((0, 1, 2)),
    }


def force_vjp(params: Params, states: States, fixed: Fixed, cotangents: States) -> tuple[States, Slopes]:
    """J^T cotangents, J = dF/dz; and <cotangents, dF/dtheta> summed over the batch."""
    (cot_x,) = cotangents
    lets = lets_at(params, states, fixed)
    q = jnp.einsum("Bijd,yhd->Bhijy", lets.g, params.W_q)
    k = jnp.einsum("Bijd,yhd->Bhijy", lets.g, params.W_k)
    weights = jax.nn.softmax(
        jnp.where(MASK_3.swapaxes(1, 2), 0.125 * jnp.einsum("Bhmny,Bhijy->Bhijmn", q, k), -jnp.inf),
        (2, 3),
    )
    W_q_cot_x = jnp.einsum("Bijd,yhd->Bijhy", cot_x, params.W_q)
    W_k_cot_x = jnp.einsum("Bijd,yhd->Bijhy", cot_x, params.W_k)
    total = jnp.einsum("Bhijy,Bmnhy->Bhijmn", k, W_q_cot_x) + jnp.einsum("Bhmny,Bijhy->Bhijmn", q, W_k_cot_x)
    product = weights * total
    total_2 = product - weights * product.sum((2, 3))[:, :, None, None]
    pull_k = (
        jnp.einsum("Bhijmn,Bmnhy->Bhijy", weights, W_q_cot_x)
        + 0.125 * jnp.einsum("Bhijmn,Bhmny->Bhijy", total_2, q)
    )
    pull_q = (
        jnp.einsum("Bhmnij,Bmnhy->Bhijy", weights, W_k_cot_x)
        + 0.125 * jnp.einsum("Bhmnij,Bhmny->Bhijy", total_2, k)
    )
    xi_g = lets.g @ params.xi.T
    product_2 = jnp.where(xi_g > 0, 1.0, 0.0).transpose(0, 3, 1, 2) * (
        cot_x @ params.xi.T
    ).transpose(0, 3, 1, 2)
    pull_g = (
        jnp.einsum("Bhijy,yhd->Bijd", pull_k, params.W_k)
        + jnp.einsum("Bhijy,yhd->Bijd", pull_q, params.W_q)
        + jnp.einsum("Bsij,sd->Bijd", product_2, params.xi)
    )
    product_3 = (lets.x_centered * pull_g).sum(3)
    back_x_part = (
        pull_g * lets.g_part[:, :, :, None]
        - 1 / D * (lets.x_centered * (lets.x_variance ** -1.5 * (product_3 * params.gamma))[:, :, :, None])
    )
    back_x = back_x_part - back_x_part.mean(3)[:, :, :, None]
    return States(back_x), {
        "W_q": (
            jnp.einsum("Bhijy,Bijd->yhd", jnp.einsum("Bhmnij,Bhmny->Bhijy", weights, k), cot_x)
            + jnp.einsum("Bhijy,Bijd->yhd", pull_q, lets.g)
        ),
        "W_k": (
            jnp.einsum("Bhijy,Bijd->yhd", jnp.einsum("Bhijmn,Bhmny->Bhijy", weights, q), cot_x)
            + jnp.einsum("Bhijy,Bijd->yhd", pull_k, lets.g)
        ),
        "xi": (
            jnp.einsum("Bijd,Bijs->sd", cot_x, jax.nn.relu(xi_g))
            + jnp.einsum("Bijd,Bsij->sd", lets.g, product_2)
        ),
        "gamma": (lets.x_variance_rsqrt * product_3).sum(),
        "delta": pull_g.sum((0, 1, 2)),
    }


def start_vjp(params: Params, fixed: Fixed, cotangents: States) -> Slopes:
    """<cotangents, d start> by params and clamps."""
    (cot_x,) = cotangents
    product = windows(windows(fixed.img, 2, 0, (G, P), (P, 1)), 4, 0, (G, P), (P, 1))
    hid = fixed.hidden[:, 0:209:16][:, :, 0:209:16]
    pull_seen_part = -hid + 1
    pull_seen = cot_x * pull_seen_part[:, :, :, None]
    grad_img = overlap_add(
        overlap_add(
            jnp.einsum("Bijd,dcpr->Bijcpr", pull_seen, params.W_enc).transpose(0, 2, 3, 5, 1, 4),
            S,
            0,
            (P, 1),
        ).transpose(0, 2, 4, 1, 3),
        S,
        0,
        (P, 1),
    )
    seen = jnp.einsum("Bcipjr,dcpr->Bijd", product, params.W_enc) + params.b_enc
    pull_hid = cot_x @ params.MASK - (cot_x * seen).sum(3)
    grad_hidden = overlap_add(overlap_add(pull_hid.swapaxes(1, 2), S, 0, (P,)).swapaxes(1, 2), S, 0, (P,))
    return {
        "img": grad_img,
        "hidden": grad_hidden,
        "W_enc": jnp.einsum("Bcipjr,Bijd->dcpr", product, pull_seen),
        "pos": cot_x.sum(0),
        "MASK": jnp.einsum("Bijd,Bij->d", cot_x, hid),
        "b_enc": pull_seen.sum((0, 1, 2)),
    }


def readout_vjp(params: Params, states: States, fixed: Fixed, cotangents: Readouts) -> tuple[States, Slopes]:
    """<cotangents, d readouts> by states, and by params and clamps."""
    (x,) = states
    (cot_patches,) = cotangents
    pull_g = jnp.einsum("Bijcpr,dcpr->Bijd", cot_patches, params.W_dec)
    x_centered = x - x.mean(3)[:, :, :, None]
    x_variance = (x_centered * x_centered).mean(3) + 1e-05
    x_variance_rsqrt = lax.rsqrt(x_variance)
    product = x_variance_rsqrt * params.gamma
    product_2 = (x_centered * pull_g).sum(3)
    back_x_part = (
        pull_g * product[:, :, :, None]
        - 1 / D * (x_centered * (x_variance ** -1.5 * (product_2 * params.gamma))[:, :, :, None])
    )
    back_x = back_x_part - back_x_part.mean(3)[:, :, :, None]
    g = x_centered * product[:, :, :, None] + params.delta
    return States(back_x), {
        "W_dec": jnp.einsum("Bijcpr,Bijd->dcpr", cot_patches, g),
        "b_dec": cot_patches.sum((0, 1, 2)),
        "gamma": (x_variance_rsqrt * product_2).sum(),
        "delta": pull_g.sum((0, 1, 2)),
    }


#: Slopes by the fields of params and clamps, those of params summed over the batch.
Slopes = dict[str, Array]


#: Where the states were before each of the last steps, [steps, batch, ...], and after them, not yet on their sets.
Path = tuple[States, States]


#: J^T cotangents, and slopes by what the force reads: ``pull(params, states, fixed, cotangents)``.
Pull = Callable[..., tuple[States, Slopes]]


#: The pull of a step.
step_pull: Pull = force_vjp


answer.defvjp(answer_forward, answer_backward)


class EtImage(Network):
    """The network with params of its own."""

    names = {
        "params": ("W_enc", "W_dec", "pos", "MASK", "b_enc", "b_dec", "W_q", "W_k", "xi", "gamma", "delta"),
        "states": ("x",),
        "clamps": ("img", "hidden"),
        "targets": ("t", "counted"),
    }
    rules = {"bptt": bptt, "implicit": implicit}


# Carried: Relaxed, Gradients, energy, step_sizes, moved, along, advanced, advanced_vjp, step, residual, rested, change,
# length, settle, free_phase, checked, immobile, shaken, share, mean_cost_vjp, gradients, added, cotangent, kept_run,
# walked, back, relax, free_run, prepared, bptt, of_all_steps, implicit, solved, norm, answer, answer_forward,
# answer_backward, clamp_gradient, at_step, project, project_vjp, windows, overlap_add, window_places, Rest, Network.
