"""cet: Convergent Energy Transformer: masked image completion (Hoier, Kerjan, Scellier 2026, appendix B).

Made by energyc 0.3.0 from cet.energy
SHA-256 of the spec: 70f0f3b377af54ac38aad54fc62218e90297c32762dc9a6c8b9f2b803c3f4a1d
Rules: centered-ep, implicit
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from energyc import jax as ej

ej.require_contract(1)

C, S, P, stride, G, D, H, A = 3, 120, 20, 10, 11, 768, 12, 64
M = 3072


class Params(NamedTuple):
    W_enc: Array  # [D, C, P, P]
    b_enc: Array  # [D]
    W_dec: Array  # [D, C, P, P]
    b_dec: Array  # [C]
    b_pos: Array  # [G, G, D]
    W_q: Array  # [H, A, D]
    W_k: Array  # [H, A, D]
    W_mem: Array  # [D, M]


class Clamps(NamedTuple):
    x: Array  # [batch, C, S, S]


class Targets(NamedTuple):
    t: Array  # [batch, C, S, S]


class States(NamedTuple):
    z: Array  # [batch, G, G, D]
    y: Array  # [batch, C, S, S]


class Fixed(NamedTuple):
    x: Array  # [batch, C, S, S]
    drive: Array  # [batch, G, G, D]


class Readouts(NamedTuple):
    image: Array  # [batch, C, S, S]


def init(key: Array, dtype: ej.DTypeLike = float) -> Params:
    """Draw params by the initializers of the spec."""
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
    seen = jnp.einsum("Bcipjq,dcpq->Bijd", ej.windows(x, (2, 3), 0, (G, P), (stride, 1)), params.W_enc)
    drive = seen + params.b_pos + params.b_enc
    return Fixed(x, drive)


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
    seen = jnp.einsum("Bcipjq,dcpq->Bijd", ej.windows(fixed.x, (2, 3), 0, (G, P), (stride, 1)), params.W_enc)
    energy_enc = 0.5 * (z * z).sum((1, 2, 3)) - z.sum((1, 2)) @ params.b_enc - (z * seen).sum((1, 2, 3))
    energy_dec_part = jnp.einsum("Bcipjq,dcpq->Bijd", ej.windows(y, (2, 3), 0, (G, P), (stride, 1)), params.W_dec)
    energy_dec = 0.5 * (y * y).sum((1, 2, 3)) - y.sum((2, 3)) @ params.b_dec - (z * energy_dec_part).sum((1, 2, 3))
    energy_pos = -jnp.einsum("Bijd,ijd->B", z, params.b_pos)
    relu = jax.nn.relu(z @ params.W_mem)
    energy_mem = -(relu * relu).sum((1, 2, 3))
    query = jnp.einsum("Bijd,had->Bhija", z, params.W_q)
    key_2 = jnp.einsum("Bijd,had->Bhija", z, params.W_k)
    logsumexp = jax.nn.logsumexp(0.25 * jnp.einsum("Bhija,Bhkla->Bhijkl", query, key_2), (4, 5))
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
    key_2 = jnp.einsum("Bijd,had->Bhija", z, params.W_k)
    weights = jax.nn.softmax(0.25 * jnp.einsum("Bhija,Bhkla->Bhijkl", query, key_2), (4, 5))
    pull_key = jnp.einsum("Bhklij,Bhkla->Bhija", weights, query)
    pull_query = jnp.einsum("Bhijkl,Bhkla->Bhija", weights, key_2)
    force_z = (
        jnp.einsum("Bhija,had->Bijd", pull_key, params.W_k)
        + jnp.einsum("Bhija,had->Bijd", pull_query, params.W_q)
        + fixed.drive
        + jnp.einsum("Bcipjq,dcpq->Bijd", ej.windows(y, (2, 3), 0, (G, P), (stride, 1)), params.W_dec)
        + 2 * (jax.nn.relu(z @ params.W_mem) @ params.W_mem.T)
        - z
    )
    force_y = (
        ej.overlap_add(jnp.einsum("Bijd,dcpq->Bcipjq", z, params.W_dec), (S, S), 0, (stride, 1))
        - y
        + params.b_dec[:, None, None]
    )
    return States(force_z, force_y)


def readouts(params: Params, states: States, fixed: Fixed) -> Readouts:
    """The readouts: image[c,u,v] = y[c,u,v]"""
    _, y = states
    return Readouts(y)


def cost(params: Params, states: States, fixed: Fixed, targets: Targets) -> Array:
    """The cost of each sample: mse = mean[c,u,v]((y[c,u,v] - t[c,u,v])^2)"""
    _, y = states
    (t,) = targets
    cost_part = y - t
    cost = (cost_part * cost_part).mean((1, 2, 3))
    return cost


def energy_contrast(params: Params, plus: States, minus: States, fixed: Fixed) -> dict[str, Array]:
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
        "W_enc": jnp.einsum("Bcipjq,Bijd->dcpq", ej.windows(fixed.x, (2, 3), 0, (G, P), (stride, 1)), grad_b_pos),
        "b_enc": grad_b_pos.sum((0, 1, 2)),
        "W_dec": (
            jnp.einsum("Bcipjq,Bijd->dcpq", ej.windows(minus_y, (2, 3), 0, (G, P), (stride, 1)), grad_b_pos)
            + jnp.einsum("Bcipjq,Bijd->dcpq", ej.windows(total, (2, 3), 0, (G, P), (stride, 1)), plus_z)
        ),
        "b_dec": total.sum((0, 2, 3)),
        "b_pos": grad_b_pos.sum(0),
    }


MODEL = ej.Model(
    records=ej.Records(Params, Clamps, States, Targets),
    sets={"z": ej.Standardized((G, G, D), axes=(-1,)), "y": ej.Real((C, S, S))},
    settings=ej.Settings(step=1, steps=150, tolerance=0.0001, max_steps=150, explosion=10000.0, nudge_steps=5),
    init=init,
    prepare=prepare,
    start=start,
    terms=terms,
    force=force,
    readouts=readouts,
    cost=cost,
    contrast=energy_contrast,
    energy_params=("W_q", "W_k", "W_mem"),
)
relax, step, residual, answer = ej.bind(MODEL, ej.relax, ej.step, ej.residual, ej.answer)
centered_ep, implicit = ej.bind(MODEL, ej.centered_ep, ej.implicit)
energy, project = MODEL.energy, MODEL.project


class Cet(ej.Network):
    """The network as an object with params of its own."""

    model = MODEL
    rules = {"centered-ep": centered_ep, "implicit": implicit}
