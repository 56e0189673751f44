"""The contrast of two phases of a network of energies."""

from __future__ import annotations

import jax
from jax import Array

from energyc.code.targets.jax.parts.gradients import gradients, mean_cost_vjp, share
from energyc.code.targets.jax.parts.network import Fixed, Params, Slopes, States, Targets, energy_slopes
from energyc.code.targets.jax.parts.records import Gradients, Relaxed


def contrasted(
    params: Params, free: Relaxed, plus: States, minus: States, fixed: Fixed, targets: Targets, width: Array | float
) -> Gradients:
    """The gradient by two phases whose nudges differ by ``width``."""
    slopes = contrast(params, free.states, plus, minus, fixed, width / share(free))
    return gradients(params, free, fixed, targets, [*slopes, mean_cost_vjp(params, free, fixed, targets)[1]])


def contrast(
    params: Params, states: States, plus: States, minus: States, fixed: Fixed, width: Array | float
) -> list[Slopes]:
    """The slopes of the energies between two phases."""
    return jax.tree.map(lambda x: x / width, energy_slopes(params, plus, minus, fixed))
