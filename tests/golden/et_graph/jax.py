"""et_graph: Energy Transformer, graph classification (Hoover et al. 2023, appendix F).

Made by energyc 0.3.0 from et_graph.energy
SHA-256 of the spec: 173616a3a98c7b0855f7c843c7f86c6498ddbe2fe90df7fdca3ecd0ca7e57649
Rules: bptt
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from energyc import jax as ej

ej.require_contract(1)

N, F, D, H, Y, K, E, R = 29, 7, 128, 12, 64, 512, 15, 3
L, T, Z = 2, 2, 2
MASK_3 = np.arange(N) != 0


class Params(NamedTuple):
    W_in: Array  # [F, D]
    CLS: Array  # [D]
    W_pos: Array  # [E, D]
    W_out: Array  # [D, Z]
    b_in: Array  # [D]
    b_pos: Array  # [D]
    b_out: Array  # [Z]
    conv: Array  # [H, R, R]
    block_W_q: Array  # [L, Y, H, D]
    block_W_k: Array  # [L, Y, H, D]
    block_xi: Array  # [L, K, D]
    block_gamma: Array  # [L]
    block_delta: Array  # [L, D]
    block_beta: Array  # [L]


class Clamps(NamedTuple):
    feature: Array  # [batch, M, F]
    adj: Array  # [batch, N, N]
    eig: Array  # [batch, N, E]
    block_eps: Array | None = None  # [batch, L, T, N, D]


class Targets(NamedTuple):
    label: Array  # [batch]


class States(NamedTuple):
    block_x: Array  # [batch, L, N, D]


class Values(NamedTuple):
    stream: Array  # [batch, N, D]


class Readouts(NamedTuple):
    logits: Array  # [batch, Z]


class BlockParams(NamedTuple):
    W_q: Array  # [Y, H, D]
    W_k: Array  # [Y, H, D]
    xi: Array  # [K, D]
    gamma: Array
    delta: Array  # [D]
    beta_2: Array


class BlockClamps(NamedTuple):
    adj: Array  # [batch, N, N]
    weight: Array  # [batch, H, N, N]
    stream: Array  # [batch, N, D]
    eps: Array | None = None  # [batch, T, N, D]


class BlockStates(NamedTuple):
    x: Array  # [batch, N, D]


class BlockFixed(NamedTuple):
    adj: Array  # [batch, N, N]
    weight: Array  # [batch, H, N, N]
    stream: Array  # [batch, N, D]
    eps: Array  # [batch, T, N, D]
    t: Array
    offset: Array
    beta_weight_part: Array  # [batch, H, N, N]


class BlockReadouts(NamedTuple):
    x: Array  # [batch, N, D]


def block_prepare(params: BlockParams, clamps: BlockClamps) -> BlockFixed:
    """The quantities that no step changes."""
    adj, weight, stream, eps = clamps
    eps = jnp.zeros((len(clamps[0]), T, N, D), params.W_q.dtype) if eps is None else eps
    t = 1
    offset = 1 / params.beta_2
    beta_weight_part = weight * params.beta_2
    return BlockFixed(adj, weight, stream, eps, t, offset, beta_weight_part)


def block_start(params: BlockParams, fixed: BlockFixed) -> BlockStates:
    """Where the states start."""
    return BlockStates(fixed.stream)


def block_terms(params: BlockParams, states: BlockStates, fixed: BlockFixed) -> dict[str, Array]:
    """Each energy term of each sample.

    energy att = -1/beta * sum[h,n](logsumexp[m | m != n and adj[n,m] == 1](beta * weight[h,n,m] * sum[y](k[h,m,y]
        * q[h,n,y])))
    energy mem = -1/2 * sum[n,j](relu(sum[d](xi[j,d] * g[n,d]))^2)
    """
    (x,) = states
    x_centered = x - x.mean(2)[:, :, None]
    x_variance = (x_centered * x_centered).mean(2) + 1e-05
    g = x_centered * (lax.rsqrt(x_variance) * params.gamma)[:, :, None] + params.delta
    q = jnp.einsum("Bnd,yhd->Bhny", g, params.W_q)
    k = jnp.einsum("Bnd,yhd->Bhny", g, params.W_k)
    logsumexp = ej.logsumexp(
        jnp.where(
            (
                (jnp.arange(N)[:, None] != jnp.arange(N)[None, :]) & (
                    fixed.adj[:, jnp.arange(N)[None, :], jnp.arange(N)[:, None]] == 1
                )
            ).swapaxes(1, 2)[:, None],
            jnp.einsum("Bhmy,Bhny->Bhmn", q, k) * fixed.beta_weight_part,
            -jnp.inf,
        ),
        3,
    )
    energy_att = -(logsumexp.sum((1, 2)) * fixed.offset)
    relu = jax.nn.relu(g @ params.xi.T)
    energy_mem = -0.5 * (relu * relu).sum((1, 2))
    return {"att": energy_att, "mem": energy_mem}


def block_force(params: BlockParams, states: BlockStates, fixed: BlockFixed) -> BlockStates:
    """The force on each state.

    flow x[n,d] = -grad(att + mem, g[n,d]) - eps[t,n,d]
    F_x[n,d] = -(-sum[j](xi[j,d] * relu(sum[d2](xi[j,d2] * g[n,d2]))) - sum[y,h](W_k[y,h,d] * sum[m](q[h,m,y] *
        beta * weight[h,m,n] * softmax[n | n != m and adj[m,n] == 1](beta * weight[h,m,n] * sum[y2](q[h,m,y2] *
        k[h,n,y2])) / beta)) - sum[y,h](W_q[y,h,d] * sum[m](k[h,m,y] * beta * weight[h,n,m] * softmax[m | m != n
        and adj[n,m] == 1](beta * weight[h,n,m] * sum[y2](q[h,n,y2] * k[h,m,y2])) / beta))) - eps[t,n,d]
    """
    (x,) = states
    x_centered = x - x.mean(2)[:, :, None]
    x_variance = (x_centered * x_centered).mean(2) + 1e-05
    g = x_centered * (lax.rsqrt(x_variance) * params.gamma)[:, :, None] + params.delta
    q = jnp.einsum("Bnd,yhd->Bhny", g, params.W_q)
    k = jnp.einsum("Bnd,yhd->Bhny", g, params.W_k)
    weights = ej.softmax(
        jnp.where(
            (
                (jnp.arange(N)[:, None] != jnp.arange(N)[None, :]) & (
                    fixed.adj[:, jnp.arange(N)[None, :], jnp.arange(N)[:, None]] == 1
                )
            ).swapaxes(1, 2)[:, None],
            jnp.einsum("Bhmy,Bhny->Bhmn", q, k) * fixed.beta_weight_part,
            -jnp.inf,
        ),
        3,
    )
    force_x_part = fixed.beta_weight_part.swapaxes(2, 3) * (weights * fixed.offset).swapaxes(2, 3)
    force_x = (
        jax.nn.relu(g @ params.xi.T) @ params.xi
        + jnp.einsum("Bhny,yhd->Bnd", jnp.einsum("Bhmy,Bhnm->Bhny", q, force_x_part), params.W_k)
        + jnp.einsum("Bhny,yhd->Bnd", jnp.einsum("Bhmy,Bhmn->Bhny", k, force_x_part), params.W_q)
        - fixed.eps[:, fixed.t]
    )
    return BlockStates(force_x)


def block_readouts(params: BlockParams, states: BlockStates, fixed: BlockFixed) -> BlockReadouts:
    """The readouts: x"""
    (x,) = states
    return BlockReadouts(x)


block = ej.Model(
    records=ej.Records(BlockParams, BlockClamps, BlockStates),
    sets={"x": ej.Real((N, D))},
    settings=ej.Settings(step=0.01, steps=2, explosion=10000.0, nudge_steps=10),
    prepare=block_prepare,
    start=block_start,
    terms=block_terms,
    force=block_force,
    readouts=block_readouts,
    number="t",
)


def init(key: Array, dtype: ej.DTypeLike = float) -> Params:
    """Draw params by the initializers of the spec."""
    keys = jax.random.split(key, 8)
    return Params(
        W_in=0.02 * jax.random.normal(keys[0], (F, D), dtype),
        CLS=0.02 * jax.random.normal(keys[1], (D,), dtype),
        W_pos=0.02 * jax.random.normal(keys[2], (E, D), dtype),
        W_out=0.02 * jax.random.normal(keys[3], (D, Z), dtype),
        b_in=jnp.full((D,), 0, dtype),
        b_pos=jnp.full((D,), 0, dtype),
        b_out=jnp.full((Z,), 0, dtype),
        conv=0.02 * jax.random.normal(keys[4], (H, R, R), dtype),
        block_W_q=0.08838834764831843 * jax.random.normal(keys[5], (L, Y, H, D), dtype),
        block_W_k=0.08838834764831843 * jax.random.normal(keys[6], (L, Y, H, D), dtype),
        block_xi=0.08838834764831843 * jax.random.normal(keys[7], (L, K, D), dtype),
        block_gamma=jnp.full((L,), 1, dtype),
        block_delta=jnp.full((L, D), 0, dtype),
        block_beta=jnp.full((L,), Y ** -0.5, dtype),
    )


def noise(key: Array, count: int, dtype: ej.DTypeLike = float) -> dict[str, Array]:
    """Noise for ``count`` samples, by the fields of ``Clamps``; where none is given it is zero."""
    keys = jax.random.split(key, 1)
    return {"block_eps": 0.02 * jax.random.normal(keys[0], (count, L, T, N, D), dtype)}


def blocks(params: Params, clamps: Clamps, visit: ej.Visit) -> tuple[Values, list[ej.Relaxed]]:
    """The layers in a row, each by a ``visit``: what the answers read, and where each ended.

    next stream[n,d] = block.x[n,d]
    """
    emb = clamps.feature @ params.W_in + params.b_in
    x0 = (
        clamps.eig @ params.W_pos
        + ej.windows(emb, 1, -1, (N,), (1,)) * (1.0 * MASK_3)[:, None]
        + ej.placed(params.CLS, 0, 28).T
        + params.b_pos
    )
    stream = x0
    gram = jnp.einsum("Bnd,Bmd->Bnm", x0, x0)
    weight = jnp.einsum("Bnamb,hab->Bhnm", ej.windows(gram, (1, 2), -1, (N, R), (1, 1)), params.conv)

    def copy(stream, own):
        block_W_q, block_W_k, block_xi, block_gamma, block_delta, block_beta, block_eps = own
        (block_x,), block_end = visit(
            block,
            BlockParams(block_W_q, block_W_k, block_xi, block_gamma, block_delta, block_beta),
            BlockClamps(clamps.adj, weight, stream, block_eps),
        )
        stream = block_x
        return stream, (block_end,)

    stream, (block_end,) = lax.scan(
        copy,
        stream,
        (
            params.block_W_q,
            params.block_W_k,
            params.block_xi,
            params.block_gamma,
            params.block_delta,
            params.block_beta,
            ej.by_copy(clamps.block_eps),
        ),
    )
    return Values(stream), [ej.copied(block_end)]


def readouts(params: Params, values: Values, clamps: Clamps) -> Readouts:
    """The readouts: logits[z] = sum[d](stream[0,d] * W_out[d,z]) + b_out[z]"""
    (stream,) = values
    logits = stream[:, 0] @ params.W_out + params.b_out
    return Readouts(logits)


def cost(params: Params, values: Values, clamps: Clamps, targets: Targets) -> Array:
    """The cost of each sample: ce = cross_entropy[z](logits[z], label)"""
    (stream,) = values
    (label,) = targets
    scores = stream[:, 0] @ params.W_out + params.b_out
    logsumexp = jax.nn.logsumexp(scores, 1)
    cost = logsumexp - jnp.take_along_axis(scores, label[:, None], 1).squeeze(1)
    return cost


def metrics(params: Params, values: Values, clamps: Clamps, targets: Targets) -> dict[str, Array]:
    """The metrics, which are only reported: accuracy = correct[z](logits[z], label)"""
    (stream,) = values
    (label,) = targets
    accuracy_part = stream[:, 0] @ params.W_out + params.b_out
    accuracy_part_2 = ej.first_largest(accuracy_part, 1)
    accuracy = jnp.take_along_axis(accuracy_part_2, label[:, None], 1).squeeze(1)
    return {"accuracy": accuracy}


MODEL = ej.LayeredModel(
    records=ej.Records(Params, Clamps, States, Targets),
    init=init,
    blocks=blocks,
    readouts=readouts,
    cost=cost,
)
relax, answer = ej.bind(MODEL, ej.relax, ej.answer_through_steps)
(bptt,) = ej.bind(MODEL, ej.bptt)


class EtGraph(ej.Network):
    """The network as an object with params of its own."""

    model = MODEL
    rules = {"bptt": bptt}
    names = {
        "params": (
            "W_in",
            "CLS",
            "W_pos",
            "W_out",
            "b_in",
            "b_pos",
            "b_out",
            "conv",
            "block.W_q",
            "block.W_k",
            "block.xi",
            "block.gamma",
            "block.delta",
            "block.beta",
        ),
        "states": ("block.x",),
        "noises": ("block.eps",),
    }
