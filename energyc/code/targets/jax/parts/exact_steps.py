"""A free phase of a number of steps."""

from __future__ import annotations

from jax import lax

from energyc.code.targets.jax.parts.network import STEPS, Fixed, Params, States, at_step
from energyc.code.targets.jax.parts.records import Relaxed
from energyc.code.targets.jax.parts.steps import rested, step


def settle(params: Params, states: States, fixed: Fixed) -> Relaxed:
    """STEPS steps, settled or not."""
    states = lax.fori_loop(0, STEPS, lambda k, z: step(params, z, at_step(fixed, k)), states)
    return rested(params, states, fixed)
