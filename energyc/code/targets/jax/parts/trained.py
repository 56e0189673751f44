"""Rules of a network that is another one in training."""

from __future__ import annotations

from energyc.code.targets.jax.parts.bounded import free_phase
from energyc.code.targets.jax.parts.exact_back import back
from energyc.code.targets.jax.parts.gradients import averaged
from energyc.code.targets.jax.parts.network import (
    NUDGE_STEPS,
    STEPS,
    Clamps,
    Params,
    Targets,
    cost_vjp,
    prepare,
    project_vjp,
    start,
    start_vjp,
    step_vjp,
)
from energyc.code.targets.jax.parts.records import Gradients
from energyc.code.targets.jax.parts.trajectories import summed


def bptt(params: Params, clamps: Clamps, targets: Targets) -> Gradients:
    """The gradient of what training runs: backpropagation through all steps, the start included.

    lambda_k = (I + step J)^T P^T lambda_(k+1),    dC/dtheta = sum_k <step P^T lambda_(k+1), dF/dtheta(z_k)>
    """
    fixed = prepare(params, clamps, training=True)
    free = free_phase(params, fixed)
    seeds, direct = cost_vjp(params, free.states, fixed, targets)
    first, through = back(params, free, fixed, seeds, STEPS, step_vjp)
    first = project_vjp(start(params, fixed), first)
    slopes = [through, summed(params, fixed, through), start_vjp(params, fixed, first), direct]
    return averaged(params, free, fixed, targets, slopes)


def tbptt(params: Params, clamps: Clamps, targets: Targets) -> Gradients:
    """Backpropagation through the last NUDGE_STEPS steps in training alone."""
    fixed = prepare(params, clamps, training=True)
    free = free_phase(params, fixed)
    seeds, direct = cost_vjp(params, free.states, fixed, targets)
    _, through = back(params, free, fixed, seeds, NUDGE_STEPS, step_vjp)
    return averaged(params, free, fixed, targets, [through, summed(params, fixed, through), direct])
