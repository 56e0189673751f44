"""A free phase that ends by a tolerance outside of training alone."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax

from energyc.code.targets.jax.parts.network import PATIENCE, STEPS, TOLERANCE, Fixed, Params, States, at_step
from energyc.code.targets.jax.parts.records import Relaxed
from energyc.code.targets.jax.parts.steps import change, chosen, rested, step


def settle(params: Params, states: States, fixed: Fixed) -> Relaxed:
    """STEPS steps in training; else at most, of each sample until PATIENCE in a row led to TOLERANCE or less."""

    def one(number: Array, states: States) -> States:
        return step(params, states, at_step(fixed, number))

    def trained(states: States) -> Relaxed:
        return rested(params, lax.fori_loop(0, STEPS, one, states), fixed)

    def goes_on(run: tuple[Relaxed, Array, Array, Array]) -> Array:
        _, _, on, done = run
        return on.any() & (done < STEPS)

    def further(run: tuple[Relaxed, Array, Array, Array]) -> tuple[Relaxed, Array, Array, Array]:
        free, small, on, done = run
        after = chosen(on, one(done, free.states), free.states)
        left = jnp.where(on, change(params, free.states, after, fixed), free.residual)
        small = jnp.where(left <= TOLERANCE, small + 1, 0)
        moved = Relaxed(after, left, free.steps + on)
        return moved, small, on & jnp.isfinite(left) & (small < PATIENCE), done + 1

    def inferred(states: States) -> Relaxed:
        none = jnp.zeros(len(states[0]), int)
        first = Relaxed(states, jnp.full(none.shape, jnp.inf, states[0].dtype), none)
        return lax.while_loop(goes_on, further, (first, none, none == 0, jnp.asarray(0)))[0]

    return lax.cond(fixed.training, trained, inferred, states)
