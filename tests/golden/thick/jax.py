"""thick: Equilibrium transformer block "thick": character language model, not conservative.

Made by energyc 0.2.0 from thick.energy
SHA-256 of the spec: 4fd3d0bbc180a8a30639e3a4648dd06b6f2d2ecf857db0e2d7d3ca5831319416
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
from jax.scipy.sparse.linalg import gmres
from jax.typing import DTypeLike

T, D, H, A, F_2, V = 64, 128, 4, 32, 512, 65
scale = A ** -0.5
MASK = np.arange(T)[:, None] <= np.arange(T)[None, :]


class Params(NamedTuple):
    """What is learned."""

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
    """What is given, a row for each sample."""

    idx: Array


class Targets(NamedTuple):
    """What the cost compares with."""

    label: Array


class States(NamedTuple):
    """z[T, D], a row for each sample."""

    z: Array


class Fixed(NamedTuple):
    """Clamps, and what depends on clamps and params alone."""

    idx: Array
    x: Array


class Readouts(NamedTuple):
    """The answers."""

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
        tok=0.2 * jax.random.normal(keys[0], (V, D), dtype),
        pos=0.2 * jax.random.normal(keys[1], (T, D), dtype),
        g1=jnp.full((D,), 1, dtype),
        h1=jnp.full((D,), 0, dtype),
        g2=jnp.full((D,), 1, dtype),
        h2=jnp.full((D,), 0, dtype),
        W_q=0.02 * jax.random.normal(keys[2], (H, D, A), dtype),
        W_k=0.02 * jax.random.normal(keys[3], (H, D, A), dtype),
        W_v=0.02 * jax.random.normal(keys[4], (H, D, A), dtype),
        W_o=0.02 * jax.random.normal(keys[5], (H, A, D), dtype),
        W1=0.02 * jax.random.normal(keys[6], (D, F_2), dtype),
        b1=jnp.full((F_2,), 0, dtype),
        W2=0.02 * jax.random.normal(keys[7], (F_2, D), dtype),
        b2=jnp.full((D,), 0, dtype),
        W_head=0.02 * jax.random.normal(keys[8], (D, V), dtype),
    )


def prepare(params: Params, clamps: Clamps) -> Fixed:
    """What no step changes."""
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
    """The answers.

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


def tracking(
    params: Params, plus: States, minus: States, free: States, fixed: Fixed, targets: Targets, beta: Array | float
) -> tuple[States, States]:
    """The same, with -+ (J_nc - J_nc^T)(m) v: m is their midpoint, and v half of what separates them."""
    middle = jax.tree.map(lambda p, m: (p + m) / 2, plus, minus)
    half = jax.tree.map(lambda p, m: (p - m) / 2, plus, minus)
    turn = correction(params, middle, fixed, half)
    up = corrected_step(params, plus, fixed, targets, beta, turn)
    return up, corrected_step(params, minus, fixed, targets, -beta, jax.tree.map(lambda x: -x, turn))


def corrected_step(
    params: Params, states: States, fixed: Fixed, targets: Targets, beta: Array | float, turn: States
) -> States:
    """One step under the force less beta dC/dz, less a correction."""
    push = cost_force(params, states, fixed, targets)
    return project(moved(states, less(less(force(params, states, fixed), push, beta), turn)))


def phases(
    params: Params, free: States, fixed: Fixed, targets: Targets, beta: Array | float, advance: Advance
) -> tuple[States, States]:
    """Both nudged phases, of each sample where SNAPSHOTS steps changed their contrast least, of NUDGE_STEPS.

    A sample whose contrast changes ten times as fast at the end as at first diverges, and becomes NaN.
    """

    def both(_: Array, pair: tuple[States, States]) -> tuple[States, States]:
        return advance(params, *pair, free, fixed, targets, beta)

    def look(number: Array, seen: Any) -> Any:
        pair, best, smallest, first, _ = seen
        after = lax.fori_loop(0, SNAPSHOTS, both, pair)
        turned = jnp.stack([length(c) for c in less(less(*after), less(*pair))]).max(0)
        better = (turned < smallest) | (number == 1)
        first = jnp.where(number == 1, turned, first)
        return after, chosen(better, after, best), jnp.where(better, turned, smallest), first, turned

    pair, none = lax.fori_loop(0, SNAPSHOTS, both, (free, free)), jnp.zeros(len(free[0]), free[0].dtype)
    seen = lax.fori_loop(1, NUDGE_STEPS // SNAPSHOTS, look, (pair, pair, none, none, none))
    _, (plus, minus), _, first, last = seen
    return chosen(last <= 10 * first, plus, jax.tree.map(lambda x: x * jnp.nan, plus)), minus


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
    """The gradient by two phases whose nudges differ by ``width``; of a force without an energy <a, dF/dtheta>."""
    slopes = jax.tree.map(lambda x: x / width, energy_slopes(params, plus, minus, fixed))
    a = jax.tree.map(lambda p, m: (m - p) / width, plus, minus)
    forces = user_force_gradient(params, free.states, fixed, a)
    direct = cost_vjp(params, free.states, fixed, targets)[1]
    return averaged(params, free, fixed, targets, [*slopes, forces, direct])


def user_force_gradient(params: Params, states: States, fixed: Fixed, cotangents: States) -> Slopes:
    """<cotangents, dF/dtheta> of the params that only terms without an energy read."""
    slopes = force_vjp(params, states, fixed, cotangents)[1]
    return {name: slopes[name] for name in FORCE_PARAMS}


def tracking_aep(params: Params, clamps: Clamps, targets: Targets, beta: float | None = None) -> Gradients:
    """Centred equilibrium propagation for any force, by a correction that tracks the free network.

    F(z) -+ beta dC/dz -+ (J_nc - J_nc^T)(m) v, m the midpoint of both phases and v half of what separates them
    """
    fixed = prepare(params, clamps)
    free = free_phase(params, fixed)
    width = strength(params, free, fixed, targets, drive=cost_force) if beta is None else beta
    plus, minus = phases(params, free.states, fixed, targets, width, tracking)
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


def clamp_gradient(params: Params, states: States, fixed: Fixed, cotangents: States) -> Slopes:
    """The force depends on no real clamp."""
    return {}


def project(states: States) -> States:
    """The states are in no set."""
    return states


def project_vjp(at: States, cotangents: States) -> States:
    """The adjoint of nothing."""
    return cotangents


def gelu_tanh_slope(u: Array) -> Array:
    """The slope of gelu in its tanh form, without the differences that lose digits on the left."""
    inner = 2 * math.sqrt(2 / math.pi) * (u + 0.044715 * u**3)
    slope, decay = 2 * math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * u * u), jax.nn.sigmoid(-inner)
    return jax.nn.sigmoid(inner) * (1 + jnp.where(decay == 0, 0.0, u * slope * decay))


def scatter_add(x: Array, index: Array, size: int) -> Array:
    """The adjoint of ``table[index]``: rows of x are added up where they were read from."""
    return jnp.zeros((size, *x.shape[index.ndim :]), x.dtype).at[index].add(x)


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
