"""The ways back through a layer: slopes by its params and clamps of what comes back to its last states.

Each takes ``beta``, the strength of a nudge, None for the layer's own; those that do not nudge read none.
"""

from __future__ import annotations

import jax
from jax import Array

from energyc.code.targets.jax.parts.adjoint import relaxed_adjoint
from energyc.code.targets.jax.parts.adjoints import solved
from energyc.code.targets.jax.parts.contrasted_energies import contrast
from energyc.code.targets.jax.parts.network import (
    MAX_STEPS,
    Fixed,
    Params,
    Slopes,
    States,
    clamp_gradient,
    force_vjp,
    start_vjp,
)
from energyc.code.targets.jax.parts.nudged import apart, held, nudged, tracking
from energyc.code.targets.jax.parts.pairs import phases
from energyc.code.targets.jax.parts.plain_nudge import cost_force, nudge
from energyc.code.targets.jax.parts.records import Relaxed
from energyc.code.targets.jax.parts.strengths import strength
from energyc.code.targets.jax.parts.trajectories import back, kept


def by_bptt(params: Params, free: Relaxed, fixed: Fixed, seeds: States, beta: Array | None) -> list[Slopes]:
    """Back through all steps, the start included."""
    path = kept(params, free, fixed, MAX_STEPS)
    first, through = back(params, free, fixed, seeds, path, force_slopes)
    return [through, start_vjp(params, fixed, first)]


def by_implicit(
    params: Params,
    free: Relaxed,
    fixed: Fixed,
    seeds: States,
    beta: Array | None,
) -> list[Slopes]:
    """By the adjoint equation at rest."""
    return [force_slopes(params, free.states, fixed, solved(params, free.states, fixed, seeds))[1]]


def by_adjoint(
    params: Params,
    free: Relaxed,
    fixed: Fixed,
    seeds: States,
    beta: Array | None,
) -> list[Slopes]:
    """By the adjoint equation, relaxed beside the states."""
    a = relaxed_adjoint(params, free.states, fixed, seeds)
    return [force_slopes(params, free.states, fixed, a)[1]]


def by_ep(params: Params, free: Relaxed, fixed: Fixed, seeds: States, beta: Array | None) -> list[Slopes]:
    """By one phase under the nudge <seeds, z>."""
    width = strength(params, free, fixed, seeds, nudge, order=1) if beta is None else beta
    plus = nudged(params, free.states, fixed, seeds, width, nudge)
    return contrast_slopes(params, free.states, plus, free.states, fixed, width)


def by_centered_ep(
    params: Params,
    free: Relaxed,
    fixed: Fixed,
    seeds: States,
    beta: Array | None,
) -> list[Slopes]:
    """By two phases under the nudge <seeds, z>, each by itself."""
    width = strength(params, free, fixed, seeds, nudge) if beta is None else beta
    plus, minus = phases(params, free.states, fixed, seeds, width, apart)
    return contrast_slopes(params, free.states, plus, minus, fixed, 2 * width)


def by_aep(params: Params, free: Relaxed, fixed: Fixed, seeds: States, beta: Array | None) -> list[Slopes]:
    """By two phases under the nudge <seeds, z> with a correction frozen at z*."""
    width = strength(params, free, fixed, seeds, cost_force) if beta is None else beta
    plus, minus = phases(params, free.states, fixed, seeds, width, held)
    return contrast_slopes(params, free.states, plus, minus, fixed, 2 * width)


def by_tracking_aep(
    params: Params,
    free: Relaxed,
    fixed: Fixed,
    seeds: States,
    beta: Array | None,
) -> list[Slopes]:
    """By two phases under the nudge <seeds, z> with a correction that tracks the free network."""
    width = strength(params, free, fixed, seeds, cost_force) if beta is None else beta
    plus, minus = phases(params, free.states, fixed, seeds, width, tracking)
    return contrast_slopes(params, free.states, plus, minus, fixed, 2 * width)


def contrast_slopes(
    params: Params, states: States, plus: States, minus: States, fixed: Fixed, width: Array | float
) -> list[Slopes]:
    """The contrast by params; by clamps <a, dF/dx> with the adjoint a that it finds."""
    a = jax.tree.map(lambda p, m: (m - p) / width, plus, minus)
    slopes = contrast(params, states, plus, minus, fixed, width)
    return [*slopes, clamp_gradient(params, states, fixed, a)]


def force_slopes(params: Params, states: States, fixed: Fixed, cotangents: States) -> tuple[States, Slopes]:
    """J^T cotangents, and <cotangents, dF> by params and clamps."""
    earlier, slopes = force_vjp(params, states, fixed, cotangents)
    return earlier, {**slopes, **clamp_gradient(params, states, fixed, cotangents)}
