"""How far a step leads by the energy."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from energyc.code.targets.jax.parts.network import Fixed, Params, States
from energyc.code.targets.jax.parts.steps import energy


def change(params: Params, before: States, after: States, fixed: Fixed) -> Array:
    """The change of the energy in either direction, infinite where it is not finite."""
    return jnp.nan_to_num(jnp.abs(energy(params, after, fixed) - energy(params, before, fixed)), nan=jnp.inf)
