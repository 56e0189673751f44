"""thick: Equilibrium transformer block "thick": character language model, not conservative.

Made by energyc 0.3.0 from thick.energy
SHA-256 of the spec: e0180fd4d13dacb66eb185fa983a402a440471e731c665c5791529284c07e460
Rules: tracking-aep, implicit
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from energyc import jax as ej

ej.require_contract(1)

T, D, H, A, F, V = 64, 128, 4, 32, 512, 65
scale = A ** -0.5
MASK = np.arange(T)[:, None] <= np.arange(T)[None, :]


class Params(NamedTuple):
    tok: Array  # [V, D]
    pos: Array  # [T, D]
    g1: Array  # [D]
    h1: Array  # [D]
    g2: Array  # [D]
    h2: Array  # [D]
    W_q: Array  # [H, D, A]
    W_k: Array  # [H, D, A]
    W_v: Array  # [H, D, A]
    W_o: Array  # [H, A, D]
    W1: Array  # [D, F]
    b1: Array  # [F]
    W2: Array  # [F, D]
    b2: Array  # [D]
    W_head: Array  # [D, V]


class Clamps(NamedTuple):
    idx: Array  # [batch, T]


class Targets(NamedTuple):
    label: Array  # [batch, T]


class States(NamedTuple):
    z: Array  # [batch, T, D]


class Fixed(NamedTuple):
    idx: Array  # [batch, T]
    drive: Array  # [batch, T, D]


class Readouts(NamedTuple):
    logits: Array  # [batch, T, V]


def init(key: Array, dtype: ej.DTypeLike = float) -> Params:
    """Draw params by the initializers of the spec."""
    keys = jax.random.split(key, 9)
    return Params(
        tok=0.125 * jax.random.normal(keys[0], (V, D), dtype),
        pos=0.0625 * jax.random.normal(keys[1], (T, D), dtype),
        g1=jnp.full((D,), 1, dtype),
        h1=jnp.full((D,), 0, dtype),
        g2=jnp.full((D,), 1, dtype),
        h2=jnp.full((D,), 0, dtype),
        W_q=0.08838834764831843 * jax.random.normal(keys[2], (H, D, A), dtype),
        W_k=0.08838834764831843 * jax.random.normal(keys[3], (H, D, A), dtype),
        W_v=0.08838834764831843 * jax.random.normal(keys[4], (H, D, A), dtype),
        W_o=0.02 * jax.random.normal(keys[5], (H, A, D), dtype),
        W1=0.08838834764831843 * jax.random.normal(keys[6], (D, F), dtype),
        b1=jnp.full((F,), 0, dtype),
        W2=0.02 * jax.random.normal(keys[7], (F, D), dtype),
        b2=jnp.full((D,), 0, dtype),
        W_head=0.02 * jax.random.normal(keys[8], (D, V), dtype),
    )


def prepare(params: Params, clamps: Clamps) -> Fixed:
    """The quantities that no step changes."""
    (idx,) = clamps
    drive = params.tok[idx] + params.pos
    return Fixed(idx, drive)


def start(params: Params, fixed: Fixed) -> States:
    """Where the states start."""
    x = 32 * fixed.drive
    return States(x)


def terms(params: Params, states: States, fixed: Fixed) -> dict[str, Array]:
    """Each energy term of each sample.

    energy input   = 1/2 * sum[t,d]((z[t,d] - x[t,d])^2)
    energy damping = c/2 * sum[t,d](z[t,d]^2)
    """
    (z,) = states
    energy_input_part = z - 32 * fixed.drive
    energy_input = 0.5 * (energy_input_part * energy_input_part).sum((1, 2))
    energy_damping = 0.5 * (z * z).sum((1, 2))
    return {"input": energy_input, "damping": energy_damping}


def force(params: Params, states: States, fixed: Fixed) -> States:
    """The force on each state.

    F_z[t,d] = sum[h,a](W_o[h,a,d] * sum[s](v[h,s,a] * p[h,t,s])) + sum[f](W2[f,d] * gelu_tanh(sum[e](W1[e,f] *
        n2[t,e]) + b1[f])) + b2[d] - c * z[t,d] - (z[t,d] - S * (pos[t,d] + tok[idx[t],d]))
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
        32 * fixed.drive
        + jnp.einsum("Bhta,had->Btd", jnp.einsum("Bhsa,Bhts->Bhta", v, p), params.W_o)
        + jax.nn.gelu(gelu_tanh_argument) @ params.W2
        - 2 * z
        + params.b2
    )
    return States(force_z)


def readouts(params: Params, states: States, fixed: Fixed) -> Readouts:
    """The readouts: logits[t,w] = sum[d](z[t,d] * W_head[d,w])"""
    (z,) = states
    logits = z @ params.W_head
    return Readouts(logits)


def cost(params: Params, states: States, fixed: Fixed, targets: Targets) -> Array:
    """The cost of each sample: ce = mean[t](cross_entropy[w](logits[t,w], label[t]))"""
    (z,) = states
    (label,) = targets
    W_head_z = z @ params.W_head
    logsumexp = jax.nn.logsumexp(W_head_z, 2)
    cost_part = logsumexp.sum(1) - jnp.take_along_axis(W_head_z, label[:, :, None], 2).squeeze(2).sum(1)
    cost = 1 / T * cost_part
    return cost


def energy_contrast(params: Params, plus: States, minus: States, fixed: Fixed) -> dict[str, Array]:
    """dE/dtheta at plus less that at minus, summed over the batch.

    c_tok[w,d] = S * sum[t | w == idx[t]](minus_z[t,d] - plus_z[t,d])
    c_pos[t,d] = S * (minus_z[t,d] - plus_z[t,d])
    """
    (plus_z,) = plus
    (minus_z,) = minus
    return {
        "tok": 32 * ej.scatter_add(minus_z - plus_z, fixed.idx, V),
        "pos": 32 * (minus_z.sum(0) - plus_z.sum(0)),
    }


MODEL = ej.Model(
    records=ej.Records(Params, Clamps, States, Targets),
    sets={"z": ej.Real((T, D))},
    settings=ej.Settings(
        step=0.1,
        steps=150,
        tolerance=0.0001,
        max_steps=600,
        explosion=10000.0,
        nudge_steps=20,
        snapshots=5,
        nudge_tolerance=0.01,
        nudge_max_steps=160,
    ),
    init=init,
    prepare=prepare,
    start=start,
    terms=terms,
    force=force,
    readouts=readouts,
    cost=cost,
    contrast=energy_contrast,
    force_params=("g1", "h1", "g2", "h2", "W_q", "W_k", "W_v", "W_o", "W1", "b1", "W2", "b2"),
    nonconservative=force,
)
relax, step, residual, answer = ej.bind(MODEL, ej.relax, ej.step, ej.residual, ej.answer)
tracking_aep, implicit = ej.bind(MODEL, ej.tracking_aep, ej.implicit)
energy = MODEL.energy


class Thick(ej.Network):
    """The network as an object with params of its own."""

    model = MODEL
    rules = {"tracking-aep": tracking_aep, "implicit": implicit}
