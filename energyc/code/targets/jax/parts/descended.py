"""Contrasts in a network that descends its energies in a metric, by nudges in that metric."""

from __future__ import annotations

import jax
from jax import Array

from energyc.code.targets.jax.parts.free_run import free_run
from energyc.code.targets.jax.parts.gradients import gradients, mean_cost_vjp, share
from energyc.code.targets.jax.parts.network import (
    Clamps,
    Fixed,
    Params,
    Slopes,
    States,
    Targets,
)
from energyc.code.targets.jax.parts.nudged import apart, less, nudged
from energyc.code.targets.jax.parts.pairs import phases
from energyc.code.targets.jax.parts.plain_nudge import nudge
from energyc.code.targets.jax.parts.records import Gradients, Relaxed
from energyc.code.targets.jax.parts.strengths import strength


def ep(params: Params, clamps: Clamps, targets: Targets, beta: float | None = None) -> Gradients:
    """Equilibrium propagation with one nudged phase (Scellier and Bengio 2017); the nudge is in the metric.

    dC/dtheta = (dE/dtheta(z(+beta)) - dE/dtheta(z*)) / beta + O(beta)
    """
    fixed, free = free_run(params, clamps)
    width = strength(params, free, fixed, targets, nudge, order=1) if beta is None else beta
    plus = nudged(params, free.states, fixed, targets, width, nudge)
    return descended(params, free, plus, free.states, fixed, targets, width)


def centered_ep(params: Params, clamps: Clamps, targets: Targets, beta: float | None = None) -> Gradients:
    """Centred equilibrium propagation (Laborieux et al. 2021); the nudge is in the metric.

    dC/dtheta = (dE/dtheta(z(+beta)) - dE/dtheta(z(-beta))) / (2 beta) + O(beta^2)
    """
    fixed, free = free_run(params, clamps)
    width = strength(params, free, fixed, targets, nudge) if beta is None else beta
    plus, minus = phases(params, free.states, fixed, targets, width, apart)
    return descended(params, free, plus, minus, fixed, targets, 2 * width)


def vf(params: Params, clamps: Clamps, targets: Targets, beta: float | None = None) -> Gradients:
    """The centred contrast under any force (Scellier et al. 2018): in a metric that of ``centered_ep``."""
    return centered_ep(params, clamps, targets, beta)


def descended(
    params: Params, free: Relaxed, plus: States, minus: States, fixed: Fixed, targets: Targets, width: Array | float
) -> Gradients:
    """The contrast of dE/dtheta of all energies; no force is left."""
    between = less(descent_gradient(params, plus, fixed), descent_gradient(params, minus, fixed))
    factor = share(free) / width
    slopes = jax.tree.map(lambda x: factor * x, between)
    return gradients(params, free, fixed, targets, [slopes, mean_cost_vjp(params, free, fixed, targets)[1]])


def descent_gradient(params: Params, states: States, fixed: Fixed) -> Slopes:
    """All slopes of the energies; a module has its own."""
    raise NotImplementedError
