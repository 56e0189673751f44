"""How far a step leads by the gradients that flows name."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from energyc.code.targets.jax.parts.network import UNNAMED, Fixed, Params, States, named_gradients
from energyc.code.targets.jax.parts.steps import length


def change(params: Params, before: States, after: States, fixed: Fixed) -> Array:
    """The length of the gradients that flows name, of other states that of the move by the step size."""
    moves = [(getattr(after, name) - getattr(before, name)) / h for name, h in UNNAMED.items()]
    squares = [length(x) ** 2 for x in (*named_gradients(params, before, fixed), *moves)]
    return jnp.nan_to_num(jnp.sqrt(sum(squares)), nan=jnp.inf)
