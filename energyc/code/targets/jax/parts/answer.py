"""The answers at rest as a function that ``jax.grad`` goes through."""

from __future__ import annotations

import jax

from energyc.code.targets.jax.parts.adjoints import solved
from energyc.code.targets.jax.parts.free_run import free_run
from energyc.code.targets.jax.parts.gradients import added, cotangent
from energyc.code.targets.jax.parts.network import (
    Clamps,
    Fixed,
    Params,
    Readouts,
    States,
    clamp_gradient,
    force_vjp,
    readout_vjp,
    readouts,
)


@jax.custom_vjp
def answer(params: Params, clamps: Clamps) -> Readouts:
    """The readouts at rest, differentiable by the implicit function theorem in params and real clamps."""
    return answer_forward(params, clamps)[0]


def answer_forward(params: Params, clamps: Clamps) -> tuple[Readouts, tuple[Params, Clamps, Fixed, States]]:
    """The readouts, and what the way back needs."""
    fixed, free = free_run(params, clamps)
    return readouts(params, free.states, fixed), (params, clamps, fixed, free.states)


def answer_backward(kept: tuple[Params, Clamps, Fixed, States], cotangents: Readouts) -> tuple[Params, Clamps]:
    """The cotangents of params and clamps."""
    params, clamps, fixed, states = kept
    seeds, direct = readout_vjp(params, states, fixed, cotangents)
    pushed = solved(params, states, fixed, seeds)
    slopes = [direct, force_vjp(params, states, fixed, pushed)[1], clamp_gradient(params, states, fixed, pushed)]
    of_params = {name: added(name, x, slopes) for name, x in params._asdict().items()}
    of_clamps = {name: cotangent(name, x, slopes) for name, x in clamps._asdict().items()}
    return type(params)(**of_params), type(clamps)(**of_clamps)


answer.defvjp(answer_forward, answer_backward)
