"""The slopes of forces without an energy, where params are of these alone."""

from __future__ import annotations

from energyc.code.targets.jax.parts.network import FORCE_PARAMS, Fixed, Params, Slopes, States, force_vjp


def user_force_gradient(params: Params, states: States, fixed: Fixed, cotangents: States) -> Slopes:
    """<cotangents, dF/dtheta> of the params that only terms without an energy read."""
    slopes = force_vjp(params, states, fixed, cotangents)[1]
    return {name: slopes[name] for name in FORCE_PARAMS}
