"""The contrast of two phases where forces without an energy read params."""

from __future__ import annotations

import jax
from jax import Array

from energyc.code.targets.jax.parts.force_params import user_force_gradient
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
    """The slopes of the energies between two phases; of a force without an energy <a, dF/dtheta>."""
    slopes = jax.tree.map(lambda x: x / width, energy_slopes(params, plus, minus, fixed))
    a = jax.tree.map(lambda p, m: (m - p) / width, plus, minus)
    return [*slopes, user_force_gradient(params, states, fixed, a)]
