"""The free phase: steps of the states from their start to where they rest."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array, lax

from .model import Fixed, Model, Params, Relaxed, States
from .step_size import SECANTS, Controller, controlled, controller
from .steps import System, select


def step(model: Model, params: Params, states: States, fixed: Fixed) -> States:
    """One step of the free phase; a sweep where states move block after block."""
    return System(model, params, fixed).next_states(states)


def residual(model: Model, params: Params, states: States, fixed: Fixed) -> Array:
    """How far the next step of all states at once leads: [batch]."""
    return System(model, params, fixed).residual(states)


def free_phase(system: System) -> tuple[System, Relaxed]:
    """Relax from the start: the system, with the step sizes that were chosen, and the end."""
    model, states = system.model, system.model.project(system.started())
    if model.settings.inference:
        assert model.training is not None
        trained = getattr(system.fixed, model.training)
        free = lax.cond(trained, lambda: _in_so_many_steps(system, states), lambda: _until_settled(system, states))
    elif model.settings.automatic or model.settings.tolerance is not None:
        free = _until_settled(system, states)
    else:
        free = _in_so_many_steps(system, states)
    return system.paced(free.pace), checked(system.paced(free.pace), states, free)


def rested(system: System, states: States) -> Relaxed:
    """The end of a fixed number of steps, settled or not."""
    left = system.residual(states)
    return Relaxed(states, left, jnp.full(left.shape, system.model.settings.steps))


def _in_so_many_steps(system: System, states: States) -> Relaxed:
    count = system.model.settings.steps
    return rested(system, lax.fori_loop(0, count, lambda k, z: system.at_step(k).next_states(z), states))


class _Walk(NamedTuple):
    """A free phase under way.

    ``on`` are the samples that still move, ``small`` the looks in a row at which the residual of each was small;
    ``spent`` are the steps so far, and the evaluations of the ``controller``, if there is one.
    """

    free: Relaxed
    on: Array
    small: Array
    spent: Array
    controller: Controller | None


def _until_settled(system: System, states: States) -> Relaxed:
    """Steps of each sample until it has converged: by the step in inference, otherwise in chunks."""
    settings, count = system.model.settings, len(states[0])
    none, unknown = jnp.zeros(count, int), jnp.full(count, jnp.inf, states[0].dtype)
    least, most = (0, settings.steps) if settings.inference else (settings.steps, settings.longest)
    chunk = 1 if settings.inference else settings.chunk
    if settings.automatic:
        own, evaluations = controller(system, states, unknown), 1 + SECANTS
        first = min(chunk, max(0, most - evaluations))
    else:
        own, evaluations = None, 0
        first = 1 if settings.inference else least

    def goes_on(walk: _Walk) -> Array:
        return (walk.spent < most) & walk.on.any()

    def further(walk: _Walk) -> _Walk:
        until = jnp.where(walk.spent < least, least, most)
        return walked(walk, jnp.minimum(chunk, until - walk.spent))

    def walked(walk: _Walk, count: Array | int) -> _Walk:
        """Some steps of the samples that still move, and a look at where they are."""
        free, now = walk.free, system.paced(walk.free.pace)
        states = lax.fori_loop(0, count, lambda k, z: now.at_step(walk.spent + k).next_states(z), free.states)
        states = select(walk.on, states, free.states)
        left = now.change(free.states, states) if settings.inference else now.residual(states)
        left = jnp.where(walk.on, left, free.residual)
        free = Relaxed(states, left, free.steps + jnp.where(walk.on, count, 0), free.pace)
        own, spent = walk.controller, walk.spent + count
        if own is not None:
            own, free, evaluations = controlled(system, own._replace(age=own.age + count), free, walk.on)
            spent = spent + evaluations
        small = jnp.where(free.residual <= (settings.tolerance or 0.0), walk.small + 1, 0)
        unsettled = (free.steps < least) | ((small < settings.patience) & (free.steps < most))
        return _Walk(free, jnp.isfinite(free.residual) & unsettled, small, spent, own)

    free = Relaxed(states, unknown, none + evaluations, None if own is None else own.pace)
    start = _Walk(free, none == 0, none, jnp.asarray(evaluations), own)
    return lax.while_loop(goes_on, further, walked(start, first)).free


# ---------------------------------------------------------------------- explosions


def checked(system: System, before: States, free: Relaxed) -> Relaxed:
    """The end of a relaxation from ``before``, with an infinite residual of the samples that exploded.

    What exploded until rounding stopped it would read as settled.
    """
    growth, after = system.model.settings.explosion, free.states
    if growth is None:
        return free
    scale = jnp.maximum(1.0, jnp.stack([jnp.abs(x).max() for x in before]).max())
    largest = jnp.stack([jnp.abs(x).reshape(len(x), -1).max(1) for x in after]).max(0)
    suspect = (largest > growth * scale) & _immobile(system, after)
    exploded = suspect & _immobile(system, type(after)(*map(_shaken, after)))
    return free._replace(residual=jnp.where(exploded, jnp.inf, free.residual))


def _immobile(system: System, states: States) -> Array:
    """The samples most of whose coordinates a step moves by less than an ulp."""
    ulp = jnp.finfo(states[0].dtype).eps / 2
    moves = system.along(system.force(states))
    still = [(jnp.abs(move) < ulp * jnp.abs(x)).reshape(len(x), -1) for x, move in zip(states, moves, strict=True)]
    return jnp.concatenate(still, 1).mean(1) > 0.5


def _shaken(x: Array) -> Array:
    """The state with its coordinates a little larger and smaller in turn: at rest it would be pushed back."""
    width = float(jnp.finfo(x.dtype).eps) ** 0.25
    turns = jnp.arange(x[0].size).reshape(x.shape[1:]) % 2
    return x * (1 + width - 2 * width * turns)
