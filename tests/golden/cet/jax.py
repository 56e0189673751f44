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
from jax.scipy.sparse.linalg import gmres
from jax.typing import DTypeLike

C, S, P, stride, G, D, H, A = 3, 120, 20, 10, 11, 768, 12, 64
M = 3072


class Params(NamedTuple):
    """What is learned."""

    W_enc: Array
    b_enc: Array
    W_dec: Array
    b_dec: Array
    b_pos: Array
    W_q: Array
    W_k: Array
    W_mem: Array


class Clamps(NamedTuple):
    """What is given, a row for each sample."""

    x: Array


class Targets(NamedTuple):
    """What the cost compares with."""

    t: Array


class States(NamedTuple):
    """z[G, G, D], y[C, S, S], a row for each sample."""

    z: Array
    y: Array


class Fixed(NamedTuple):
    """Clamps, and what depends on clamps and params alone."""

    x: Array
    x_part: Array
    drive: Array


class Readouts(NamedTuple):
    """The answers."""

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
        b_pos=1 * jax.random.normal(keys[2], (G, G, D), dtype),
        W_q=0.014433756729740645 * jax.random.normal(keys[3], (H, A, D), dtype),
        W_k=0.014433756729740645 * jax.random.normal(keys[4], (H, A, D), dtype),
        W_mem=0.009021097956087904 * jax.random.normal(keys[5], (D, M), dtype),
    )


def prepare(params: Params, clamps: Clamps) -> Fixed:
    """What no step changes."""
    (x,) = clamps
    x_part = windows(windows(x, 2, 0, (G, P), (stride, 1)), 4, 0, (G, P), (stride, 1))
    seen = jnp.einsum("Bcipjq,dcpq->Bijd", x_part, params.W_enc)
    drive = seen + params.b_pos + params.b_enc
    return Fixed(x, x_part, drive)


def start(params: Params, fixed: Fixed) -> States:
    """Where the states start."""
    return States(fixed.drive, jnp.full((len(fixed[0]), C, S, S), 0).astype(params.W_enc.dtype))


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
    """The answers.

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
    """STEPS steps; then CHUNK more, MAX_STEPS at most, of the samples whose residual is above TOLERANCE."""

    def walk(states: States, count: Array | int) -> States:
        return lax.fori_loop(0, count, lambda _, z: step(params, z, fixed), states)

    def goes_on(run: tuple[Relaxed, Array]) -> Array:
        free, done = run
        return unsettled(free).any() & (done < MAX_STEPS)

    def further(run: tuple[Relaxed, Array]) -> tuple[Relaxed, Array]:
        free, done = run
        on, count = unsettled(free), jnp.minimum(CHUNK, MAX_STEPS - done)
        states = chosen(on, walk(free.states, count), free.states)
        left = jnp.where(on, residual(params, states, fixed), free.residual)
        return Relaxed(states, left, free.steps + jnp.where(on, count, 0)), done + count

    states = walk(states, STEPS)
    left = residual(params, states, fixed)
    first = Relaxed(states, left, jnp.full(left.shape, STEPS))
    return lax.while_loop(goes_on, further, (first, jnp.asarray(STEPS)))[0]


def unsettled(free: Relaxed) -> Array:
    """The samples that go on."""
    return jnp.isfinite(free.residual) & (free.residual > TOLERANCE)


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


def cost_force(params: Params, states: States, fixed: Fixed, targets: Targets) -> States:
    """dC/dz of each sample."""
    return cost_vjp(params, states, fixed, targets)[0]


#: What a nudge subtracts from the force.
nudge = cost_force


#: The force that a nudge subtracts: ``drive(params, states, fixed, targets)``.
Drive = Callable[..., States]


#: Moves a pair of nudged phases by a step: ``advance(params, plus, minus, free, fixed, targets, beta)``.
Advance = Callable[..., tuple[States, States]]


def nudged_step(
    params: Params, states: States, fixed: Fixed, targets: Targets, beta: Array | float, drive: Drive = nudge
) -> States:
    """One step under the force less beta times its drive."""
    push = drive(params, states, fixed, targets)
    return project(moved(states, less(force(params, states, fixed), push, beta)))


def less(slopes: States, other: States, factor: Array | float = 1.0) -> States:
    """``slopes - factor * other``."""
    return jax.tree.map(lambda f, g: f - factor * g, slopes, other)


def nudged(
    params: Params, states: States, fixed: Fixed, targets: Targets, beta: Array | float, drive: Drive = nudge
) -> States:
    """NUDGE_STEPS steps under a nudge."""
    return lax.fori_loop(0, NUDGE_STEPS, lambda _, z: nudged_step(params, z, fixed, targets, beta, drive), states)


def apart(
    params: Params, plus: States, minus: States, free: States, fixed: Fixed, targets: Targets, beta: Array | float
) -> tuple[States, States]:
    """A step of two phases at +beta and -beta, each by itself."""
    return nudged_step(params, plus, fixed, targets, beta), nudged_step(params, minus, fixed, targets, -beta)


def phases(
    params: Params, free: States, fixed: Fixed, targets: Targets, beta: Array | float, advance: Advance
) -> tuple[States, States]:
    """Both nudged phases after NUDGE_STEPS steps."""

    def both(_: Array, pair: tuple[States, States]) -> tuple[States, States]:
        return advance(params, *pair, free, fixed, targets, beta)

    return lax.fori_loop(0, NUDGE_STEPS, both, (free, free))


def strength(
    params: Params, free: Relaxed, fixed: Fixed, targets: Targets, order: int = 2, drive: Drive = nudge
) -> Array:
    """The strength at which rounding / displacement is displacement ^ order, as a trial nudge tells: a power of two.

    A nudge so many times as strong as the trial that it lets go of states which that left held is the trial's. Order 1
    is one nudge, which also reads what the free phase still moves.
    """
    states, eps = free.states, float(jnp.finfo(free.states[0].dtype).eps)
    known = jnp.isfinite(free.residual)
    median = jnp.sort(jnp.where(known, free.residual, jnp.inf))[jnp.maximum(known.sum() - 1, 0) // 2]
    rows = known & (free.residual <= jnp.maximum(TOLERANCE, 10 * median))

    def after(beta: Array | float) -> States:
        return nudged(params, states, fixed, targets, beta, drive)

    sizes = jnp.stack([rms(x, rows) for x in states])
    largest = jnp.where(sizes.max() > 0, sizes.max(), 1.0)
    push = jnp.stack([rms(x, rows) for x in drive(params, states, fixed, targets)]).max()
    trial = eps ** (1 / 3) * largest / (push * max(STEP) * min(NUDGE_STEPS, 20))
    moved, drifted = after(trial), after(0.0)
    drifts = jnp.stack([rms(x, rows) for x in less(drifted, states)])
    scales = jnp.where(sizes > 16 * jnp.maximum(drifts, eps * sizes.max()), sizes, 0.0)
    scales = jnp.where(scales > 0, scales, jnp.where(scales.max() > 0, scales.max(), 1.0))
    moves = jnp.stack([rms(x, rows) for x in less(moved, drifted)])
    moves, drifts = jnp.where(moves > 4 * eps * scales, moves / (trial * scales), 0.0), drifts / scales
    useful = (moves > 0) & jnp.isfinite(moves) & jnp.isfinite(drifts)
    noise = jnp.maximum(eps, drifts) if order == 1 else jnp.full_like(drifts, eps)
    ratio = jnp.where(useful, jnp.log2(noise) - jnp.log2(moves), -jnp.inf).max()
    reach = jnp.log2(jnp.where(useful, moves, 0.0).max())
    most = math.log2(float(jnp.finfo(states[0].dtype).max)) / 2
    exponent = jnp.where(useful.any(), ((ratio - order * reach) / (order + 1)).clip(-most, most), 0.0)
    found = 2.0 ** jnp.round(exponent)

    def lets_go(beta: Array) -> Array:
        growth, there = 4 * jnp.abs(beta) / trial, after(beta)
        wide = [
            ~(jnp.abs(x - d) <= growth * (jnp.abs(m - d) + 4 * eps * s)).reshape(len(x), -1)
            for x, m, d, s in zip(there, moved, drifted, scales, strict=True)
        ]
        return (jnp.concatenate(wide, 1).any(1) & rows).any()

    signs = (1.0,) if order == 1 else (1.0, -1.0)
    far = found > 256 * trial
    gone = lax.cond(far, lambda: jnp.stack([lets_go(s * found) for s in signs]).any(), lambda: jnp.asarray(False))
    found = jnp.where(gone, 2.0 ** jnp.floor(jnp.log2(trial)), found)
    return jnp.where((push > 0) & jnp.isfinite(push), found, 1.0)


def rms(x: Array, rows: Array) -> Array:
    """The root mean square over some of the samples."""
    squares = jnp.where(rows, (x * x).reshape(len(x), -1).mean(1), 0.0)
    return jnp.sqrt(squares.sum() / jnp.maximum(rows.sum(), 1))


def contrasted(
    params: Params, free: Relaxed, plus: States, minus: States, fixed: Fixed, targets: Targets, width: Array | float
) -> Gradients:
    """The gradient by two phases whose nudges differ by ``width``."""
    slopes = jax.tree.map(lambda x: x / width, energy_slopes(params, plus, minus, fixed))
    return averaged(params, free, fixed, targets, [*slopes, cost_vjp(params, free.states, fixed, targets)[1]])


def centered_ep(params: Params, clamps: Clamps, targets: Targets, beta: float | None = None) -> Gradients:
    """Centred equilibrium propagation (Laborieux et al. 2021).

    dC/dtheta = (dE/dtheta(z(+beta)) - dE/dtheta(z(-beta))) / (2 beta) + O(beta^2)
    """
    fixed = prepare(params, clamps)
    free = free_phase(params, fixed)
    width = strength(params, free, fixed, targets) if beta is None else beta
    plus, minus = phases(params, free.states, fixed, targets, width, apart)
    return contrasted(params, free, plus, minus, fixed, targets, 2 * width)


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


def standardized(x: Array, axes: tuple[int, ...]) -> Array:
    """To mean 0 and variance 1 along the axes; what has no variance stays as it is."""
    centred = x - x.mean(axes, keepdims=True)
    deviation = finite_length(jnp.sqrt((centred * centred).mean(axes, keepdims=True)))
    return jnp.where(deviation == 0, x, centred / deviation)


def standardized_vjp(x: Array, cotangent: Array, axes: tuple[int, ...]) -> Array:
    """``(c - mean(c) - u mean(u c)) / deviation`` with u the standardised x."""
    centred = x - x.mean(axes, keepdims=True)
    deviation = jnp.sqrt((centred * centred).mean(axes, keepdims=True))
    u = centred / deviation
    back = cotangent - cotangent.mean(axes, keepdims=True) - u * (u * cotangent).mean(axes, keepdims=True)
    return jnp.where(deviation > 0, back / deviation, cotangent)


def finite_length(length: Array) -> Array:
    """Lengths with NaN for those that overflow, by which a vector would be divided into zeros."""
    return jnp.where(length == jnp.inf, jnp.nan, length)


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


class Cet(Network):
    """The network with params of its own."""

    names = {
        "params": ("W_enc", "b_enc", "W_dec", "b_dec", "b_pos", "W_q", "W_k", "W_mem"),
        "states": ("z", "y"),
        "clamps": ("x",),
        "targets": ("t",),
    }
    rules = {"centered-ep": centered_ep, "implicit": implicit}
