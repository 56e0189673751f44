"""A free phase of states that may explode."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from energyc.code.targets.jax.parts.exact_steps import settle
from energyc.code.targets.jax.parts.network import (
    EXPLOSION,
    Fixed,
    Params,
    States,
    force,
    project,
    start,
)
from energyc.code.targets.jax.parts.records import Relaxed
from energyc.code.targets.jax.parts.steps import along


def free_phase(params: Params, fixed: Fixed) -> Relaxed:
    """The states from their start to where they rest."""
    before = project(start(params, fixed))
    free = settle(params, before, fixed)
    return free._replace(residual=checked(params, before, free.states, fixed, free.residual))


def checked(params: Params, before: States, after: States, fixed: Fixed, residual: Array) -> Array:
    """The residual of each sample, infinite if it exploded until rounding stopped it: that reads as settled."""
    scale = jnp.maximum(1.0, jnp.stack([jnp.abs(x).max() for x in before]).max())
    largest = jnp.stack([jnp.abs(x).reshape(len(x), -1).max(1) for x in after]).max(0)
    displaced = type(after)(*map(shaken, after))
    far, still = largest > EXPLOSION * scale, immobile(params, after, fixed)
    return jnp.where(far & still & immobile(params, displaced, fixed), jnp.inf, residual)


def immobile(params: Params, states: States, fixed: Fixed) -> Array:
    """The samples most of whose coordinates a step moves by less than an ulp."""
    ulp = jnp.finfo(states[0].dtype).eps / 2
    moves = along(fixed, force(params, states, fixed))
    still = [(jnp.abs(move) < ulp * jnp.abs(x)).reshape(len(x), -1) for x, move in zip(states, moves, strict=True)]
    return jnp.concatenate(still, 1).mean(1) > 0.5


def shaken(x: Array) -> Array:
    """The state with its coordinates a little larger and smaller in turn: at rest it would be pushed back."""
    width = float(jnp.finfo(x.dtype).eps) ** 0.25
    turns = jnp.arange(x[0].size).reshape(x.shape[1:]) % 2
    return x * (1 + width - 2 * width * turns)
