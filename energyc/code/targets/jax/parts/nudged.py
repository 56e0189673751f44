"""Nudged phases: one, a pair apart, a pair with a correction."""

from __future__ import annotations

from collections.abc import Callable

import jax
from jax import Array, lax

from energyc.code.targets.jax.parts.network import (
    NUDGE_STEPS,
    Fixed,
    Params,
    States,
    Targets,
    correction,
    force,
)
from energyc.code.targets.jax.parts.plain_nudge import cost_force, nudge
from energyc.code.targets.jax.parts.steps import advanced

#: The force that a nudge subtracts: ``drive(params, states, fixed, targets)``.
Drive = Callable[..., States]
#: Moves a pair of nudged phases by a step: ``advance(params, plus, minus, free, fixed, targets, beta)``.
Advance = Callable[..., tuple[States, States]]


def nudged_step(
    params: Params, states: States, fixed: Fixed, targets: Targets, beta: Array | float, drive: Drive
) -> States:
    """One step under the force less beta times its drive."""
    push = drive(params, states, fixed, targets)
    return advanced(params, states, fixed, less(force(params, states, fixed), push, beta))


def less(slopes: States, other: States, factor: Array | float = 1.0) -> States:
    """``slopes - factor * other``."""
    return jax.tree.map(lambda f, g: f - factor * g, slopes, other)


def nudged(
    params: Params,
    states: States,
    fixed: Fixed,
    targets: Targets,
    beta: Array | float,
    drive: Drive,
) -> States:
    """NUDGE_STEPS steps under a nudge."""

    def one(_: Array, states: States) -> States:
        return nudged_step(params, states, fixed, targets, beta, drive)

    return lax.fori_loop(0, NUDGE_STEPS, one, states)


def apart(
    params: Params,
    plus: States,
    minus: States,
    free: States,
    fixed: Fixed,
    targets: Targets,
    beta: Array | float,
) -> tuple[States, States]:
    """A step of two phases at +beta and -beta, each by itself."""
    return (
        nudged_step(params, plus, fixed, targets, beta, nudge),
        nudged_step(params, minus, fixed, targets, -beta, nudge),
    )


def tracking(
    params: Params,
    plus: States,
    minus: States,
    free: States,
    fixed: Fixed,
    targets: Targets,
    beta: Array | float,
) -> tuple[States, States]:
    """The same, with -+ (J_nc - J_nc^T)(m) v: m is their midpoint, and v half of what separates them."""
    middle = jax.tree.map(lambda p, m: (p + m) / 2, plus, minus)
    half = jax.tree.map(lambda p, m: (p - m) / 2, plus, minus)
    turn = correction(params, middle, fixed, half)
    up = corrected_step(params, plus, fixed, targets, beta, turn)
    return up, corrected_step(params, minus, fixed, targets, -beta, jax.tree.map(lambda x: -x, turn))


def held(
    params: Params,
    plus: States,
    minus: States,
    free: States,
    fixed: Fixed,
    targets: Targets,
    beta: Array | float,
) -> tuple[States, States]:
    """The same, with -(J_nc - J_nc^T)(z*) (z - z*) for each phase."""
    up = correction(params, free, fixed, less(plus, free))
    down = correction(params, free, fixed, less(minus, free))
    return (
        corrected_step(params, plus, fixed, targets, beta, up),
        corrected_step(params, minus, fixed, targets, -beta, down),
    )


def corrected_step(
    params: Params, states: States, fixed: Fixed, targets: Targets, beta: Array | float, turn: States
) -> States:
    """One step under the force less beta dC/dz, less a correction."""
    push = cost_force(params, states, fixed, targets)
    return advanced(params, states, fixed, less(less(force(params, states, fixed), push, beta), turn))
