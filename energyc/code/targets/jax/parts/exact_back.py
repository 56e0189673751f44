"""The steps of a free phase of a number of steps: kept, and gone back through."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from energyc.code.targets.jax.parts.bounded import checked
from energyc.code.targets.jax.parts.free_run import prepared
from energyc.code.targets.jax.parts.network import (
    STEPS,
    Clamps,
    Fixed,
    Params,
    Slopes,
    States,
    at_step,
    force,
    project,
    project_vjp,
    start,
)
from energyc.code.targets.jax.parts.records import Relaxed
from energyc.code.targets.jax.parts.steps import along, moved, rested
from energyc.code.targets.jax.parts.trajectories import Pull

#: Where the states were before each of the last steps, [steps, batch, ...], and after them, not yet on their sets.
Path = tuple[States, States]


def kept_run(params: Params, clamps: Clamps, last: int) -> tuple[Fixed, Relaxed, Path]:
    """A free phase that keeps its last steps, and what none of them changes."""
    fixed = prepared(params, clamps)
    path = walked(params, fixed, last)
    free, before = rested(params, project(path[1]), fixed), project(start(params, fixed))
    return fixed, free._replace(residual=checked(params, before, free.states, fixed, free.residual)), path


def kept(params: Params, free: Relaxed, fixed: Fixed, last: int) -> Path:
    """The last steps of a free phase, made again."""
    return walked(params, fixed, last)


def walked(params: Params, fixed: Fixed, last: int) -> Path:
    """STEPS steps, of which the last ones are kept."""

    def forward(at: States, k: Array | int) -> tuple[States, States]:
        states, now = project(at), at_step(fixed, k)
        return moved(now, states, force(params, states, now)), at

    first = max(STEPS - last, 0)
    at = lax.fori_loop(0, first, lambda k, at: forward(at, k)[0], start(params, fixed))
    at, before = lax.scan(forward, at, jnp.arange(first, STEPS))
    return before, at


def back(
    params: Params,
    free: Relaxed,
    fixed: Fixed,
    seeds: States,
    path: Path,
    pull: Pull,
) -> tuple[States, Slopes]:
    """Cotangents of where the states began a path, not yet on their sets, and what ``pull`` gives of its steps."""

    def backward(run: Any, taken: tuple[Array, States]) -> tuple[Any, None]:
        (projected, slopes), (k, at) = run, taken
        states, now = project(at), at_step(fixed, k)
        through, more = pull(params, states, now, along(now, projected))
        earlier = project_vjp(at, jax.tree.map(jnp.add, projected, through))
        return (earlier, jax.tree.map(jnp.add, slopes, more)), None

    before, end = path
    none = jax.tree.map(jnp.zeros_like, pull(params, free.states, fixed, seeds)[1])
    numbers = jnp.arange(STEPS - len(before[0]), STEPS)
    return lax.scan(backward, (project_vjp(end, seeds), none), (numbers, before), reverse=True)[0]
