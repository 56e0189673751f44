"""A free phase of states that may explode."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from energyc.code.targets.jax.parts.exact_steps import settle
from energyc.code.targets.jax.parts.network import (
    EXPLOSION,
    STEP,
    Clamps,
    Fixed,
    Params,
    States,
    force,
    prepare,
    project,
    start,
)
from energyc.code.targets.jax.parts.records import Relaxed


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
    far, still = largest > EXPLOSION * scale, immobile(params, free.states, fixed)
    stuck = far & still & immobile(params, displaced, fixed)
    return free._replace(residual=jnp.where(stuck, jnp.inf, free.residual))


def immobile(params: Params, states: States, fixed: Fixed) -> Array:
    """The samples most of whose coordinates a step moves by less than an ulp."""
    ulp = jnp.finfo(states[0].dtype).eps / 2
    slopes = force(params, states, fixed)
    along = zip(states, slopes, STEP, strict=True)
    still = [(jnp.abs(h * f) < ulp * jnp.abs(x)).reshape(len(x), -1) for x, f, h in along]
    return jnp.concatenate(still, 1).mean(1) > 0.5


def shaken(x: Array) -> Array:
    """The state with its coordinates a little larger and smaller in turn: at rest it would be pushed back."""
    width = float(jnp.finfo(x.dtype).eps) ** 0.25
    turns = jnp.arange(x[0].size).reshape(x.shape[1:]) % 2
    return x * (1 + width - 2 * width * turns)
