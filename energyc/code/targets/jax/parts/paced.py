"""A free phase that chooses its step sizes by a bound on the curvature, and nudged phases by the last of them."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from energyc.code.targets.jax.parts.network import (
    CHUNK,
    MAX_STEPS,
    STEP,
    STEPS,
    TOLERANCE,
    Clamps,
    Fixed,
    Params,
    States,
    force,
    prepare,
    project,
    start,
)
from energyc.code.targets.jax.parts.steps import along, chosen, length, residual, step
from energyc.code.targets.jax.parts.unbounded import checked

#: The secants that an estimate takes, beside the force at the states.
SECANTS = 6
#: A residual of more than so much of that at the last look does not fall.
FELL = 0.9
#: Steps from one estimate to the next, for each evaluation that it takes.
PAUSE = 4


class Relaxed(NamedTuple):
    """Where a relaxation ended: states, and of each sample the residual, infinite if it exploded, and the steps.

    What the choice of the step sizes cost is counted among the steps. STEP times ``pace`` were the last step sizes.
    """

    states: States
    residual: Array
    steps: Array
    pace: Array


class Walk(NamedTuple):
    """A free phase under way.

    ``last`` and ``kept`` are the residuals and the states at the look before, ``on`` the samples that still move;
    ``evaluations`` are those of the force that the choice of the step sizes took, ``estimated`` the steps before the
    last estimate.
    """

    free: Relaxed
    on: Array
    taken: Array
    bound: Array
    halvings: Array
    evaluations: Array
    estimated: Array
    kept: States
    last: Array


def step_sizes(fixed: Fixed) -> States:
    """The step size of each state."""
    return jax.tree.map(lambda size: size * fixed.pace, STEP)


def free_run(params: Params, clamps: Clamps) -> tuple[Fixed, Relaxed]:
    """A free phase, and what none of its steps changes, with the last step sizes."""
    fixed = prepare(params, clamps)
    free = free_phase(params, fixed)
    return fixed._replace(pace=free.pace), free


def free_phase(params: Params, fixed: Fixed) -> Relaxed:
    """The states from their start to where they rest, by steps half as long as what turns the steepest move back.

    Where the residual of a sample does not fall and its moves turn back on themselves, the steps are halved and the
    sample goes back to the last look. Each further estimate of the curvature takes back one halving.
    """
    before = project(start(params, fixed))
    count = len(before[0])
    bound = curvature(params, before, fixed, jnp.ones(count, bool))
    none, unknown = jnp.zeros((), int), jnp.full(count, jnp.inf, before[0].dtype)
    spent = none + 1 + SECANTS
    free = Relaxed(before, unknown, jnp.full(count, 1 + SECANTS), paced(bound, none))
    walk = Walk(free, jnp.ones(count, bool), none, bound, none, spent, none, before, unknown)
    walk = walked(params, fixed, walk, jnp.minimum(CHUNK, jnp.maximum(0, MAX_STEPS - spent)))

    def goes_on(walk: Walk) -> Array:
        return (walk.taken + walk.evaluations < MAX_STEPS) & walk.on.any()

    def further(walk: Walk) -> Walk:
        done = walk.taken + walk.evaluations
        return walked(params, fixed, walk, jnp.minimum(CHUNK, jnp.where(done < STEPS, STEPS, MAX_STEPS) - done))

    free = lax.while_loop(goes_on, further, walk).free
    now = fixed._replace(pace=free.pace)
    return free._replace(residual=checked(params, before, free.states, now, free.residual))


def walked(params: Params, fixed: Fixed, walk: Walk, count: Array) -> Walk:
    """Some steps of the samples that still move, and a look at where they are."""
    free, now = walk.free, fixed._replace(pace=walk.free.pace)
    states = lax.fori_loop(0, count, lambda _, z: step(params, z, now), free.states)
    states = chosen(walk.on, states, free.states)
    left = jnp.where(walk.on, residual(params, states, now), free.residual)
    free = free._replace(states=states, residual=left, steps=free.steps + jnp.where(walk.on, count, 0))
    walk = adapted(params, fixed, walk._replace(free=free, taken=walk.taken + count))
    free = walk.free
    unsettled = (free.steps < STEPS) | ((free.residual > TOLERANCE) & (free.steps < MAX_STEPS))
    return walk._replace(on=jnp.isfinite(free.residual) & unsettled)


def adapted(params: Params, fixed: Fixed, walk: Walk) -> Walk:
    """The step sizes after a look, after which samples may be put back."""
    free, now = walk.free, fixed._replace(pace=walk.free.pace)
    rows = walk.on & ~(free.residual <= TOLERANCE)
    stuck = rows & ~(jnp.isfinite(free.residual) & (free.residual <= FELL * walk.last))
    doubted = stuck.any()
    large = stuck & lax.cond(doubted, lambda: turned(params, free.states, now), lambda: stuck)
    halved = large.any()
    due = ~halved & rows.any() & (walk.taken - walk.estimated >= PAUSE * (1 + SECANTS))
    bound = lax.cond(due, lambda: curvature(params, free.states, fixed, rows), lambda: walk.bound)
    halvings = walk.halvings + jnp.where(halved, 1, jnp.where(due & (walk.halvings > 0), -1, 0))
    states, pace = chosen(large, walk.kept, free.states), paced(bound, halvings)
    changed = pace != free.pace
    left = lax.cond(changed, lambda: residual(params, states, fixed._replace(pace=pace)), lambda: free.residual)
    left = jnp.where(rows, left, free.residual)
    spent = 2 * doubted + (1 + SECANTS) * due + changed
    return walk._replace(
        free=Relaxed(states, left, free.steps + jnp.where(walk.on, spent, 0), pace),
        bound=bound,
        halvings=halvings,
        evaluations=walk.evaluations + spent,
        estimated=jnp.where(due, walk.taken, walk.estimated),
        kept=states,
        last=left,
    )


def turned(params: Params, states: States, fixed: Fixed) -> Array:
    """The samples the next two moves of which are opposed, or no finite numbers."""
    first = step(params, states, fixed)
    second = step(params, first, fixed)
    pairs = zip(states, first, second, strict=True)
    return ~(sum(((b - a) * (c - b)).reshape(len(a), -1).sum(1) for a, b, c in pairs) >= 0)


def paced(bound: Array, halvings: Array) -> Array:
    """What STEP is multiplied by for a bound, halved so many times; a bound that says nothing is 1."""
    return 1 / jnp.where((bound > 0) & jnp.isfinite(bound), bound, 1) / 2**halvings


def curvature(params: Params, states: States, fixed: Fixed, rows: Array) -> Array:
    """An estimate of |J H| at the states of some samples, H = STEP, by power iteration on secants of the force.

    It is at least what keeps a move from being longer than |z| + sqrt(entries).
    """
    whole = fixed._replace(pace=1.0)

    def moves(at: States) -> States:
        return along(whole, force(params, at, fixed))

    def norm(at: States) -> Array:
        return jnp.sqrt(sum(length(x) ** 2 for x in at))

    def by(factor: Array, at: States) -> States:
        return jax.tree.map(lambda x: factor.reshape(-1, *[1] * (x.ndim - 1)) * x, at)

    entries = sum(x[0].size for x in states)
    first, here = moves(states), norm(states)
    width = float(jnp.finfo(here.dtype).eps) ** (1 / 3) * (1 + here)
    tiny = float(jnp.finfo(here.dtype).tiny)

    def secant(_: Array, direction: States) -> States:
        unit = by(width / jnp.maximum(norm(direction), tiny), direction)
        there = moves(jax.tree.map(jnp.add, states, unit))
        return by(1 / width, jax.tree.map(jnp.subtract, there, first))

    found = norm(lax.fori_loop(0, SECANTS, secant, waves(states)))
    found = jnp.maximum(found, norm(first) / (here + entries**0.5))
    return jnp.where(rows, jnp.nan_to_num(found, nan=jnp.inf), 0).max()


def waves(like: States) -> States:
    """cos(k^2) for the k-th entry of all states of a sample: a direction that no force singles out."""
    first, parts = 1, list[Array]()
    for x in like:
        numbers = np.arange(first, first + x[0].size, dtype=np.float64).reshape(x.shape[1:])
        parts.append(jnp.broadcast_to(jnp.asarray(np.cos(numbers**2), x.dtype), x.shape))
        first += x[0].size
    return type(like)(*parts)
