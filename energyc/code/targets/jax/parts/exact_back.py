"""The steps of a free phase of a number of steps, in reverse."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from energyc.code.targets.jax.parts.network import (
    STEPS,
    Fixed,
    Params,
    Slopes,
    States,
    at_step,
    force,
    project,
    start,
)
from energyc.code.targets.jax.parts.records import Relaxed
from energyc.code.targets.jax.parts.steps import advanced_vjp, along, moved, step
from energyc.code.targets.jax.parts.trajectories import Pull


def back(
    params: Params,
    free: Relaxed,
    fixed: Fixed,
    seeds: States,
    last: int,
    pull: Pull,
) -> tuple[States, Slopes]:
    """Cotangents of the states before the last steps, and what ``pull`` gives of these steps."""
    first = max(STEPS - last, 0)

    def forward(states: States, k: Array) -> tuple[States, States]:
        return step(params, states, at_step(fixed, k)), states

    def backward(run: Any, taken: tuple[Array, States]) -> tuple[Any, None]:
        (cotangents, slopes), (k, states) = run, taken
        now = at_step(fixed, k)
        projected = advanced_vjp(params, moved(now, states, force(params, states, now)), now, cotangents)
        through, more = pull(params, states, now, along(now, projected))
        return (jax.tree.map(jnp.add, projected, through), jax.tree.map(jnp.add, slopes, more)), None

    numbers, before = jnp.arange(first, STEPS), project(start(params, fixed))
    before = lax.fori_loop(0, first, lambda k, z: forward(z, k)[0], before)
    none = jax.tree.map(jnp.zeros_like, pull(params, before, fixed, seeds)[1])
    taken = numbers, lax.scan(forward, before, numbers)[1]
    return lax.scan(backward, (seeds, none), taken, reverse=True)[0]
