"""hopfield_conv: Deep convolutional Hopfield network: two convolutions with max pooling and a linear output
(Laborieux et al. 2021).

Made by energyc 0.2.0 from hopfield_conv.energy
SHA-256 of the spec: e31e82a6df599c66c85d1a826766c67187e677c150e56c5f89101b360e0b7314
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

C, S, P, R, C1, U, S1, C2 = 3, 32, 3, 2, 64, 30, 15, 128
V, Q, S2, K = 12, 4, 6, 10


class Params(NamedTuple):
    """What is learned."""

    W1: Array
    b1: Array
    W2: Array
    b2: Array
    W3: Array
    b3: Array


class Clamps(NamedTuple):
    """What is given, a row for each sample."""

    x: Array


class Targets(NamedTuple):
    """What the cost compares with."""

    label: Array


class States(NamedTuple):
    """s1[C1, S1, S1], s2[C2, S2, S2], y[K], a row for each sample."""

    s1: Array
    s2: Array
    y: Array


class Fixed(NamedTuple):
    """Clamps, and what depends on clamps and params alone."""

    x: Array
    x_part: Array
    drive: Array
    drive_2: Array


class Readouts(NamedTuple):
    """The answers."""

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
    """What no step changes."""
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
    """The answers.

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
    """What is only reported.

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
    return States(jnp.clip(states.s1, 0, 1), jnp.clip(states.s2, 0, 1), jnp.clip(states.y, 0, 1))


def project_vjp(at: States, cotangents: States) -> States:
    """P^T cotangents, P the derivative of the projection at a point."""
    return States(
        cotangents.s1 * ((at.s1 >= 0) & (at.s1 <= 1)),
        cotangents.s2 * ((at.s2 >= 0) & (at.s2 <= 1)),
        cotangents.y * ((at.y >= 0) & (at.y <= 1)),
    )


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
    """The same, with what is fixed in it."""
    return settle(params, project(start(params, fixed)), fixed)


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


def largest_entry(x: Array, axes: int | tuple[int, ...]) -> Array:
    """The largest entry along the axes."""
    return x.max(axes)


def first_largest(x: Array, axes: int | tuple[int, ...]) -> Array:
    """1 at the first largest entry along the axes, else 0; 0 where every entry is -inf."""
    axes = (axes,) if isinstance(axes, int) else axes
    order = (*(k for k in range(x.ndim) if k not in axes), *axes)
    moved = x.transpose(order)
    flat = moved.reshape(*moved.shape[: -len(axes)], -1)
    hot = (jnp.arange(flat.shape[-1]) == flat.argmax(-1, keepdims=True)) & (flat.max(-1, keepdims=True) > -jnp.inf)
    return 1.0 * hot.reshape(moved.shape).transpose(tuple(np.argsort(order)))


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


class HopfieldConv(Network):
    """The network with params of its own."""

    names = {
        "params": ("W1", "b1", "W2", "b2", "W3", "b3"),
        "states": ("s1", "s2", "y"),
        "clamps": ("x",),
        "targets": ("label",),
    }
    rules = {"centered-ep": centered_ep, "implicit": implicit}
