"""Equilibrium propagation: contrasts of nudged phases."""

from __future__ import annotations

from energyc.code.targets.jax.parts.contrasted_energies import contrasted
from energyc.code.targets.jax.parts.free_run import free_run
from energyc.code.targets.jax.parts.network import Clamps, Params, Targets
from energyc.code.targets.jax.parts.nudged import apart, held, nudged, tracking
from energyc.code.targets.jax.parts.pairs import phases
from energyc.code.targets.jax.parts.plain_nudge import cost_force, nudge
from energyc.code.targets.jax.parts.records import Gradients
from energyc.code.targets.jax.parts.strengths import strength


def ep(params: Params, clamps: Clamps, targets: Targets, beta: float | None = None) -> Gradients:
    """Equilibrium propagation with one nudged phase (Scellier and Bengio 2017).

    dC/dtheta = (dE/dtheta(z(+beta)) - dE/dtheta(z*)) / beta + O(beta)
    """
    fixed, free = free_run(params, clamps)
    width = strength(params, free, fixed, targets, nudge, order=1) if beta is None else beta
    plus = nudged(params, free.states, fixed, targets, width, nudge)
    return contrasted(params, free, plus, free.states, fixed, targets, width)


def centered_ep(params: Params, clamps: Clamps, targets: Targets, beta: float | None = None) -> Gradients:
    """Centred equilibrium propagation (Laborieux et al. 2021).

    dC/dtheta = (dE/dtheta(z(+beta)) - dE/dtheta(z(-beta))) / (2 beta) + O(beta^2)
    """
    fixed, free = free_run(params, clamps)
    width = strength(params, free, fixed, targets, nudge) if beta is None else beta
    plus, minus = phases(params, free.states, fixed, targets, width, apart)
    return contrasted(params, free, plus, minus, fixed, targets, 2 * width)


def vf(params: Params, clamps: Clamps, targets: Targets, beta: float | None = None) -> Gradients:
    """The centred contrast under any force (Scellier et al. 2018): biased unless J = J^T.

    dC/dtheta ~ <(z(-beta) - z(+beta)) / (2 beta), dF/dtheta(z*)>
    """
    fixed, free = free_run(params, clamps)
    width = strength(params, free, fixed, targets, nudge) if beta is None else beta
    plus, minus = phases(params, free.states, fixed, targets, width, apart)
    return contrasted(params, free, plus, minus, fixed, targets, 2 * width)


def aep(params: Params, clamps: Clamps, targets: Targets, beta: float | None = None) -> Gradients:
    """Centred equilibrium propagation for any force, by a correction frozen at z*: exact for any force to O(beta^2).

    F(z) -+ beta dC/dz - (J_nc - J_nc^T)(z*) (z - z*)
    """
    fixed, free = free_run(params, clamps)
    width = strength(params, free, fixed, targets, cost_force) if beta is None else beta
    plus, minus = phases(params, free.states, fixed, targets, width, held)
    return contrasted(params, free, plus, minus, fixed, targets, 2 * width)


def tracking_aep(params: Params, clamps: Clamps, targets: Targets, beta: float | None = None) -> Gradients:
    """Centred equilibrium propagation for any force, by a correction that tracks the free network.

    F(z) -+ beta dC/dz -+ (J_nc - J_nc^T)(m) v, m the midpoint of both phases and v half of what separates them
    """
    fixed, free = free_run(params, clamps)
    width = strength(params, free, fixed, targets, cost_force) if beta is None else beta
    plus, minus = phases(params, free.states, fixed, targets, width, tracking)
    return contrasted(params, free, plus, minus, fixed, targets, 2 * width)
