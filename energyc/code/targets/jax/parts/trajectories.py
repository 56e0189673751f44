"""Backpropagation through the steps of the free phase, by the derived adjoint of a step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from energyc.code.targets.jax.parts.free_run import free_run
from energyc.code.targets.jax.parts.gradients import gradients, mean_cost_vjp
from energyc.code.targets.jax.parts.network import (
    MAX_STEPS,
    NUDGE_STEPS,
    Clamps,
    Fixed,
    Params,
    Slopes,
    States,
    Targets,
    force,
    force_vjp,
    project,
    project_vjp,
    start,
    start_vjp,
)
from energyc.code.targets.jax.parts.records import Gradients, Relaxed
from energyc.code.targets.jax.parts.steps import advanced_vjp, along, chosen, moved, step

#: J^T cotangents, and slopes by what the force reads: ``pull(params, states, fixed, cotangents)``.
Pull = Callable[..., tuple[States, Slopes]]


def bptt(params: Params, clamps: Clamps, targets: Targets) -> Gradients:
    """The gradient of what was run: backpropagation through all steps, the start included.

    lambda_k = (I + step J)^T P^T lambda_(k+1),    dC/dtheta = sum_k <step P^T lambda_(k+1), dF/dtheta(z_k)>
    """
    fixed, free, path = kept_run(params, clamps, MAX_STEPS)
    seeds, direct = mean_cost_vjp(params, free, fixed, targets)
    first, slopes = back(params, free, fixed, seeds, path, step_pull)
    through = [*of_all_steps(params, fixed, slopes), start_vjp(params, fixed, first)]
    return gradients(params, free, fixed, targets, [*through, direct])


def tbptt(params: Params, clamps: Clamps, targets: Targets) -> Gradients:
    """Backpropagation through the last NUDGE_STEPS steps of each sample alone."""
    fixed, free, path = kept_run(params, clamps, NUDGE_STEPS)
    seeds, direct = mean_cost_vjp(params, free, fixed, targets)
    _, slopes = back(params, free, fixed, seeds, path, step_pull)
    return gradients(params, free, fixed, targets, [*of_all_steps(params, fixed, slopes), direct])


#: The pull of a step.
step_pull: Pull = force_vjp


def of_all_steps(params: Params, fixed: Fixed, slopes: Slopes) -> list[Slopes]:
    """The slopes by params of all steps, by what ``step_pull`` gave, added up."""
    return [slopes]


def kept_run(params: Params, clamps: Clamps, last: int) -> tuple[Fixed, Relaxed, Any]:
    """A free phase, its last steps, and what none of them changes."""
    fixed, free = free_run(params, clamps)
    return fixed, free, kept(params, free, fixed, last)


def kept(params: Params, free: Relaxed, fixed: Fixed, last: int) -> States:
    """The states before the last steps of each sample, [steps, batch, ...], which are made again."""
    states, last = project(start(params, fixed)), min(last, MAX_STEPS)
    stored = jax.tree.map(lambda x: jnp.zeros((last, *x.shape), x.dtype), states)

    def forward(k: Array, run: Any) -> Any:
        states, stored = run
        at = k - free.steps + last  # the place of this step among the last ones of each sample
        put = jax.vmap(lambda own, x, i: own.at[i].set(x, mode="drop"), (1, 0, 0), 1)
        place = jnp.where((at >= 0) & (k < free.steps), at, last)
        stored = jax.tree.map(lambda own, x: put(own, x, place), stored, states)
        return chosen(k < free.steps, step(params, states, fixed), states), stored

    return lax.fori_loop(0, free.steps.max(), forward, (states, stored))[1]


def back(
    params: Params,
    free: Relaxed,
    fixed: Fixed,
    seeds: States,
    path: States,
    pull: Pull,
) -> tuple[States, Slopes]:
    """Cotangents of where the states began a path, not yet on their sets, and what ``pull`` gives of its steps."""
    last = len(path[0])

    def backward(k: Array, run: Any) -> Any:
        cotangents, slopes = run
        states = jax.tree.map(lambda x: x[last - 1 - k], path)
        projected = advanced_vjp(params, moved(fixed, states, force(params, states, fixed)), fixed, cotangents)
        taken = k < free.steps
        pushed = chosen(taken, along(fixed, projected), jax.tree.map(jnp.zeros_like, projected))
        through, more = pull(params, states, fixed, pushed)
        earlier = chosen(taken, jax.tree.map(jnp.add, projected, through), cotangents)
        return earlier, jax.tree.map(jnp.add, slopes, more)

    none = jax.tree.map(jnp.zeros_like, pull(params, free.states, fixed, seeds)[1])
    first, slopes = lax.fori_loop(0, jnp.minimum(last, free.steps.max()), backward, (seeds, none))
    return project_vjp(start(params, fixed), first), slopes
