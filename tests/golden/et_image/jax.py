"""et_image: Energy Transformer, image completion (Hoover et al. 2023, appendix A, algorithm 1).

Made by energyc 0.2.0 from et_image.energy
SHA-256 of the spec: ad3bfdc4e647c613f3c32f25e2eb428178d4e4b3ea2b9c81d2df6d3bdb0c8963
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
from jax.scipy.sparse.linalg import gmres
from jax.typing import DTypeLike

C, S, P, G, D, H, Y, K = 3, 224, 16, 14, 768, 12, 64, 3072
MASK_3 = (
    np.arange(G)[:, None, None, None] != np.arange(G)[None, :, None, None]
) | (np.arange(G)[None, None, :, None] != np.arange(G)[None, None, None, :])


class Params(NamedTuple):
    """What is learned."""

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
    """What is given, a row for each sample."""

    img: Array
    hidden: Array


class Targets(NamedTuple):
    """What the cost compares with."""

    t: Array


class States(NamedTuple):
    """x[G, G, D], a row for each sample."""

    x: Array


class Fixed(NamedTuple):
    """Clamps, and what depends on clamps and params alone."""

    img: Array
    hidden: Array


class Readouts(NamedTuple):
    """The answers."""

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
    """What no step changes."""
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
    """The answers.

    readout patches[i,j,c,p,r] = out[i,j,c,p,r]
    """
    lets = lets_at(params, states, fixed)
    out = jnp.einsum("Bijd,dcpr->Bijcpr", lets.g, params.W_dec) + params.b_dec
    return Readouts(out)


def cost(params: Params, states: States, fixed: Fixed, targets: Targets) -> Array:
    """The cost of each sample.

    cost mse = sum[i,j](hid[i,j] * miss[i,j]) / sum[i,j](hid[i,j])
    """
    (t,) = targets
    lets = lets_at(params, states, fixed)
    hid = fixed.hidden[:, 0:209:16][:, :, 0:209:16]
    out = jnp.einsum("Bijd,dcpr->Bijcpr", lets.g, params.W_dec) + params.b_dec
    cost_part = -windows(windows(t, 2, 0, (G, P), (P, 1)), 4, 0, (G, P), (P, 1)).transpose(0, 2, 4, 1, 3, 5)
    cost_part_2 = out + cost_part
    cost = 1 / (C * P * P) * (
        (hid * (cost_part_2 * cost_part_2).sum((3, 4, 5))).sum((1, 2)) * (1 / hid.sum((1, 2)))
    )
    return cost


def cost_vjp(params: Params, states: States, fixed: Fixed, targets: Targets) -> tuple[States, Slopes]:
    """dC/dz of each sample; and the direct dC/dtheta.

    dC/dx[i,j,d] = 2 * gamma * mean[c,p,r](W_dec[d,c,p,r] * (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * hid[i,j] /
        sum[m,n](hid[m,n])) / sqrt(mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3]))^2) + 1e-5) - 2 * (x[i,j,d] -
        mean[d2](x[i,j,d2])) * gamma * mean[d2]((x[i,j,d2] - mean[d3](x[i,j,d3])) * mean[c,p,r](W_dec[d2,c,p,r] *
        (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * hid[i,j] / sum[m,n](hid[m,n]))) / (mean[d2]((x[i,j,d2] -
        mean[d3](x[i,j,d3]))^2) + 1e-5)^(3/2) - mean[d2](2 * gamma * mean[c,p,r](W_dec[d2,c,p,r] * (out[i,j,c,p,r]
        - t[c, P*i + p, P*j + r]) * hid[i,j] / sum[m,n](hid[m,n])) / sqrt(mean[d3]((x[i,j,d3] -
        mean[d4](x[i,j,d4]))^2) + 1e-5) - 2 * (x[i,j,d2] - mean[d3](x[i,j,d3])) * gamma * mean[d3]((x[i,j,d3] -
        mean[d4](x[i,j,d4])) * mean[c,p,r](W_dec[d3,c,p,r] * (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * hid[i,j]
        / sum[m,n](hid[m,n]))) / (mean[d3]((x[i,j,d3] - mean[d4](x[i,j,d4]))^2) + 1e-5)^(3/2))
    dC/dW_dec[d,c,p,r] = 2/(C*P^2) * sum[i,j](g[i,j,d] * (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * hid[i,j] /
        sum[m,n](hid[m,n]))
    dC/db_dec[c,p,r] = 2/(C*P^2) * sum[i,j]((out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * hid[i,j] /
        sum[m,n](hid[m,n]))
    dC/dgamma = 2 * sum[i,j,d](layernorm[d](x[i,j,d]) * mean[c,p,r](W_dec[d,c,p,r] * (out[i,j,c,p,r] - t[c, P*i +
        p, P*j + r]) * hid[i,j] / sum[m,n](hid[m,n])))
    dC/ddelta[d] = 2 * sum[i,j](mean[c,p,r](W_dec[d,c,p,r] * (out[i,j,c,p,r] - t[c, P*i + p, P*j + r]) * hid[i,j]
        / sum[m,n](hid[m,n])))
    """
    (t,) = targets
    lets = lets_at(params, states, fixed)
    out = jnp.einsum("Bijd,dcpr->Bijcpr", lets.g, params.W_dec) + params.b_dec
    part = -windows(windows(t, 2, 0, (G, P), (P, 1)), 4, 0, (G, P), (P, 1)).transpose(0, 2, 4, 1, 3, 5)
    total = out + part
    hid = fixed.hidden[:, 0:209:16][:, :, 0:209:16]
    product = total * (hid * (1 / hid.sum((1, 2)))[:, None, None])[:, :, :, None, None, None]
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


class Relaxed(NamedTuple):
    """Where a relaxation ended: states, and of each sample the residual, infinite if it exploded, and the steps."""

    states: States
    residual: Array
    steps: Array


class Gradients(NamedTuple):
    """The gradient of the mean cost, the cost of each sample, and the free phase that they belong to."""

    params: Params
    cost: Array
    free: Relaxed


def energy(params: Params, states: States, fixed: Fixed) -> Array:
    """The energy of each sample."""
    return sum(terms(params, states, fixed).values(), jnp.zeros(len(states[0]), states[0].dtype))


def moved(states: States, slopes: States) -> States:
    """Each state by its step size along a force."""
    return jax.tree.map(lambda z, f, h: z + h * f, states, slopes, STEP)


def step(params: Params, states: States, fixed: Fixed) -> States:
    """One step: each state along its force, then onto its set."""
    return project(moved(states, force(params, states, fixed)))


def residual(params: Params, states: States, fixed: Fixed) -> Array:
    """The largest relative change of a state in the next step, of each sample."""
    return change(step(params, states, fixed), states)


def change(after: States, before: States) -> Array:
    """The largest ``|after - before| / (|before| + 1e-12)`` of a state, infinite where it is not finite."""
    ratios = [length(a - b) / (length(b) + 1e-12) for a, b in zip(after, before, strict=True)]
    return jnp.nan_to_num(jnp.stack(ratios).max(0), nan=jnp.inf)


def length(x: Array) -> Array:
    """The Euclidean norm of each sample."""
    return jnp.sqrt((x * x).reshape(len(x), -1).sum(1))


def chosen(rows: Array, yes: States, no: States) -> States:
    """Of some samples one, of the others another."""
    return jax.tree.map(lambda y, n: jnp.where(rows.reshape(-1, *[1] * (y.ndim - 1)), y, n), yes, no)


def settle(params: Params, states: States, fixed: Fixed) -> Relaxed:
    """STEPS steps, settled or not."""
    states = lax.fori_loop(0, STEPS, lambda _, z: step(params, z, fixed), states)
    left = residual(params, states, fixed)
    return Relaxed(states, left, jnp.full(left.shape, STEPS))


def relax(params: Params, clamps: Clamps) -> Relaxed:
    """Let the states relax from their start."""
    return free_phase(params, prepare(params, clamps))


def free_phase(params: Params, fixed: Fixed) -> Relaxed:
    """The same, with what is fixed in it; a sample that exploded until rounding stopped it did not settle."""
    before = project(start(params, fixed))
    free = settle(params, before, fixed)
    scale = jnp.maximum(1.0, jnp.stack([jnp.abs(x).max() for x in before]).max())
    largest = jnp.stack([jnp.abs(x).reshape(len(x), -1).max(1) for x in free.states]).max(0)
    displaced = type(free.states)(*map(shaken, free.states))
    stuck = (largest > EXPLOSION * scale) & immobile(params, free.states, fixed) & immobile(params, displaced, fixed)
    return free._replace(residual=jnp.where(stuck, jnp.inf, free.residual))


def immobile(params: Params, states: States, fixed: Fixed) -> Array:
    """The samples most of whose coordinates a step moves by less than an ulp."""
    ulp = jnp.finfo(states[0].dtype).eps / 2
    slopes = force(params, states, fixed)
    still = [
        (jnp.abs(h * f) < ulp * jnp.abs(x)).reshape(len(x), -1) for x, f, h in zip(states, slopes, STEP, strict=True)
    ]
    return jnp.concatenate(still, 1).mean(1) > 0.5


def shaken(x: Array) -> Array:
    """The state with its coordinates a little larger and smaller in turn: at rest it would be pushed back."""
    width = float(jnp.finfo(x.dtype).eps) ** 0.25
    turns = jnp.arange(x[0].size).reshape(x.shape[1:]) % 2
    return x * (1 + width - 2 * width * turns)


def averaged(params: Params, free: Relaxed, fixed: Fixed, targets: Targets, slopes: Sequence[Slopes]) -> Gradients:
    """Slopes added up, over the number of samples; NaN where a sample exploded, so that nobody learns from it."""
    share = jnp.where(jnp.isfinite(free.residual).all(), 1.0, jnp.nan) / len(free.residual)
    mean = {name: share * added(name, x, slopes) for name, x in params._asdict().items()}
    return Gradients(type(params)(**mean), cost(params, free.states, fixed, targets), free)


def added(name: str, like: Array, slopes: Sequence[Slopes]) -> Array:
    """The slopes by one name, added up; zeros where there are none."""
    return sum((part[name] for part in slopes if name in part), jnp.zeros_like(like))


def bptt(params: Params, clamps: Clamps, targets: Targets) -> Gradients:
    """The gradient of what was run: backpropagation through all steps, the start included.

    lambda_k = (I + step J)^T P^T lambda_(k+1),    dC/dtheta = sum_k <step P^T lambda_(k+1), dF/dtheta(z_k)>
    """
    fixed = prepare(params, clamps)
    free = free_phase(params, fixed)
    seeds, direct = cost_vjp(params, free.states, fixed, targets)
    first, through = back(params, free, fixed, seeds, MAX_STEPS)
    first = project_vjp(start(params, fixed), first)
    return averaged(params, free, fixed, targets, [through, start_vjp(params, fixed, first), direct])


def back(params: Params, free: Relaxed, fixed: Fixed, seeds: States, last: int) -> tuple[States, Slopes]:
    """Cotangents of the states before the last steps of each sample, and the slopes by params of these steps."""
    before, last = project(start(params, fixed)), min(last, MAX_STEPS)
    stored = jax.tree.map(lambda x: jnp.zeros((last, *x.shape), x.dtype), before)

    def forward(k: Array, run: Any) -> Any:
        states, stored = run
        at = k - free.steps + last  # the place of this step among the last ones of each sample
        put = jax.vmap(lambda own, x, i: own.at[i].set(x, mode="drop"), (1, 0, 0), 1)
        kept = jnp.where((at >= 0) & (k < free.steps), at, last)
        stored = jax.tree.map(lambda own, x: put(own, x, kept), stored, states)
        return chosen(k < free.steps, step(params, states, fixed), states), stored

    _, stored = lax.fori_loop(0, free.steps.max(), forward, (before, stored))

    def backward(k: Array, run: Any) -> Any:
        cotangents, slopes = run
        states = jax.tree.map(lambda x: x[last - 1 - k], stored)
        projected = project_vjp(moved(states, force(params, states, fixed)), cotangents)
        taken = k < free.steps
        pushed = chosen(taken, along(projected), jax.tree.map(jnp.zeros_like, projected))
        through, more = force_vjp(params, states, fixed, pushed)
        earlier = chosen(taken, jax.tree.map(jnp.add, projected, through), cotangents)
        return earlier, jax.tree.map(jnp.add, slopes, more)

    none = jax.tree.map(jnp.zeros_like, force_vjp(params, before, fixed, seeds)[1])
    return lax.fori_loop(0, jnp.minimum(last, free.steps.max()), backward, (seeds, none))


def implicit(params: Params, clamps: Clamps, targets: Targets) -> Gradients:
    """The exact gradient at an equilibrium.

    lambda = dC/dz + (I + step J)^T P^T lambda,    dC/dtheta = <step P^T lambda, dF/dtheta> + direct
    """
    fixed = prepare(params, clamps)
    free = free_phase(params, fixed)
    seeds, direct = cost_vjp(params, free.states, fixed, targets)
    pushed = solved(params, free.states, fixed, seeds)
    return averaged(params, free, fixed, targets, [force_vjp(params, free.states, fixed, pushed)[1], direct])


def solved(params: Params, states: States, fixed: Fixed, seeds: States) -> States:
    """``step P^T lambda`` of the adjoint equation, by repeating the transposed step, then by GMRES.

    NaN of all samples where neither comes to rest: there may be no isolated equilibrium.
    """
    goal = 1e-12 if states[0].dtype == jnp.float64 else 1e-5
    at, size = moved(states, force(params, states, fixed)), norm(seeds)

    def back(a: States) -> States:
        """(I + step J)^T P^T a."""
        projected = project_vjp(at, a)
        pushed = force_vjp(params, states, fixed, along(projected))[0]
        return jax.tree.map(jnp.add, projected, pushed)

    def rest(a: States) -> States:
        return jax.tree.map(jnp.subtract, a, back(a))

    def goes_on(run: tuple[States, Array, Array]) -> Array:
        _, left, count = run
        return (left > goal * size).any() & (count < 200)

    def further(run: tuple[States, Array, Array]) -> tuple[States, Array, Array]:
        a, _, count = run
        after = jax.tree.map(jnp.add, seeds, back(a))
        return after, norm(jax.tree.map(jnp.subtract, after, a)), count + 1

    a, left, _ = lax.while_loop(goes_on, further, (seeds, jnp.full_like(size, jnp.inf), jnp.asarray(0)))
    near = jnp.isfinite(left).all() & (left <= size).all()
    first = jax.tree.map(lambda x, s: jnp.where(near, x, s), a, seeds)

    def by_gmres(_: States) -> States:
        return gmres(rest, seeds, first, tol=goal / 10, restart=60, maxiter=40)[0]

    a = lax.cond((left <= goal * size).all(), lambda x: x, by_gmres, first)
    wrong = norm(jax.tree.map(jnp.subtract, rest(a), seeds)) > 1e3 * goal * size
    return jax.tree.map(lambda x: jnp.where(wrong.any(), jnp.nan, x), along(project_vjp(at, a)))


def along(states: States) -> States:
    """Each state times its step size."""
    return jax.tree.map(lambda x, h: h * x, states, STEP)


def norm(states: States) -> Array:
    """The Euclidean norm of all states of a sample."""
    return jnp.sqrt(sum(length(x) ** 2 for x in states))


@jax.custom_vjp
def answer(params: Params, clamps: Clamps) -> Readouts:
    """The readouts at rest, differentiable by the implicit function theorem in params and real clamps."""
    fixed = prepare(params, clamps)
    return readouts(params, free_phase(params, fixed).states, fixed)


def answer_forward(params: Params, clamps: Clamps) -> tuple[Readouts, tuple[Params, Clamps, Fixed, States]]:
    """The readouts, and what the way back needs."""
    fixed = prepare(params, clamps)
    states = free_phase(params, fixed).states
    return readouts(params, states, fixed), (params, clamps, fixed, states)


def answer_backward(kept: tuple[Params, Clamps, Fixed, States], cotangents: Readouts) -> tuple[Params, Clamps]:
    """The cotangents of params and clamps."""
    params, clamps, fixed, states = kept
    seeds, direct = readout_vjp(params, states, fixed, cotangents)
    pushed = solved(params, states, fixed, seeds)
    slopes = [direct, force_vjp(params, states, fixed, pushed)[1], clamp_gradient(params, states, fixed, pushed)]
    of_params = {name: added(name, x, slopes) for name, x in params._asdict().items()}
    of_clamps = {name: cotangent(name, x, slopes) for name, x in clamps._asdict().items()}
    return type(params)(**of_params), type(clamps)(**of_clamps)


def cotangent(name: str, clamp: Array, slopes: list[dict[str, Array]]) -> Array | np.ndarray:
    """That of a clamp: integers have none."""
    if jnp.issubdtype(clamp.dtype, jnp.floating):
        return added(name, clamp, slopes)
    return np.zeros(clamp.shape, jax.dtypes.float0)


answer.defvjp(answer_forward, answer_backward)


def clamp_gradient(params: Params, states: States, fixed: Fixed, cotangents: States) -> Slopes:
    """The force depends on no real clamp."""
    return {}


def project(states: States) -> States:
    """The states are in no set."""
    return states


def project_vjp(at: States, cotangents: States) -> States:
    """The adjoint of nothing."""
    return cotangents


def windows(x: Array, axis: int, offset: int, counts: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """``x[..., offset + sum(stride * i), ...]`` with an axis for each i; 0 outside of x."""
    places, size = window_places(offset, counts, strides), x.shape[axis]
    before, after = max(0, -int(places.min())), max(0, int(places.max()) + 1 - size)
    if before or after:
        x = jnp.pad(x, [(before, after) if k == axis else (0, 0) for k in range(x.ndim)])
    return jnp.take(x, places + before, axis)


def overlap_add(x: Array, size: int, offset: int, strides: tuple[int, ...]) -> Array:
    """The adjoint of ``windows``: the window axes come last, one axis of ``size`` takes their place."""
    first = x.ndim - len(strides)
    places = window_places(offset, x.shape[first:], strides)
    before, after = max(0, -int(places.min())), max(0, int(places.max()) + 1 - size)
    total = jnp.zeros((*x.shape[:first], before + size + after), x.dtype).at[..., places + before].add(x)
    return total[..., before : before + size]


def window_places(offset: int, counts: tuple[int, ...], strides: tuple[int, ...]) -> np.ndarray:
    """``offset + sum(stride * i)``, with an axis for each i."""
    rank = len(counts)
    along = [
        s * np.arange(n).reshape([-1 if j == k else 1 for j in range(rank)])
        for k, (n, s) in enumerate(zip(counts, strides, strict=True))
    ]
    return offset + np.asarray(sum(along))


class Rest(NamedTuple):
    """Where a relaxation ended: states by name, the residual and the steps of each sample."""

    states: dict[str, Array]
    residual: Array
    steps: Array


class Network:
    """A network with params of its own; params, clamps and targets are arrays by the names of the spec.

    Raises ValueError for float64 where JAX is not told to use it, for a rule that is not in the module, and for inputs
    that are missing or unknown.
    """

    names: ClassVar[Mapping[str, tuple[str, ...]]]
    rules: ClassVar[Mapping[str, Callable[..., Gradients]]] = {}

    def __init__(self, device: object = None, dtype: object = None, seed: int = 0) -> None:
        self.dtype = jnp.dtype(str(dtype or "float32").removeprefix("torch."))
        if self.dtype == jnp.float64 and not jax.config.jax_enable_x64:
            raise ValueError('JAX uses float64 only after jax.config.update("jax_enable_x64", True)')
        drawn = init(jax.random.key(seed), self.dtype)
        self.params = {name: np.array(x) for name, x in zip(self.names["params"], drawn, strict=True)}

    def relax(self, clamps: Mapping[str, Any]) -> Rest:
        """Let the states relax."""
        free = jax.jit(relax)(*self.given(clamps))
        return Rest(dict(zip(self.names["states"], free.states, strict=True)), free.residual, free.steps)

    def gradients(
        self, clamps: Mapping[str, Any], targets: Mapping[str, Any], rule: str | None = None
    ) -> dict[str, Array]:
        """The gradient of the mean cost by a rule of the module, by default its first."""
        rule = rule or next(iter(self.rules), "")
        if rule not in self.rules:
            raise ValueError(f"there is no rule {rule} in this module, but {', '.join(self.rules) or 'none'}")
        aims = Targets(**self.ordered("targets", targets))
        found = jax.jit(self.rules[rule])(*self.given(clamps), aims)
        return dict(zip(self.names["params"], found.params, strict=True))

    def given(self, clamps: Mapping[str, Any]) -> tuple[Params, Clamps]:
        """Params and clamps as the functions of the module take them."""
        return Params(*map(jnp.asarray, self.params.values())), Clamps(**self.ordered("clamps", clamps))

    def ordered(self, kind: str, arrays: Mapping[str, Any]) -> dict[str, Array]:
        """Arrays by the fields of their record; real ones in the dtype of the params."""
        if set(arrays) != set(self.names[kind]):
            raise ValueError(f"the {kind} are {', '.join(self.names[kind])}, not {', '.join(arrays)}")
        record = {"clamps": Clamps, "targets": Targets}[kind]
        made = [jnp.asarray(np.asarray(arrays[name])) for name in self.names[kind]]
        real = [x.astype(self.dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x for x in made]
        return dict(zip(record._fields, real, strict=True))


class EtImage(Network):
    """The network with params of its own."""

    names = {
        "params": ("W_enc", "W_dec", "pos", "MASK", "b_enc", "b_dec", "W_q", "W_k", "xi", "gamma", "delta"),
        "states": ("x",),
        "clamps": ("img", "hidden"),
        "targets": ("t",),
    }
    rules = {"bptt": bptt, "implicit": implicit}
