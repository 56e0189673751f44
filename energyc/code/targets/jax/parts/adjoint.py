"""The adjoint equation, relaxed beside the states."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array, lax

from energyc.code.targets.jax.parts.free_run import free_run
from energyc.code.targets.jax.parts.gradients import gradients, mean_cost_vjp, share
from energyc.code.targets.jax.parts.network import (
    NUDGE_STEPS,
    Clamps,
    Fixed,
    Params,
    States,
    Targets,
    cost_vjp,
    force,
    force_vjp,
)
from energyc.code.targets.jax.parts.records import Gradients
from energyc.code.targets.jax.parts.steps import advanced, advanced_vjp, along, moved


def adjoint(params: Params, clamps: Clamps, targets: Targets) -> Gradients:
    """The limit of ``tracking_aep`` as beta -> 0.

    a <- P^T (a + step (J^T a + dC/dz))  while the states go on,    dC/dtheta = <a, dF/dtheta>
    """
    fixed, free = free_run(params, clamps)
    factor, direct = share(free), mean_cost_vjp(params, free, fixed, targets)[1]
    a = jax.tree.map(lambda x: factor * x, relaxed_adjoint(params, free.states, fixed, targets))
    return gradients(params, free, fixed, targets, [force_vjp(params, free.states, fixed, a)[1], direct])


def relaxed_adjoint(params: Params, states: States, fixed: Fixed, targets: Targets) -> States:
    """The adjoint a after NUDGE_STEPS steps of it and of the states."""

    def both(_: Array, pair: tuple[States, States]) -> tuple[States, States]:
        states, a = pair
        slopes = cost_vjp(params, states, fixed, targets)[0]
        back = force_vjp(params, states, fixed, a)[0]
        after = jax.tree.map(jnp.add, a, along(fixed, jax.tree.map(jnp.add, back, slopes)))
        pull = force(params, states, fixed)
        return advanced(params, states, fixed, pull), advanced_vjp(params, moved(fixed, states, pull), fixed, after)

    return lax.fori_loop(0, NUDGE_STEPS, both, (states, jax.tree.map(jnp.zeros_like, states)))[1]
